"""What an engine's queue should do, in plain Python. Every message has a body of its own."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from vskill_platform.engines.ports import Delivery

MINUTE = timedelta(minutes=1)


@dataclass
class Message:
    body: bytes
    key: str | None
    ready_at: datetime
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


@dataclass
class QueueModel:
    #: In the order they were sent.
    messages: list[Message] = field(default_factory=list)
    dead: dict[int, Grave] = field(default_factory=dict)
    paused_until: datetime | None = None
    delivered_at: list[datetime] = field(default_factory=list)

    def send(self, body: bytes, key: str | None, ready_at: datetime) -> None:
        if key is None or key not in self.pending():
            self.messages.append(Message(body, key, ready_at))

    def choose(self, limit: int, now: datetime) -> list[Message]:
        """Return what a receive hands out now, the longest ready first."""
        if self.pause(now):
            return []
        ready = [message for message in self.messages if message.ready_at <= now]
        return sorted(ready, key=lambda message: message.ready_at)[:limit]

    def hand_out(
        self, message: Message, delivery: Delivery, until: datetime, now: datetime
    ) -> None:
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

    def release(self, message: Message, now: datetime) -> None:
        self.retry(message, now)
        message.attempts -= 1

    def bury(self, message: Message, message_id: int, reason: str, now: datetime) -> None:
        self.messages.remove(message)
        self.dead[message_id] = Grave(message.body, message.key, message.attempts, reason, now)

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
