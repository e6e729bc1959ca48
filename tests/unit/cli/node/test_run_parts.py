"""The parts of a node run together and end together."""

import asyncio

import pytest

from vskill_platform.cli.node.run_parts import run_parts
from vskill_platform.errors import EngineError


async def _forever(ended: list[str], name: str) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append(name)


async def test_an_error_of_one_part_ends_the_others_and_is_raised_as_it_is() -> None:
    ended: list[str] = []

    async def fail() -> None:
        raise EngineError("the queue does not answer")

    with pytest.raises(EngineError, match="the queue does not answer"):
        await run_parts(fail(), _forever(ended, "part"), meanwhile=[_forever(ended, "beat")])

    assert sorted(ended) == ["beat", "part"]


async def test_the_background_ends_with_the_last_part() -> None:
    ended: list[str] = []

    async def finish() -> None:
        await asyncio.sleep(0)

    await run_parts(finish(), finish(), meanwhile=[_forever(ended, "beat")])

    assert ended == ["beat"]
