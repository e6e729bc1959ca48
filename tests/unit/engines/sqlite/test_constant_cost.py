"""Looking at the queue and receiving from it cost the same however many messages wait."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines.sqlite.counted_steps import counted_steps
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import MAX_POSITION, BusyResources, Engine, Release, Send
from vskill_platform.engines.sqlite import engine as sqlite_engine

LEASE = timedelta(minutes=1)
FEW, MANY = 1_100, 11_000


async def receive(engine: Engine) -> None:
    (delivery,) = await engine.queue.receive(1, lease=LEASE)
    await engine.commit([Release(delivery)])


async def receive_around(engine: Engine) -> None:
    busy = BusyResources(resources=("slow.example",))
    assert await engine.queue.receive(1, lease=LEASE, busy=busy) == []


async def send(engine: Engine) -> None:
    await engine.commit([Send(b"", key="another", group="ben")])


async def steps_of(work: Callable[[Engine], Awaitable[Any]], waiting: int, path: Path) -> int:
    """Return the steps that *work* takes with so many messages in line."""
    with counted_steps() as steps:
        engine = await open_engine(f"sqlite:///{path}")
        await engine.commit(
            [Send(b"", key=f"m{n}", group="ada", resource="slow.example") for n in range(waiting)]
        )
        taken = []
        for _ in range(10):  # the first on each connection has to read the schema too
            before = steps.count
            await work(engine)
            taken.append(steps.count - before)
        await engine.close()
    return min(taken)


@pytest.mark.parametrize(
    "work",
    [
        lambda engine: engine.queue.stats(),
        lambda engine: engine.queue.position(f"m{MAX_POSITION + 5}"),
        lambda engine: engine.queue.position("m7"),
        lambda engine: engine.queue.count_group("ada"),
        receive,
        receive_around,
        send,
    ],
    ids=["stats", "far position", "near position", "group", "receive", "around", "send"],
)
async def test_the_work_does_not_grow_with_what_waits(
    work: Callable[[Engine], Awaitable[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_engine, "LOOK_EVERY_SECONDS", 3600)  # not part of the work
    few = await steps_of(work, FEW, tmp_path / "few.db")
    many = await steps_of(work, MANY, tmp_path / "many.db")

    assert few > 0
    assert many < 1.1 * few  # a few steps depend on how the pages happen to be filled
