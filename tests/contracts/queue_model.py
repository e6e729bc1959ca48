"""What an engine's queue should do, in plain Python. Every message has a unique body."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vskill_platform.engines.operations import Delivery
from vskill_platform.engines.ports import RETRY_PENALTY

MINUTE = timedelta(minutes=1)


@dataclass
class Message:
    body: bytes
    key: str | None
    ready_at: datetime
    group: str = ""
    #: Its rank; None while it is delayed or leased.
    rank: int | None = None
    #: Its rank when it was delivered.
    last_rank: int = 0
    is_retry: bool = False
    attempts: int = 0
    #: The latest delivery, while it may still be answered.
    delivery: Delivery | None = None


@dataclass(frozen=True)
class Grave:
    body: bytes
    key: str | None
    attempts: int
    reason: str
    buried_at: datetime
    group: str


@dataclass
class QueueModel:
    #: In the order they were sent.
    messages: list[Message] = field(default_factory=list)
    dead: dict[int, Grave] = field(default_factory=dict)
    paused_until: datetime | None = None
    delivered_at: list[datetime] = field(default_factory=list)
    #: The highest rank delivered, and the last one assigned in each lane.
    virtual_time: int = 0
    lanes: dict[tuple[str, bool], int] = field(default_factory=dict)

    def send(
        self, body: bytes, key: str | None, ready_at: datetime, now: datetime, group: str
    ) -> None:
        self._put_due_in_line(now)
        if key is None or key not in self.pending():
            message = Message(body, key, ready_at, group)
            self.messages.append(message)
            self._put_due_in_line(now)

    def choose(self, limit: int, now: datetime) -> list[Message]:
        """Return what a receive delivers now: by rank, and of equal ranks the first sent."""
        if self.pause(now):
            return []
        self._put_due_in_line(now)
        ranked = [(m.rank, number, m) for number, m in enumerate(self.messages) if m.rank]
        return [message for _, _, message in sorted(ranked)[:limit]]

    def _put_due_in_line(self, now: datetime) -> None:
        due = [m for m in self.messages if m.rank is None and m.ready_at <= now]
        for message in sorted(due, key=lambda found: found.ready_at):
            # A lease that ran out counts as a failure.
            message.is_retry = message.is_retry or message.delivery is not None
            lane = (message.group, message.is_retry)
            start = self.virtual_time + (RETRY_PENALTY if message.is_retry else 0)
            message.rank = self.lanes[lane] = max(start, self.lanes.get(lane, 0)) + 1

    def lease_messages(
        self, message: Message, delivery: Delivery, until: datetime, now: datetime
    ) -> None:
        assert message.rank
        self.virtual_time = max(self.virtual_time, message.rank)
        message.last_rank, message.rank = message.rank, None
        message.delivery = delivery
        message.attempts += 1
        message.ready_at = until
        self.delivered_at.append(now)

    def answerable(self, delivery: Delivery) -> Message | None:
        """Return the message of *delivery* if this is its latest and was not answered yet."""
        return next((m for m in self.messages if m.delivery == delivery), None)

    def acknowledge(self, message: Message) -> None:
        self.messages.remove(message)

    def retry(self, message: Message, ready_at: datetime) -> None:
        message.delivery = None
        message.ready_at = ready_at
        message.rank = None
        message.is_retry = True

    def release(self, message: Message, now: datetime) -> None:
        message.delivery = None
        message.ready_at = now
        message.rank = message.rank or message.last_rank
        message.attempts -= 1

    def bury(self, message: Message, message_id: int, reason: str, now: datetime) -> None:
        self.messages.remove(message)
        self.dead[message_id] = Grave(
            message.body, message.key, message.attempts, reason, now, message.group
        )

    def pause(self, now: datetime) -> datetime | None:
        return self.paused_until if self.paused_until and now < self.paused_until else None

    def pending(self) -> set[str]:
        return {message.key for message in self.messages if message.key is not None}

    def ready(self, now: datetime) -> list[Message]:
        return [message for message in self.messages if message.ready_at <= now]

    def leased(self, now: datetime) -> int:
        return sum(m.delivery is not None and m.ready_at > now for m in self.messages)

    def oldest_ready_age(self, now: datetime) -> timedelta | None:
        return max((now - message.ready_at for message in self.ready(now)), default=None)

    def delivered_last_minute(self, now: datetime) -> int:
        return sum(now - MINUTE < moment for moment in self.delivered_at)
