"""Mirrored skills are compared with their registry: new, gone, withdrawn, or not reachable."""

import os
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.counters import counted
from tests.mirrors import Answers, Upstream, a_liar, an_upstream, mirroring, process_all
from tests.unit.web.pages_cast import change_skill
from vskill_platform.cron.check_mirrors import check_mirrors
from vskill_platform.engines.operations import NEVER
from vskill_platform.errors import DiskNearlyFull, SkillDeleted
from vskill_platform.intake.mirror_skill import back_off, mirror_skill
from vskill_platform.intake.mirror_version import fetch_now, mirror_version
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.mirror_settings import Mirror, MirrorKind
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.source import mirror_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.moderation.delete_skill import delete_skill
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import commit
from vskill_platform.stores.deleted_skill_store import get_deleted_skill
from vskill_platform.stores.mirror_store import (
    MirroredSkill,
    MirrorStatus,
    get_mirrored,
    write_mirrored,
)
from vskill_platform.stores.submission_store import get_source_owner, get_submission

SLUG = "@hub_acme/demo"
#: Longer than the time until the next comparison.
LATER = {"hours": 7}


@pytest.fixture(scope="module", autouse=True)
def warm_scanners(one_loop: None) -> None:
    """Scan all skills of this module in the same processes."""


@pytest.fixture
async def upstream(bound: WorkerEnv, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Upstream]:
    """Another registry, one skill of which is mirrored here."""
    async with an_upstream(bound, tmp_path / "upstream", clock) as opened:
        await opened.publish()
        env = mirroring(bound, opened.mirror())
        await mirror_skill(SLUG, by="ada")
        await process_all(env)
        yield opened


async def record() -> MirroredSkill:
    stored = await get_mirrored(SLUG)
    assert stored
    return stored.record


async def test_a_new_version_is_submitted_once(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock
) -> None:
    await upstream.publish(files={"more.md": "More to read.\n"}, version="1.0.1")
    env = mirroring(bound, upstream.mirror())
    assert await check_mirrors() == "0 of 0 skills compared, 0 failed"  # not due yet
    clock.advance(**LATER)

    first = await check_mirrors()
    again = await check_mirrors()
    await process_all(env)

    assert first == "1 of 1 skill compared, 0 failed"
    assert again == "0 of 0 skills compared, 0 failed"
    assert (await find_version(SLUG)).version.version == "1.0.1"


async def test_what_left_the_other_registry_is_marked_and_marked_back(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock
) -> None:
    mirroring(bound, upstream.mirror())
    there, down = upstream.registry.env, TakenDown(reason="stolen", by="cyd", at=clock.now())
    await change_skill(there, "@acme/demo", down=down)
    clock.advance(**LATER)
    labels = {"mirror": "hub", "step": "find", "outcome": "not_found"}
    before = counted("vskill_mirror_fetches_total", **labels)

    assert await check_mirrors() == "0 of 1 skill compared, 1 failed"

    gone = await record()
    assert counted("vskill_mirror_fetches_total", **labels) == before + 1
    assert (gone.status, gone.missing_since) == (MirrorStatus.MISSING, clock.now())
    assert (await find_version(SLUG)).version.version == "1.0.0"
    await change_skill(there, "@acme/demo", down=None)
    clock.advance(**LATER)
    assert await check_mirrors() == "1 of 1 skill compared, 0 failed"
    assert (await record()).status is MirrorStatus.CURRENT


async def test_a_registry_that_is_down_is_asked_less_and_less_often(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock
) -> None:
    async with a_liar(Answers()) as url:
        pass  # nobody listens there anymore
    mirroring(bound, Mirror(name="hub", kind=MirrorKind.VSKILL, url=url))
    clock.advance(**LATER)
    assert await check_mirrors() == "0 of 1 skill compared, 1 failed"
    clock.advance(minutes=16)

    assert await check_mirrors() == "0 of 1 skill compared, 1 failed"

    clock.advance(minutes=16)
    assert await check_mirrors() == "0 of 0 skills compared, 0 failed"
    failing = await record()
    assert (failing.status, failing.failures) == (MirrorStatus.FAILING, 2)
    assert "does not answer" in failing.problem


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"offline": True}, "hub is offline"), ({"deny": ("*",)}, "does not mirror @acme/demo")],
    ids=["offline", "denied"],
)
async def test_a_mirror_that_may_not_be_asked_is_not(
    bound: WorkerEnv,
    upstream: Upstream,
    clock: ManualClock,
    options: dict[str, Any],
    problem: str,
) -> None:
    await upstream.publish(files={"more.md": "More to read.\n"}, version="1.0.1")
    mirroring(bound, upstream.mirror(**options))
    clock.advance(**LATER)

    assert await check_mirrors() == "0 of 1 skill compared, 0 failed"

    known = await record()
    assert problem in known.problem
    assert known.revision == "1.0.0"
    assert await check_mirrors() == "0 of 0 skills compared, 0 failed"


async def test_a_skill_of_a_mirror_that_left_the_settings_stays(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock
) -> None:
    mirroring(bound)
    clock.advance(**LATER)

    await check_mirrors()

    assert (await record()).problem == "its mirror is no longer configured"
    assert (await find_version(SLUG)).version.version == "1.0.0"


async def test_a_new_version_waits_until_it_is_old_enough(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock
) -> None:
    env = mirroring(bound, upstream.mirror(min_age=timedelta(days=2)))
    clock.advance(**LATER)
    await upstream.publish(files={"more.md": "More to read.\n"}, version="1.0.1")

    await check_mirrors()

    waiting = await record()
    assert (waiting.status, waiting.revision) == (MirrorStatus.WAITING, "1.0.1")
    assert "too new" in waiting.problem
    clock.advance(days=1, hours=23)  # the date that the other registry names does not count
    await check_mirrors()
    assert (await record()).taken == "1.0.0"
    clock.advance(days=1)
    await check_mirrors()
    await process_all(env)
    assert (await find_version(SLUG)).version.version == "1.0.1"


async def test_content_that_was_replaced_since_it_was_first_seen_is_not_taken(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock
) -> None:
    env = mirroring(bound, upstream.mirror())
    clock.advance(**LATER)
    await upstream.publish(files={"more.md": "More to read.\n"}, version="1.0.1")
    await check_mirrors()
    stored = await get_mirrored(SLUG)
    assert stored
    other = msgspec.structs.replace(stored.record, content="0" * 64)
    assert await commit([write_mirrored(other, due=NEVER, expected=stored.revision)])

    await process_all(env)

    owner = await get_source_owner(mirror_source(SLUG, ""))
    submission = await get_submission(owner or "")
    assert submission
    assert "was replaced since it was first seen" in submission.record.reason
    assert (await find_version(SLUG)).version.version == "1.0.0"


async def test_replaced_content_waits_again_until_it_is_old_enough(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock
) -> None:
    env = mirroring(bound, upstream.mirror(min_age=timedelta(days=2)))
    await upstream.publish(files={"more.md": "More to read.\n"}, version="1.0.1")
    stored = await get_mirrored(SLUG)
    assert stored
    other = {"revision": "1.0.1", "content": "0" * 64, "taken": "1.0.1"}  # then it was replaced
    before = msgspec.structs.replace(stored.record, **other)
    assert await commit([write_mirrored(before, due=clock.now(), expected=stored.revision)])

    await check_mirrors()
    await process_all(env)

    waiting = await record()
    assert (waiting.status, waiting.seen_at) == (MirrorStatus.WAITING, clock.now())
    assert "too new" in waiting.problem
    assert (await find_version(SLUG)).version.version == "1.0.0"


async def test_a_skill_that_an_admin_deleted_returns_only_if_an_operator_fetches_it(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock
) -> None:
    env = mirroring(bound, upstream.mirror())
    await delete_skill(SLUG, actor="cyd", reason="a complaint", is_admin=True)
    await upstream.publish(files={"more.md": "More to read.\n"}, version="1.0.1")
    clock.advance(**LATER)

    compared = await check_mirrors()
    for ask in (mirror_skill, partial(mirror_version, version="1.0.1")):
        with pytest.raises(SkillDeleted, match=f"{SLUG} was deleted: a complaint"):
            await ask(SLUG, by="ada")

    assert compared == "0 of 1 skill compared, 0 failed"
    assert (await record()).problem.startswith(f"{SLUG} was deleted: a complaint")
    assert (await bound.engine.queue.stats()).ready == 0

    await fetch_now(SLUG, "", by="cyd")
    await process_all(env)
    assert (await find_version(SLUG)).version.version == "1.0.1"
    assert await get_deleted_skill(SLUG) is None


async def test_a_withdrawn_version_is_not_submitted_again_by_those_who_ask_for_it(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock
) -> None:
    env = mirroring(bound, upstream.mirror())
    await upstream.publish(files={"more.md": "More to read.\n"}, version="1.0.1")
    clock.advance(**LATER)
    await check_mirrors()
    submission = await mirror_skill(SLUG, by="ada")
    await withdraw(submission.id, actor="cyd", reason="wait for the lawyers")
    clock.advance(**LATER)

    await check_mirrors()
    again = await mirror_skill(SLUG, by="ada")

    assert (again.id, again.state) == (submission.id, SubmissionState.DEQUEUED)
    await fetch_now(SLUG, "", by="cyd")
    await process_all(env)
    assert (await find_version(SLUG)).version.version == "1.0.1"


@pytest.mark.usefixtures("database_file")
async def test_nothing_is_asked_while_the_disk_is_almost_full(
    bound: WorkerEnv, upstream: Upstream, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirroring(bound, upstream.mirror())
    before = await record()
    clock.advance(**LATER)
    almost_full = SimpleNamespace(f_frsize=1, f_blocks=1024**4, f_bavail=1024**2)
    monkeypatch.setattr(os, "statvfs", lambda _: almost_full)

    with pytest.raises(DiskNearlyFull):
        await check_mirrors()
    for ask in (mirror_skill, partial(mirror_version, version="0.9.0")):
        with pytest.raises(DiskNearlyFull):
            await ask(SLUG, by="ada")

    assert await record() == before  # it stays due


def test_the_wait_after_failures_doubles_up_to_a_day() -> None:
    waits = [back_off(failures) for failures in (1, 2, 3, 8, 1_000_000)]

    assert waits == [
        timedelta(minutes=15),
        timedelta(minutes=30),
        timedelta(hours=1),
        timedelta(hours=24),
        timedelta(hours=24),
    ]
