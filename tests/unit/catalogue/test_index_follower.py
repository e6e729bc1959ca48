"""The index follower: it applies every change, recovers from failures, and reports its age."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from tests.casts import a_submission, add_installs
from tests.clocks import NOON, ManualClock
from tests.probes import ProbingEngine
from tests.unit.catalogue.index_files import (
    TAKEN_DOWN,
    a_report,
    an_event,
    changed,
    committed,
    current,
    deleted,
    found,
    published,
    results,
    submitted,
)
from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.catalogue.index_connections import FINGERPRINT
from vskill_platform.catalogue.index_follower import CHECK_EVERY, DEGRADED_AFTER
from vskill_platform.catalogue.index_records import read_skill_changes
from vskill_platform.catalogue.query import EVERYTHING, SkillQuery
from vskill_platform.catalogue.write_skills import SkillChanges
from vskill_platform.catalogue.write_submissions import SubmissionChanges
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Delete, Put
from vskill_platform.engines.ports import ChangesPage, KeyPage
from vskill_platform.errors import EngineError, NotReady
from vskill_platform.model.skill import Yank
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.trust import TrustTier
from vskill_platform.model.verdict import Verdict
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.records import encode
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.skill_store import get_skill, migrate_skill_slugs


def file_of(env: WorkerEnv, number: int = 0) -> Path:
    return Path(f"{env.settings.database_url.removeprefix('sqlite:///')}.catalogue-{number}")


def overwrite(file: Path) -> None:
    """Overwrite a file and its log with random bytes of the same size."""
    for path in (file, Path(f"{file}-wal")):
        with path.open("r+b") as broken:
            broken.write(os.urandom(path.stat().st_size))


@asynccontextmanager
async def opened(env: WorkerEnv) -> AsyncIterator[Catalogue]:
    async with open_catalogue(env) as catalogue:
        await catalogue.wait_until_ready()
        yield await current(catalogue)


def fills(logs: list[Any]) -> int:
    return sum(event["event"] == "search index built" for event in logs)


async def test_a_skill_is_found_when_published_gone_when_blocked_and_back_after_a_new_check(
    catalogue: Catalogue,
) -> None:
    await published("ada/r/one")
    assert await found(catalogue, "one") == ["ada/r/one"]

    await changed("ada/r/one", down=TAKEN_DOWN)
    assert await found(catalogue, "one") == []
    down = await catalogue.list_taken_down()
    assert [(skill.slug, skill.reason) for skill in down.skills] == [("ada/r/one", "it steals")]
    assert ((await catalogue.count_all()).taken_down, down.total) == (1, 1)

    await changed("ada/r/one", down=None)
    assert await found(catalogue, "one") == ["ada/r/one"]
    assert (await catalogue.list_taken_down()).total == 0

    await deleted("ada/r/one")
    assert await found(catalogue) == []


async def test_taken_down_skills_that_are_private_stay_so(catalogue: Catalogue) -> None:
    await published("ada/r/one", down=TAKEN_DOWN, is_private=True)
    await current(catalogue)

    assert (await catalogue.list_taken_down()).total == 0
    assert (await catalogue.count_all()).taken_down == 0
    assert (await catalogue.list_taken_down(visible=EVERYTHING)).total == 1


async def test_a_yanked_version_is_not_what_is_shown(catalogue: Catalogue) -> None:
    await published("ada/r/one")
    mark = Yank(number=1, reason="broken", by="ada", at=NOON)

    await changed("ada/r/one", yanked=(mark,), version="", digest="")

    (hit,) = (await results(catalogue)).hits
    assert (hit.version, hit.tier) == ("", TrustTier.UNVERIFIED)


async def test_a_renamed_skill_is_found_under_its_new_name_alone(catalogue: Catalogue) -> None:
    await published("ada/r/one")
    await current(catalogue)

    assert await migrate_skill_slugs(lambda skill: skill.slug.replace("/one", "/two")) == 1

    assert await found(catalogue) == ["ada/r/two"]
    (hit,) = (await results(catalogue)).hits
    assert hit.tier is TrustTier.SCANNED


async def test_trust_follows_what_becomes_known(catalogue: Catalogue) -> None:
    await published("ada/r/one")
    (hit,) = (await results(catalogue)).hits
    assert hit.tier is TrustTier.SCANNED

    stored = await get_skill("ada/r/one")
    assert stored
    await committed([write_report(a_report(stored.record, verdict=Verdict.BLOCK))])

    (hit,) = (await results(catalogue)).hits
    assert hit.tier is TrustTier.UNVERIFIED
    assert await found(catalogue, tier=TrustTier.SCANNED) == []


async def test_installs_are_counted(catalogue: Catalogue) -> None:
    await published("ada/r/one")
    await add_installs({"ada/r/one": 3, "nobody/knows/it": 1})

    (hit,) = (await results(catalogue)).hits
    assert (hit.installs, (await catalogue.count_all()).installs) == (3, 3)


async def test_the_next_start_reads_on_where_the_last_one_stopped(
    bound: WorkerEnv, logs: list[Any]
) -> None:
    await published("ada/r/one")
    async with opened(bound) as catalogue:
        assert await found(catalogue) == ["ada/r/one"]
    await published("ada/r/two")
    await deleted("ada/r/one")

    async with opened(bound) as catalogue:
        assert await found(catalogue) == ["ada/r/two"]
    assert fills(logs) == 1


async def test_a_deleted_index_file_is_rebuilt(bound: WorkerEnv, logs: list[Any]) -> None:
    await published("ada/r/one")
    async with opened(bound) as catalogue:
        for file in file_of(bound).parent.glob("*.catalogue-0*"):
            file.unlink()
        assert await found(catalogue) == ["ada/r/one"]

    async with opened(bound) as catalogue:
        assert await found(catalogue) == ["ada/r/one"]
    assert fills(logs) == 2


async def test_a_new_index_file_has_no_free_pages(bound: WorkerEnv) -> None:
    for number in range(20):
        await published(f"ada/r/skill-{number}", description=f"Writes {number} " + "text " * 200)

    async with opened(bound):
        reading = apsw.Connection(str(file_of(bound)), flags=apsw.SQLITE_OPEN_READONLY)
        free, pages = reading.pragma("freelist_count"), reading.pragma("page_count")
        reading.close()
        size = file_of(bound).stat().st_size

    assert free == 0
    assert size == pages * 4096


@pytest.mark.parametrize("damage", ["garbage", "half", "empty", "other-release", "other-program"])
async def test_an_unreadable_index_file_is_rebuilt(bound: WorkerEnv, damage: str) -> None:
    await published("ada/r/one")
    async with opened(bound):
        pass
    file = file_of(bound)
    content = file.read_bytes()
    if damage == "garbage":
        file.write_bytes(b"not a database" * 1000)
    elif damage == "half":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "empty":
        file.write_bytes(b"")
    else:
        connection = apsw.Connection(str(file))
        pragma = "user_version" if damage == "other-release" else "application_id"
        connection.execute(f"PRAGMA {pragma} = {FINGERPRINT ^ 1}")
        connection.close()

    async with opened(bound) as catalogue:
        assert await found(catalogue, "one") == ["ada/r/one"]


async def test_an_index_file_that_breaks_in_use_is_rebuilt(
    bound: WorkerEnv, logs: list[Any]
) -> None:
    for number in range(50):
        await published(f"ada/r/skill-{number}")
    async with opened(bound) as catalogue:
        overwrite(file_of(bound))

        with pytest.raises(NotReady):
            await catalogue.search_skills(SkillQuery(text="skill", with_facets=True))

        await published("ada/r/another")  # wakes it
        while fills(logs) < 2:
            await bound.engine.revision()
        assert await found(catalogue, "another") == ["ada/r/another"]
        assert (await results(catalogue)).total == 51


async def test_a_follower_too_far_behind_reads_everything_again(
    bound: WorkerEnv, clock: ManualClock, logs: list[Any]
) -> None:
    await published("ada/r/one")
    await published("ada/r/two")
    async with opened(bound):
        pass
    await deleted("ada/r/one")
    await committed([Put("x", b"")])
    clock.advance(days=2)
    await bound.engine.prune(deleted_before=clock.now() - timedelta(days=1))

    async with opened(bound) as catalogue:
        assert await found(catalogue) == ["ada/r/two"]
    assert fills(logs) == 2


async def test_a_restored_database_is_read_again_though_its_revisions_rise_again(
    bound: WorkerEnv, clock: ManualClock, tmp_path: Path, logs: list[Any]
) -> None:
    await published("ada/r/one")
    database = Path(bound.settings.database_url.removeprefix("sqlite:///"))
    backup = tmp_path / "backup.db"
    apsw.Connection(str(database)).execute(f"VACUUM INTO '{backup}'")
    await published("ada/r/two")
    async with opened(bound):
        pass
    for file in database.parent.glob(f"{database.name}.catalogue-0*"):
        file.rename(tmp_path / file.name.replace(database.name, backup.name))

    older = await open_engine(f"sqlite:///{backup}", clock=clock)
    settings = msgspec.structs.replace(bound.settings, database_url=f"sqlite:///{backup}")
    env = WorkerEnv(engine=older, settings=settings, clock=clock, scan_slots=bound.scan_slots)
    token = worker_env_storage.set(env)
    # The same revision again, with other content.
    await published("ada/r/three")
    await published("ada/r/four")
    async with opened(env) as catalogue:
        assert sorted(await found(catalogue)) == ["ada/r/four", "ada/r/one", "ada/r/three"]
    worker_env_storage.reset(token)
    await older.close()
    assert fills(logs) == 2


class UnsteadyEngine(ProbingEngine):
    """Does not answer while it is down, nor what it was asked before."""

    is_down = False

    async def read_changes(
        self, *, after: int, checkpoint: str = "", prefixes: Sequence[str] = ()
    ) -> ChangesPage:
        page = await super().read_changes(after=after, checkpoint=checkpoint, prefixes=prefixes)
        if self.is_down:
            raise EngineError("nobody there")
        return page


@pytest.fixture
def unsteady(bound: WorkerEnv) -> tuple[WorkerEnv, UnsteadyEngine]:
    engine = UnsteadyEngine(bound.engine)
    env = WorkerEnv(
        engine=engine, settings=bound.settings, clock=bound.clock, scan_slots=bound.scan_slots
    )
    return env, engine


async def until_problem(catalogue: Catalogue) -> None:
    while not catalogue.freshness.problem:
        await asyncio.sleep(0.005)


async def test_while_the_database_is_down_it_answers_and_says_how_old_it_is(
    unsteady: tuple[WorkerEnv, UnsteadyEngine], clock: ManualClock, logs: list[Any]
) -> None:
    env, engine = unsteady
    await published("ada/r/one")
    async with opened(env) as catalogue:
        assert not catalogue.freshness.is_degraded
        engine.is_down = True
        revision = await published("ada/r/two")
        await until_problem(catalogue)
        assert not await catalogue.wait_until(revision, within=timedelta(0))
        clock.advance(minutes=3)

        answer = await catalogue.search_skills(SkillQuery())
        freshness = catalogue.freshness

        assert answer.total == 1
        assert freshness.is_degraded
        assert freshness.age == catalogue.age == timedelta(minutes=3)
        assert "nobody there" in freshness.problem

        engine.is_down = False
        assert await catalogue.wait_until(revision, within=timedelta(minutes=1))
        assert (await catalogue.search_skills(SkillQuery())).total == 2
        assert not catalogue.freshness.is_degraded
        assert catalogue.age == timedelta(0)
    assert sum(event["event"] == "search index is out of date" for event in logs) == 1


async def test_a_start_without_database_answers_with_what_there_was(
    unsteady: tuple[WorkerEnv, UnsteadyEngine], clock: ManualClock
) -> None:
    env, engine = unsteady
    await published("ada/r/one")
    async with opened(env):
        pass
    engine.is_down = True
    clock.advance(hours=1)

    async with open_catalogue(env) as catalogue:
        await catalogue.wait_until_ready()
        assert (await catalogue.search_skills(SkillQuery())).total == 1
        assert catalogue.age == timedelta(hours=1)
        assert catalogue.freshness.is_degraded


async def test_until_it_is_built_it_says_so(
    unsteady: tuple[WorkerEnv, UnsteadyEngine],
) -> None:
    env, engine = unsteady

    async def down(prefix: str, **_: Any) -> KeyPage:
        raise EngineError(f"no {prefix}")

    engine.kv.list_keys = down  # type: ignore[method-assign] # the fault is here
    async with open_catalogue(env) as catalogue:
        with pytest.raises(NotReady):
            await catalogue.search_skills(SkillQuery())
        with pytest.raises(NotReady):
            await catalogue.count_all()
        assert not catalogue.is_ready
        assert catalogue.age is None
        assert catalogue.freshness.is_degraded


async def test_a_full_disk_costs_only_what_is_new(catalogue: Catalogue, bound: WorkerEnv) -> None:
    await published("ada/r/one")
    await current(catalogue)
    index = catalogue._follower.ready_index()
    pages = await index.connections.read(lambda connection: connection.pragma("page_count"))
    await index.connections.write(
        lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}")
    )

    revision = 0
    for number in range(60):
        revision = await published(f"ada/r/new-{number}", description=f"word{number} " * 100)
    await until_problem(catalogue)
    assert not await catalogue.wait_until(revision, within=timedelta(0))
    assert "full" in catalogue.freshness.problem
    assert (await catalogue.search_skills(SkillQuery(text="one"))).total == 1

    await index.connections.write(
        lambda connection: connection.execute("PRAGMA max_page_count = 1000000")
    )
    assert await catalogue.wait_until(revision, within=timedelta(minutes=1))
    assert (await results(catalogue)).total == 61
    assert not catalogue.freshness.is_degraded


async def test_wrong_index_entries_are_found_repaired_and_logged(
    catalogue: Catalogue, bound: WorkerEnv, clock: ManualClock, logs: list[Any]
) -> None:
    for name in ("one", "two"):
        await published(f"ada/r/{name}")
    await submitted("sub_1")
    await current(catalogue)
    index = catalogue._follower.ready_index()

    ghost = await read_skill_changes(["ada/r/two"])
    await committed([Delete("skill:ada/r/two")])
    await current(catalogue)
    await index.write(
        skills=SkillChanges(gone=["ada/r/one"], listed=ghost.listed),
        submissions=SubmissionChanges(gone=["sub_1"]),
    )

    async def is_repaired() -> bool:
        counts = await catalogue.count_submissions()
        skills = await found(catalogue, visible=EVERYTHING)
        return skills == ["ada/r/one"] and counts[SubmissionState.RECEIVED] == 1

    assert not await is_repaired()
    while not await is_repaired():
        clock.advance(seconds=CHECK_EVERY.total_seconds())
        await committed([Put("x", b"")])

    told = [event for event in logs if event["event"] == "search index repaired"]
    assert {(name, event["what"]) for event in told for name in event["first"]} >= {
        ("ada/r/two", "skills"), ("sub_1", "submissions"),
    }  # fmt: skip


async def test_a_check_of_what_is_well_repairs_nothing(
    catalogue: Catalogue, clock: ManualClock, logs: list[Any]
) -> None:
    await published("ada/r/one")
    await committed([Put("skill:ada/r/broken", b"{")])
    await changed("ada/r/one", down=TAKEN_DOWN)
    await submitted("sub_1")
    for _ in range(3):
        clock.advance(seconds=CHECK_EVERY.total_seconds())
        for _ in range(8):
            await committed([Put("x", b"")])
            await current(catalogue)

    assert not [event for event in logs if event["event"] == "search index repaired"]


async def test_trust_that_grows_with_time_is_read_again(
    catalogue: Catalogue, clock: ManualClock
) -> None:
    await published("ada/r/one")
    (before,) = (await results(catalogue)).hits
    clock.advance(days=100)

    after = before
    while after.trust_score == before.trust_score:
        clock.advance(seconds=CHECK_EVERY.total_seconds())
        await committed([Put("x", b"")])
        (after,) = (await results(catalogue)).hits

    assert after.trust_score == before.trust_score + 5


async def test_two_on_one_database_have_a_file_each(bound: WorkerEnv) -> None:
    await published("ada/r/one")
    async with opened(bound) as first, opened(bound) as second:
        assert file_of(bound, 0).exists()
        assert file_of(bound, 1).exists()

        await published("ada/r/two")

        assert len(await found(first)) == len(await found(second)) == 2


async def test_nobody_else_on_the_machine_can_read_it(
    catalogue: Catalogue, bound: WorkerEnv
) -> None:
    for file in file_of(bound).parent.glob("*.catalogue-*"):
        assert file.stat().st_mode & 0o077 == 0, file


async def test_records_without_a_row_are_left_out_and_reported(
    catalogue: Catalogue, logs: list[Any]
) -> None:
    without_zone = NOON.replace(tzinfo=None)
    down = msgspec.structs.replace(TAKEN_DOWN, at=without_zone)
    await published("ada/r/good")
    await published("ada/r/odd", published_at=without_zone)
    await published("ada/r/down", down=down)
    odd = a_submission(submission_id="sub_1", updated_at=without_zone)
    await committed([Put("sub:sub_1", encode(odd))])
    await committed([an_event("sub_2", 0, SubmissionState.REJECTED, at=without_zone)])

    assert await found(catalogue) == ["ada/r/good"]
    assert (await catalogue.list_taken_down()).total == 0
    assert sum((await catalogue.count_submissions()).values()) == 0
    told = {event.get("slug") or event.get("submission") for event in logs}
    assert told >= {"ada/r/odd", "ada/r/down", "sub_1", "sub_2"}


async def test_a_failure_that_nobody_thought_of_is_not_survived(
    unsteady: tuple[WorkerEnv, UnsteadyEngine],
) -> None:
    env, engine = unsteady

    async def surprise(
        *, after: int, checkpoint: str = "", prefixes: Sequence[str] = ()
    ) -> ChangesPage:
        raise RuntimeError(after, checkpoint, prefixes)

    engine.read_changes = surprise  # type: ignore[method-assign] # the fault is here
    with pytest.raises(RuntimeError):
        async with open_catalogue(env) as catalogue:
            await catalogue.wait_until(10**9, within=timedelta(seconds=20))


async def test_waiting_ends(catalogue: Catalogue) -> None:
    assert not await catalogue.wait_until(10**9, within=timedelta(0))
    assert catalogue.age is not None
    assert catalogue.age < DEGRADED_AFTER


async def test_an_error_inside_the_context_is_raised_unchanged(bound: WorkerEnv) -> None:
    with pytest.raises(KeyError):
        async with open_catalogue(bound):
            raise KeyError("x")
