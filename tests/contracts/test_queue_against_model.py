"""The queue, driven at random, matches a plain Python model."""

from datetime import timedelta
from itertools import count

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tests.contracts.machine import EngineMachine, steps_for
from tests.contracts.queue_model import QueueModel
from vskill_platform.engines.operations import (
    Acknowledge,
    Bury,
    Delivery,
    Drop,
    Extend,
    Operation,
    Release,
    Requeue,
    Retry,
    Send,
)
from vskill_platform.engines.ports import DeadLetter, QueueStats

KEYS = ["sub:1", "sub:2", "sub:3"]
GROUPS = ["", "ada", "ben"]

spans = st.integers(0, 8).map(lambda seconds: timedelta(seconds=seconds))
some_time = st.integers(1, 8).map(lambda seconds: timedelta(seconds=seconds))


class QueueMachine(EngineMachine):
    deliveries: Bundle[Delivery] = Bundle("deliveries")
    dead_letter_ids: Bundle[int] = Bundle("dead_letter_ids")

    def __init__(self) -> None:
        super().__init__()
        self.model = QueueModel()
        self.bodies = (b"message %d" % n for n in count())

    @rule(
        key=st.none() | st.sampled_from(KEYS),
        delay=st.just(timedelta(0)) | spans,
        group=st.sampled_from(GROUPS),
    )
    def send(self, key: str | None, delay: timedelta, group: str) -> None:
        body = next(self.bodies)

        assert self._commit(Send(body, key, delay, group))

        self.model.send(body, key, self.now + delay, self.now, group)

    @rule(target=deliveries, limit=st.integers(1, 4), lease=some_time)
    def receive(self, limit: int, lease: timedelta) -> MultipleResults[Delivery]:
        chosen = self.model.choose(limit, self.now)

        deliveries = self.run(self.engine.queue.receive(limit, lease=lease))

        assert [delivery.body for delivery in deliveries] == [m.body for m in chosen]
        for message, delivery in zip(chosen, deliveries, strict=True):
            assert (delivery.key, delivery.attempt) == (message.key, message.attempts + 1)
            self.model.lease_messages(message, delivery, self.now + lease, self.now)
        return multiple(*deliveries)

    @rule(delivery=deliveries)
    def acknowledge(self, delivery: Delivery) -> None:
        message = self.model.answerable(delivery)
        assert self._commit(Acknowledge(delivery)) == (message is not None)
        if message:
            self.model.acknowledge(message)

    @rule(delivery=deliveries, delay=spans)
    def retry(self, delivery: Delivery, delay: timedelta) -> None:
        message = self.model.answerable(delivery)
        assert self._commit(Retry(delivery, delay, "busy")) == (message is not None)
        if message:
            self.model.retry(message, self.now + delay)

    @rule(delivery=deliveries)
    def release(self, delivery: Delivery) -> None:
        message = self.model.answerable(delivery)
        assert self._commit(Release(delivery)) == (message is not None)
        if message:
            self.model.release(message, self.now)

    @rule(delivery=deliveries, lease=some_time)
    def extend(self, delivery: Delivery, lease: timedelta) -> None:
        message = self.model.answerable(delivery)
        assert self._commit(Extend(delivery, lease)) == (message is not None)
        if message:
            message.ready_at = self.now + lease
            message.last_rank, message.rank = message.rank or message.last_rank, None

    @rule(target=dead_letter_ids, delivery=deliveries)
    def bury(self, delivery: Delivery) -> int:
        message = self.model.answerable(delivery)
        assert self._commit(Bury(delivery, "broken")) == (message is not None)
        if message:
            self.model.bury(message, delivery.message_id, "broken", self.now)
        return delivery.message_id

    @rule(delivery=deliveries, key=st.sampled_from(KEYS))
    def acknowledge_and_send_the_next_in_one_commit(self, delivery: Delivery, key: str) -> None:
        message, body = self.model.answerable(delivery), next(self.bodies)
        applied = self._commit(Send(body, key), Acknowledge(delivery))
        assert applied == (message is not None)
        if message:
            self.model.send(body, key, self.now, self.now, "")
            self.model.acknowledge(message)

    @rule(message_id=dead_letter_ids)
    def revive(self, message_id: int) -> None:
        letter = self.model.dead.pop(message_id, None)
        assert self._commit(Requeue(message_id)) == (letter is not None)
        if letter:
            self.model.send(letter.body, letter.key, self.now, self.now, letter.group)

    @rule(message_id=dead_letter_ids)
    def drop(self, message_id: int) -> None:
        letter = self.model.dead.pop(message_id, None)
        assert self._commit(Drop(message_id)) == (letter is not None)

    @rule(duration=some_time)
    def pause(self, duration: timedelta) -> None:
        self.run(self.engine.queue.pause(duration))
        self.model.paused_until = self.now + duration

    @rule()
    def resume(self) -> None:
        self.run(self.engine.queue.resume())
        self.model.paused_until = None

    @rule(seconds=st.integers(1, 8))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @invariant()
    def the_numbers_are_those_of_the_model(self) -> None:
        now, model = self.now, self.model
        ready, leased = len(model.ready(now)), model.leased(now)
        assert self.run(self.engine.queue.stats()) == QueueStats(
            ready=ready,
            leased=leased,
            delayed=len(model.messages) - ready - leased,
            dead=len(model.dead),
            oldest_ready_age=model.oldest_ready_age(now),
            delivered_last_minute=model.delivered_last_minute(now),
            paused_until=model.pause(now),
        )
        assert self.run(self.engine.queue.pending(KEYS)) == model.pending()
        for group in GROUPS:
            waiting = sum(message.group == group for message in model.messages)
            assert self.run(self.engine.queue.count_group(group)) == waiting

    @invariant()
    def the_dead_letters_are_those_of_the_model(self) -> None:
        assert self.run(self.engine.queue.dead_letters()) == [
            DeadLetter(
                message_id,
                letter.body,
                letter.key,
                letter.attempts,
                letter.reason,
                letter.buried_at,
            )
            for message_id, letter in sorted(self.model.dead.items())
        ]

    def _commit(self, *operations: Operation) -> bool:
        return self.run(self.engine.commit(operations)) is not None


@pytest.mark.slow
@pytest.mark.hypothesis
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_queue_does_what_the_model_says(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QueueMachine, "kind", kind)

    run_state_machine_as_test(QueueMachine, settings=steps_for(kind))
