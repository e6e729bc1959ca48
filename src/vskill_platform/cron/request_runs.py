"""Make a scheduled job run soon, at the request of a user or a webhook."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from vskill_platform.cron.run_lease import refuse_if_running
from vskill_platform.cron.schedule import FOLLOW_REPOS, RESCAN, CronJob
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import Overtaken
from vskill_platform.publish.rescans.rescan_requests import (
    new_one_rescan_request,
    write_rescan_request,
)
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.cron_store import expect_no_cron_run, get_cron_run, put_cron_run
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.rescan_store import (
    OneRescanRequest,
    get_one_rescan_request,
    put_one_rescan_request,
)


async def request_run(job: CronJob, *, actor: str, also: Sequence[Operation] = ()) -> None:
    """Make a job due, so that the next node that checks runs it; the audit log names the actor."""
    await _make_due(job, [write_audit(job.name, "all", actor=actor, reason=""), *also])


async def _make_due(job: CronJob, operations: Sequence[Operation] = ()) -> None:
    now, last = get_now(), await get_cron_run(job.name)
    if last is None:  # a job that never ran is due anyway
        is_asked = await commit([expect_no_cron_run(job.name), *operations])
    else:
        refuse_if_running(last.record, job.budget)
        asked = msgspec.structs.replace(last.record, asked_at=now)
        is_asked = await put_cron_run(asked, expected=last.revision, also=operations)
    if is_asked is None:
        raise Overtaken(f"{job.name} has just been started; wait for it")


async def request_follow_run() -> None:
    """Check the followed repositories that are due soon, not at the next interval."""
    with suppress(Overtaken):  # the next run is at most two minutes away
        await _make_due(FOLLOW_REPOS)


async def request_full_rescan(*, actor: str) -> None:
    """Make the next run check everything again; a running job must finish first."""
    # In the commit that makes the job due: with two commits, a run between them would drop the
    # request.
    await request_run(RESCAN, actor=actor, also=[write_rescan_request(actor)])


async def request_one_rescan(slug: str, *, actor: str) -> OneRescanRequest:
    """Request a rescan of one skill; if one is already requested, return that request."""

    async def plan() -> PlannedChange[OneRescanRequest]:
        if stored := await get_one_rescan_request(slug):
            return PlannedChange(result=stored.record)
        asked = new_one_rescan_request(slug, actor)
        audit = write_audit(RESCAN.name, slug, actor=actor, reason="", outcome=asked.id)
        return PlannedChange(operations=[put_one_rescan_request(asked), audit], result=asked)

    asked = await change(f"the rescan of {slug}", plan)
    with suppress(Overtaken):  # the run after the current one sees the request
        await _make_due(RESCAN)
    return asked
