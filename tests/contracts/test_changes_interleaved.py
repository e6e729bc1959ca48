"""No change is missed, however commits overlap: revisions are delivered as they become visible."""

import asyncio
from random import Random

from tests.contracts.asking import GUARD_SECONDS
from vskill_platform.engines.operations import Delete, Put
from vskill_platform.engines.ports import Engine, RecordChange

COMMITTERS = 12
COMMITS = 25


async def commit_on_and_on(engine: Engine, name: str, revisions: dict[int, set[str]]) -> None:
    """Commit again and again under keys of its own, some with many keys, some rewriting."""
    random = Random(name)
    for n in range(COMMITS):
        keys = {f"{name}:{n}:{part}" for part in range(random.choice([1, 2, 40]))}
        revision = await engine.commit([Put(key, b"") for key in keys])
        assert revision is not None
        revisions[revision] = keys


async def follow(engine: Engine, *, until: str) -> list[RecordChange]:
    told: list[RecordChange] = []
    async for change in engine.changes(after=0):
        told.append(change)
        if until in change.keys:
            break
    return told


async def test_two_engines_full_of_committers_and_no_follower_misses_a_change(
    engine: Engine, other_engine: Engine
) -> None:
    revisions: dict[int, set[str]] = {}
    followers = [
        asyncio.create_task(follow(by, until="the end")) for by in (engine, other_engine, engine)
    ]

    async with asyncio.timeout(GUARD_SECONDS):
        await asyncio.gather(
            *(
                commit_on_and_on((engine, other_engine)[n % 2], f"committer {n}", revisions)
                for n in range(COMMITTERS)
            )
        )
        end = await engine.commit([Put("the end", b"")])
        told = await asyncio.gather(*followers)

    assert end is not None
    revisions[end] = {"the end"}
    for changes in told:
        assert [change.revision for change in changes] == sorted(revisions)
        assert {change.revision: set(change.keys) for change in changes} == revisions


async def test_a_follower_of_keys_that_keep_changing_ends_with_the_latest_of_each(
    engine: Engine, other_engine: Engine
) -> None:
    following = asyncio.create_task(follow(engine, until="the end"))

    async def rewrite(by: Engine, seed: int) -> None:
        random = Random(seed)
        for _ in range(40):
            key = f"shared:{random.randrange(5)}"
            await by.commit([Put(key, b"") if random.random() < 0.5 else Delete(key)])

    async with asyncio.timeout(GUARD_SECONDS):
        await asyncio.gather(
            *(rewrite((engine, other_engine)[seed % 2], seed) for seed in range(8))
        )
        await other_engine.commit([Put("the end", b"")])
        changes = await following

    revisions = [change.revision for change in changes]
    assert revisions == sorted(set(revisions))
    heard = {key: change.revision for change in changes for key in change.keys}
    for n in range(5):
        entry = await engine.kv.get(f"shared:{n}")
        assert entry is None or entry.revision == heard[f"shared:{n}"]
    afresh = {
        key: change.revision
        for change in await follow(other_engine, until="the end")
        for key in change.keys
    }
    assert heard == afresh
