"""Connections that break: the outcome of a commit is known, and nothing is applied twice."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.contracts.asking import GUARD_SECONDS, LEASE, list_all, receive_bodies, value_of
from tests.unit.engines.postgres.network import Network
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import ABSENT, Acknowledge, Put, Send
from vskill_platform.engines.ports import Engine
from vskill_platform.engines.postgres import commit as commits
from vskill_platform.errors import EngineError, OutcomeUnknown


async def test_a_commit_whose_answer_was_lost_is_found_and_not_repeated(network: Network) -> None:
    engine = await open_engine(network.url)
    await engine.commit([Put("warm", b"")])
    network.loses_answer_to = _once(b"sub:1")

    revision = await engine.commit([Put("sub:1", b"one", expected=ABSENT), Send(b"job")])

    assert network.lost.is_set()
    assert revision == await engine.revision()
    assert await value_of(engine, "sub:1") == b"one"
    assert await receive_bodies(engine) == [b"job"]
    await engine.close()


@pytest.mark.parametrize("attempt", range(5))
async def test_a_commit_that_arrives_late_is_applied_once(network: Network, attempt: int) -> None:
    engine = await open_engine(network.url)
    await engine.commit([Put("warm", b"")])
    network.client_loses_first = True
    network.loses_answer_to = _once(b"sub:1")

    revision = await engine.commit([Put("sub:1", b"one", expected=ABSENT), Send(b"job")])
    await network.lost.wait()

    assert revision == await engine.revision()
    assert await value_of(engine, "sub:1") == b"one"
    assert await receive_bodies(engine, 9) == [b"job"]
    await engine.close()


async def test_a_commit_that_never_arrived_is_repeated(network: Network) -> None:
    engine = await open_engine(network.url)
    await engine.commit([Put("warm", b"")])
    cut = _once(b"sub:1")

    def lose(piece: bytes) -> bool:
        if cut(piece):
            network.cut()
            network.repair()
        return False

    network.loses_answer_to = lose

    assert await engine.commit([Put("sub:1", b"one", expected=ABSENT)])
    assert await value_of(engine, "sub:1") == b"one"
    await engine.close()


async def test_every_commit_of_a_group_learns_its_own_outcome(network: Network) -> None:
    engine = await open_engine(network.url)
    await engine.commit([Put("taken:1", b"")])
    network.loses_answer_to = _once(b"taken:1")

    revisions = await asyncio.gather(
        *(engine.commit([Put(f"taken:{n}", b"", expected=ABSENT)]) for n in range(4))
    )

    assert network.lost.is_set()
    assert [revision is not None for revision in revisions] == [True, False, True, True]
    assert await list_all(engine, "taken:") == [f"taken:{n}" for n in range(4)]
    await engine.close()


async def test_an_acknowledgement_whose_answer_was_lost_counts(network: Network) -> None:
    engine = await open_engine(network.url)
    await engine.commit([Send(b"job")])
    (delivery,) = await engine.queue.receive(1, lease=LEASE)
    network.loses_answer_to = _once(b"next job")  # a statement is sent only once by a connection

    assert await engine.commit([Acknowledge(delivery), Send(b"next job")]) is not None
    assert network.lost.is_set()
    assert await receive_bodies(engine, 9) == [b"next job"]
    assert (await engine.queue.stats()).leased == 1
    await engine.close()


async def test_an_outcome_that_cannot_be_read_is_unknown(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "_DECIDE_WITHIN", timedelta(0))
    engine = await open_engine(network.url)
    await engine.commit([Put("warm", b"")])
    lost = _once(b"sub:1")

    def lose(piece: bytes) -> bool:
        if lost(piece):
            network.is_cut = True
            return True
        return False

    network.loses_answer_to = lose

    with pytest.raises(OutcomeUnknown, match="whether it was applied is unknown"):
        await engine.commit([Put("sub:1", b"one")])

    network.repair()
    assert await value_of(engine, "sub:1") == b"one"
    await engine.close()


async def test_a_server_that_is_gone_is_an_error_and_comes_back_by_itself(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "_DECIDE_WITHIN", timedelta(0))
    monkeypatch.setattr(commits, "RESTART_SECONDS", 0)
    engine = await open_engine(network.url)
    await engine.commit([Put("sub:1", b"one")])

    network.cut()
    with pytest.raises(EngineError, match="does not answer"):
        await engine.kv.get("sub:1")
    with pytest.raises(EngineError):
        await engine.commit([Put("sub:2", b"two")])
    with pytest.raises(EngineError):
        await engine.kv.list_keys("sub:")

    network.repair()
    assert await value_of(engine, "sub:1") == b"one"
    assert await engine.commit([Put("sub:2", b"two")])
    await engine.close()


async def test_a_waiting_worker_is_woken_after_the_network_was_cut(
    network: Network, url: str
) -> None:
    engine, other = await open_engine(network.url), await open_engine(url)
    waiting = asyncio.create_task(_receive_in_spite_of_errors(engine))

    network.cut()
    await other.commit([Send(b"from afar")])
    network.repair()

    async with asyncio.timeout(GUARD_SECONDS):
        assert await waiting == [b"from afar"]
    await engine.close()
    await other.close()


async def _receive_in_spite_of_errors(engine: Engine) -> list[bytes]:
    while True:
        try:
            deliveries = await engine.queue.receive(1, lease=LEASE, wait=timedelta(seconds=10))
        except EngineError:
            await asyncio.sleep(0)
        else:
            return [delivery.body for delivery in deliveries]


def _once(word: bytes) -> Callable[[bytes], bool]:
    """Return a check that is true for the first piece that contains the word."""
    left = [word]

    def check(piece: bytes) -> bool:
        if left and left[0] in piece:
            left.clear()
            return True
        return False

    return check
