"""Looking at the queue and receiving from it cost the same however many messages wait."""

import shutil
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines.sqlite.counted_steps import counted_steps
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Release, Send
from vskill_platform.engines.ports import MAX_POSITION, BusyResources, Engine
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


@pytest.fixture(scope="module")
async def queues(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Return a database for each number of messages in line."""
    folder = tmp_path_factory.mktemp("queues")
    for waiting in (FEW, MANY):
        engine = await open_engine(f"sqlite:///{folder / str(waiting)}.db")
        await engine.commit(
            [Send(b"", key=f"m{n}", group="ada", resource="slow.example") for n in range(waiting)]
        )
        await engine.close()
    return {waiting: folder / f"{waiting}.db" for waiting in (FEW, MANY)}


async def steps_of(work: Callable[[Engine], Awaitable[Any]], path: Path | str) -> int:
    """Return the steps that *work* takes on this database."""
    with counted_steps() as steps:
        engine = await open_engine(f"sqlite:///{path}")
        taken = []
        for _ in range(10):  # the first on each connection has to read the schema too
            before = steps.count
            await work(engine)
            taken.append(steps.count - before)
        await engine.close()
    return min(taken)


@pytest.mark.slow
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
async def test_the_cost_does_not_grow_with_the_number_of_waiting_messages(
    work: Callable[[Engine], Awaitable[Any]],
    queues: dict[int, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sqlite_engine, "LOOK_EVERY_SECONDS", 3600)  # not part of the work
    few = await steps_of(work, shutil.copy(queues[FEW], tmp_path / "few.db"))
    many = await steps_of(work, shutil.copy(queues[MANY], tmp_path / "many.db"))

    assert few > 0
    assert many < 1.1 * few  # a few steps depend on how the pages happen to be filled
