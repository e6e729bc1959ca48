"""Take a whole skill down: no client lists, finds or downloads it any more.

Its versions, archives and reports stay for reviewers. block_skill.py calls this for a block and
rescans/apply_rescan.py for a verdict that became worse. The search index of each node deletes the
skill's rows when it reads the change (catalogue/write_skills.py).
"""

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.model.skill import PublishedSkill, TakenDown
from vskill_platform.stores.db import get_now
from vskill_platform.stores.records import Stored
from vskill_platform.stores.similarity_store import delete_similarity_record
from vskill_platform.stores.skill_store import write_skill


async def take_down(stored: Stored[PublishedSkill], *, reason: str, actor: str) -> list[Operation]:
    """Return the operations that unlist a skill and remove it from the similarity index.

    It keeps its slug. Only a publication, after a new check, makes it available again.
    """
    down = TakenDown(reason=reason, by=actor, at=get_now())
    skill = msgspec.structs.replace(stored.record, down=down)
    return [
        write_skill(skill, expected=stored.revision),
        *await delete_similarity_record(skill.slug),
    ]
