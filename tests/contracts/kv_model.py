"""What an engine's records and change feed should be, in plain Python."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Put
from vskill_platform.engines.ports import RecordChange

_THIS_COMMIT = -1


@dataclass(frozen=True)
class Record:
    value: bytes
    revision: int
    due: datetime | None
    expires_at: datetime | None
    marks: tuple[str, ...] = ()
    rank: int = 0

    def is_there(self, now: datetime) -> bool:
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True)
class Tombstone:
    revision: int
    deleted_at: datetime


@dataclass
class RecordsModel:
    records: dict[str, Record] = field(default_factory=dict)
    tombstones: dict[str, Tombstone] = field(default_factory=dict)
    trimmed_through: int = 0

    def get(self, key: str, now: datetime) -> Record | None:
        record = self.records.get(key)
        return record if record and record.is_there(now) else None

    def revision_of(self, key: str, now: datetime) -> int:
        record = self.get(key, now)
        return record.revision if record else ABSENT

    def would_apply(self, operations: Sequence[Put | Delete], now: datetime) -> bool:
        """Return whether every expectation holds when its turn comes."""
        trial = RecordsModel(dict(self.records))
        for operation in operations:
            if operation.expected not in {None, trial.revision_of(operation.key, now)}:
                return False
            trial._apply(operation, _THIS_COMMIT, now)
        return True

    def commit(self, operations: Sequence[Put | Delete], revision: int, now: datetime) -> None:
        for operation in operations:
            self._apply(operation, revision, now)

    def expired(self, now: datetime) -> list[str]:
        return [key for key, record in self.records.items() if not record.is_there(now)]

    def trim(self, deleted_before: datetime) -> int:
        """Forget old deletions; return how many."""
        old = {k: t for k, t in self.tombstones.items() if t.deleted_at < deleted_before}
        for key, tombstone in old.items():
            self.trimmed_through = max(self.trimmed_through, tombstone.revision)
            del self.tombstones[key]
        return len(old)

    def list_keys(self, prefix: str, now: datetime) -> list[str]:
        return sorted(
            key
            for key, record in self.records.items()
            if key.startswith(prefix) and record.is_there(now)
        )

    def list_due(self, prefix: str, now: datetime, due_before: datetime) -> list[str]:
        dues = {key: self.records[key].due for key in self.list_keys(prefix, now)}
        undated = [key for key, due in dues.items() if due is None]
        overdue = [(due, key) for key, due in dues.items() if due and due <= due_before]
        return undated + [key for due, key in sorted(overdue) if due != NEVER]

    def find_marked(self, word: str, now: datetime) -> list[tuple[int, str]]:
        """Return rank and key of what is found under *word*, in their order."""
        return sorted(
            (record.rank, key)
            for key, record in self.records.items()
            if word in record.marks and record.is_there(now)
        )

    def changes(self, after: int) -> list[RecordChange]:
        keys: defaultdict[int, list[str]] = defaultdict(list)
        for told in (self.records, self.tombstones):
            for key, trace in told.items():
                keys[trace.revision].append(key)
        return [
            RecordChange(revision, tuple(sorted(keys[revision])))
            for revision in sorted(keys)
            if revision > after
        ]

    def _apply(self, operation: Put | Delete, revision: int, now: datetime) -> None:
        match operation:
            case Put(key, value, _, due, expires_at, marks, rank):
                self.records[key] = Record(value, revision, due, expires_at, marks, rank)
                self.tombstones.pop(key, None)
            case Delete(key):
                self.records.pop(key, None)
                self.tombstones[key] = Tombstone(revision, now)
