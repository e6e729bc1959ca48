"""Take a skill down: nothing of it can be installed any more."""

from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.unit.publish.versions.test_publish import publish
from vskill_platform.errors import NotAllowed
from vskill_platform.publish.moderation.take_down import take_down
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.skill_store import get_skill

SLUG = "@local/tidy-notes"


@pytest.mark.parametrize("version", [None, "1.0.0"])
async def test_a_skill_that_was_taken_down_cannot_be_installed(
    bound: WorkerEnv, tmp_path: Path, version: str | None
) -> None:
    await publish(a_skill_folder(tmp_path), bound)
    stored = await get_skill(SLUG)
    assert stored
    await bound.engine.commit(await take_down(stored, reason="an attack", actor="cyd"))

    with pytest.raises(NotAllowed, match="is no longer available: an attack"):
        await find_version(SLUG, version)
