"""Many writers on several engines, and followers that must see every commit in order."""

import asyncio
from random import Random

import pytest

from tests.contracts.test_changes_interleaved import follow
from tests.postgres_server import OwnServer
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put, Send
from vskill_platform.engines.ports import Engine

_ENGINES, _WRITERS, _COMMITS = 4, 40, 150


@pytest.mark.timeout(900)
async def test_no_follower_misses_a_commit_while_an_old_transaction_stays_open(
    server: OwnServer,
) -> None:
    engines = [await open_engine(server.url) for _ in range(_ENGINES)]
    followers = [asyncio.create_task(follow(each, until="the end")) for each in engines]
    revisions: dict[int, set[str]] = {}
    # Another program on the same server, which must not hold up the feed.
    other = await asyncio.create_subprocess_exec(
        *server.command("psql", "-Xqc", "BEGIN; SELECT pg_current_xact_id(); SELECT pg_sleep(600)")
    )

    await asyncio.gather(
        *(_write(engines[n % _ENGINES], f"writer {n}", revisions) for n in range(_WRITERS))
    )
    end = await engines[0].commit([Put("the end", b"")])
    told = await asyncio.gather(*followers)
    other.kill()
    await other.wait()

    assert end is not None
    revisions[end] = {"the end"}
    for changes in told:
        assert {change.revision: set(change.keys) for change in changes} == revisions
        assert [change.revision for change in changes] == sorted(revisions)
    for engine in engines:
        await engine.close()


async def _write(engine: Engine, name: str, revisions: dict[int, set[str]]) -> None:
    dice = Random(name)
    for number in range(_COMMITS):
        keys = {f"{name}:{number}:{part}" for part in range(dice.choice([1, 3, 30]))}
        puts = [Put(key, dice.randbytes(20)) for key in sorted(keys)]
        revision = await engine.commit([*puts, Send(b"job")])
        assert revision is not None
        revisions[revision] = keys
