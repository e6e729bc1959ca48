"""The policy's limit on submissions per publisher and day."""

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotAllowed
from vskill_platform.model.decision import namespaces_of
from vskill_platform.model.source import Source
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.quota_store import get_quota, write_quota


async def count_submission(source: Source) -> list[Operation]:
    """Return the operations that count this submission; raise if the daily limit is reached.

    They belong in the commit that queues it, so that only queued submissions are counted.
    """
    limit = bound_env().policy.within(namespaces_of(source)).limits.submissions_per_day
    if limit is None:
        return []
    stored = await get_quota(source.publisher, get_now().date())
    used = stored.record.used
    if used >= limit:
        raise NotAllowed(
            f"{source.publisher} has submitted {count_of(used, 'skill')} today; the policy allows "
            f"{limit} per day. Try again tomorrow (UTC)"
        )
    counted = msgspec.structs.replace(stored.record, used=used + 1)
    return [write_quota(counted, expected=stored.revision)]
