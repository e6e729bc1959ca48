"""The search index after any changes is the same as one that is rebuilt.

Random changes to everything that changes what is listed; then both are compared, row by row and by
what they answer.
"""

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from anyio import CapacityLimiter

from tests.casts import add_installs
from tests.clocks import NOON, ManualClock
from tests.unit.catalogue.index_files import (
    TAKEN_DOWN,
    a_report,
    an_event,
    changed,
    committed,
    current,
    published,
    submitted,
)
from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.catalogue.query import EVERYTHING, PUBLIC, SkillQuery, SkillSort
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Delete, Operation, Put
from vskill_platform.errors import RecordMalformed
from vskill_platform.model.skill import Capabilities, Yank
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.verdict import Verdict
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.skill_store import get_skill, list_slugs, migrate_skill_slugs

NAMES = ("tidy-notes", "pdf-forms", "map", "codebase-map")
OWNERS = ("ada", "ben", "git.example/cyd")
WORDS = ("notes", "forms", "reports", "entry", "entries", "tidy", "日本", "naïve")
TABLES = (
    "skill", "skill_hit", "skill_tag", "skill_agent", "skill_capability", "skill_down", "word",
    "word_key", "submission", "event",
)  # fmt: skip
TEXTS = ("", "tidy", "notes", "form", "ent", "map", "odebas", "m", "日本", "ada", "nothing")
CAPABILITIES: tuple[Capabilities | None, ...] = (None, {}, {"hosts": ("api.example.com",)})
STEPS = 40
#: Starts of the dice: a few in each run, more of them in `make torture`.
SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(4, 40))]

Step = Callable[[random.Random], Awaitable[None]]


async def publish(dice: random.Random) -> None:
    slug = f"{dice.choice(OWNERS)}/r/{dice.choice(NAMES)}"
    await published(
        slug,
        description=" ".join(dice.choices(WORDS, k=dice.randint(1, 5))),
        tags=tuple(dice.sample(("pdf", "office", "c++"), k=dice.randint(0, 2))),
        agents=tuple(dice.sample(("codex", "cursor"), k=dice.randint(0, 2))),
        is_private=dice.random() < 0.3,
        capabilities=dice.choice(CAPABILITIES),
        published_at=NOON - timedelta(days=dice.randrange(900)),
        submission_id=f"sub_{dice.randrange(6)}",
    )


async def with_one_skill(dice: random.Random, change: Callable[[str], Awaitable[Any]]) -> None:
    if slugs := await list_slugs():
        await change(dice.choice(slugs))


async def block(dice: random.Random) -> None:
    await with_one_skill(dice, lambda slug: changed(slug, down=TAKEN_DOWN))


async def unblock(dice: random.Random) -> None:
    await with_one_skill(dice, lambda slug: changed(slug, down=None))


async def yank(dice: random.Random) -> None:
    mark = Yank(number=1, reason="broken", by="ada", at=NOON)
    yanked = (mark,) if dice.random() < 0.6 else ()
    await with_one_skill(dice, lambda slug: changed(slug, yanked=yanked))


async def hide_or_show(dice: random.Random) -> None:
    await with_one_skill(dice, lambda slug: changed(slug, is_private=dice.random() < 0.5))


async def delete(dice: random.Random) -> None:
    def keys(slug: str) -> list[Operation]:
        return [Delete(f"skill:{slug}"), Delete(f"version:{slug}:000001")]

    await with_one_skill(dice, lambda slug: committed(keys(slug)))


async def rename(dice: random.Random) -> None:
    old, new = dice.sample(NAMES, k=2)
    await migrate_skill_slugs(
        lambda skill: skill.slug.replace(f"/{old}", f"/{new}-{dice.randrange(3)}")
    )


async def install(dice: random.Random) -> None:
    await with_one_skill(dice, lambda slug: add_installs({slug: dice.choice((1, 30, 4_000))}))


async def scan_again(dice: random.Random) -> None:
    async def report(slug: str) -> None:
        stored = await get_skill(slug)
        assert stored
        verdict, score = dice.choice(list(Verdict)), dice.randrange(100)
        await committed([write_report(a_report(stored.record, verdict=verdict, score=score))])

    await with_one_skill(dice, report)


async def move_submission(dice: random.Random) -> None:
    await submitted(
        f"sub_{dice.randrange(6)}",
        state=dice.choice(list(SubmissionState)),
        slug=dice.choice((None, "ada/r/map")),
        is_private=dice.random() < 0.3,
        set_id=dice.choice((None, "set_1")),
        events=dice.randrange(4),
    )


async def delete_submission(dice: random.Random) -> None:
    submission_id = f"sub_{dice.randrange(6)}"
    await committed(
        [Delete(f"sub:{submission_id}"), *(
            Delete(f"hist:{submission_id}:{number:06}") for number in range(4)
        )]
    )  # fmt: skip


async def add_event(dice: random.Random) -> None:
    from_state = dice.choice([None, *SubmissionState])
    event = an_event(
        f"sub_{dice.randrange(6)}", dice.randrange(4), dice.choice(list(SubmissionState)),
        from_state=from_state, timings=dice.choice(({}, {"check": 1.5, "fetch": 2.0})),
        at=NOON - timedelta(minutes=dice.randrange(10_000)),
    )  # fmt: skip
    await committed([msgspec.structs.replace(event, expected=None)])


async def break_a_record(dice: random.Random) -> None:
    key = dice.choice(("skill:ada/r/map", "sub:sub_1", "scan:sub_2", "installs:ben/r/map", "x:y"))
    await committed([Put(key, b"{")])


STEP_KINDS: tuple[Step, ...] = (
    publish, publish, publish, block, unblock, yank, hide_or_show, delete, rename, install,
    scan_again, move_submission, move_submission, delete_submission, add_event, break_a_record,
)  # fmt: skip


async def a_step(dice: random.Random) -> None:
    with suppress(RecordMalformed):  # what was broken cannot be changed
        await dice.choice(STEP_KINDS)(dice)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_followed_index_equals_a_rebuilt_one(
    seed: int, tmp_path: Path, clock: ManualClock
) -> None:
    engine = await open_engine(f"sqlite:///{tmp_path / 'skills.db'}", clock=clock)
    env = WorkerEnv(
        engine=engine,
        settings=Settings(database_url=f"sqlite:///{tmp_path / 'skills.db'}"),
        clock=clock,
        scan_slots=CapacityLimiter(1),
    )
    dice = random.Random(seed)

    async def change_at_random() -> None:
        for _ in range(3):  # each its own start
            async with open_catalogue(env) as followed:
                for _ in range(STEPS):
                    await a_step(dice)
                    clock.advance(minutes=dice.choice((0, 0, 1)))
                    if dice.random() < 0.2:  # else many changes come at once
                        await current(followed)
                await compare_with_new(followed, env)
            for _ in range(dice.choice((0, STEPS))):  # while it is away
                await a_step(dice)
            if dice.random() < 0.5:
                clock.advance(days=3)
                await engine.prune(deleted_before=clock.now() - timedelta(days=1))

    await run_with_worker_env(env, change_at_random)
    await engine.close()


async def compare_with_new(followed: Catalogue, env: WorkerEnv) -> None:
    for file in Path(env.settings.database_url.removeprefix("sqlite:///")).parent.glob("*-1*"):
        file.unlink()
    async with open_catalogue(env) as new:
        await new.wait_until_ready()
        await current(new)
        await current(followed)
        assert await everything(followed) == await everything(new)
        for text in TEXTS:
            for sort in SkillSort:
                for visible in (PUBLIC, EVERYTHING):
                    query = SkillQuery(text=text, sort=sort, visible=visible, with_facets=True)
                    answer = await followed.search_skills(query)
                    assert answer == await new.search_skills(query), query
        assert await followed.count_all() == await new.count_all()


async def everything(catalogue: Catalogue) -> dict[str, list[Any]]:
    """Return every row of every table, in order."""

    def read(connection: apsw.Connection) -> dict[str, list[Any]]:
        rows = {
            table: sorted(connection.execute(f"SELECT * FROM {table}"))  # noqa: S608 - our own
            for table in TABLES
        }
        counted = "SELECT * FROM submission_count WHERE count != 0"
        by_value = "SELECT * FROM facet_count WHERE count != 0"
        counts = {query: sorted(connection.execute(query)) for query in (counted, by_value)}
        return rows | counts

    return await catalogue._follower.ready_index().connections.read(read)
