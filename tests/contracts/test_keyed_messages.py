"""Messages with a key: at most one at a time, so queueing twice is safe."""

import asyncio
from datetime import timedelta

import pytest

from tests.clocks import ManualClock
from tests.contracts.asking import receive_bodies, receive_one
from vskill_platform.engines.operations import Acknowledge, Bury, Put, Release, Retry, Send
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import InvalidInput


async def test_a_second_send_while_the_first_waits_is_a_no_op(engine: Engine) -> None:
    await engine.commit([Send(b"first", key="sub:1")])

    assert await engine.commit([Send(b"second", key="sub:1"), Put("beside it", b"")])

    assert await receive_bodies(engine) == [b"first"]
    assert await engine.kv.get("beside it") is not None


async def test_a_second_send_while_the_first_is_leased_is_a_no_op(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"first", key="sub:1")])
    first = await receive_one(engine)

    assert await engine.commit([Send(b"second", key="sub:1")])

    assert await receive_bodies(engine) == []
    await engine.commit([Acknowledge(first)])
    clock.advance(days=1)
    assert await receive_bodies(engine) == []


async def test_a_second_send_while_the_first_is_delayed_does_not_hurry_it(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"first", key="sub:1", delay=timedelta(minutes=1))])
    await engine.commit([Send(b"second", key="sub:1")])

    assert await receive_bodies(engine) == []

    clock.advance(minutes=1)
    assert await receive_bodies(engine) == [b"first"]


async def test_of_many_concurrent_sends_with_one_key_one_is_queued(engine: Engine) -> None:
    sends = [engine.commit([Send(b"%d" % n, key="sub:1")]) for n in range(20)]

    revisions = await asyncio.gather(*sends)

    assert None not in revisions
    assert len(await receive_bodies(engine)) == 1


async def test_messages_without_key_are_all_queued(engine: Engine) -> None:
    await engine.commit([Send(b"same"), Send(b"same")])
    await engine.commit([Send(b"same")])

    assert await receive_bodies(engine) == [b"same"] * 3


async def test_a_key_is_free_again_once_its_message_is_acknowledged(engine: Engine) -> None:
    await engine.commit([Send(b"first", key="sub:1")])
    first = await receive_one(engine)

    await engine.commit([Acknowledge(first), Send(b"second", key="sub:1")])

    second = await receive_one(engine)
    assert second.body == b"second"
    assert second.message_id > first.message_id
    assert second.attempt == 1


async def test_a_key_is_free_again_once_its_message_is_buried(engine: Engine) -> None:
    await engine.commit([Send(b"first", key="sub:1")])
    await engine.commit([Bury(await receive_one(engine), "broken")])

    await engine.commit([Send(b"second", key="sub:1")])

    assert await receive_bodies(engine) == [b"second"]


async def test_a_key_is_kept_while_its_message_is_retried_or_released(engine: Engine) -> None:
    await engine.commit([Send(b"first", key="sub:1")])

    await engine.commit([Release(await receive_one(engine)), Send(b"second", key="sub:1")])
    again = Retry(await receive_one(engine), timedelta(0), "busy")
    await engine.commit([again, Send(b"third", key="sub:1")])

    assert await receive_bodies(engine) == [b"first"]


async def test_pending_names_the_keys_whose_message_waits_or_is_leased(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"", key=key) for key in ("leased", "done", "dead", "expired")])
    leased, done, dead, _ = await engine.queue.receive(4, lease=timedelta(minutes=1))
    await engine.commit([Acknowledge(done), Bury(dead, "broken")])
    clock.advance(minutes=1)
    await engine.commit([Retry(leased, timedelta(0), "busy")])
    await engine.commit([Send(b"", key="ready"), Send(b"", key="delayed", delay=timedelta(1))])
    asked = {"leased", "done", "dead", "expired", "ready", "delayed", "unknown"}

    assert await engine.queue.pending(asked) == {"leased", "expired", "ready", "delayed"}
    assert await engine.queue.pending(["ready", "ready", "done"]) == {"ready"}
    assert await engine.queue.pending([]) == set()


async def test_pending_answers_for_many_keys_at_once(engine: Engine) -> None:
    keys = [f"sub:{n}" for n in range(5000)]
    await engine.commit([Send(b"", key=key) for key in keys[::2]])

    assert await engine.queue.pending(keys) == set(keys[::2])


@pytest.mark.parametrize("key", ["", "half \ud800", "nul \0"])
async def test_pending_refuses_what_cannot_be_a_key(engine: Engine, key: str) -> None:
    with pytest.raises(InvalidInput, match="key"):
        await engine.queue.pending(["sub:1", key])
