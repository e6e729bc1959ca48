"""One commit over records and messages: all or nothing, each alone."""

import asyncio

from vskill_platform.engines.ports import Engine, Put


async def test_only_one_of_many_commits_wins(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"received")])
    seen = await engine.kv.get("sub:1")
    assert seen is not None

    wins = await asyncio.gather(
        *(engine.commit([Put("sub:1", b"by %d" % n, expected=seen.revision)]) for n in range(8))
    )

    assert sum(win is not None for win in wins) == 1
