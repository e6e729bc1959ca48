"""One write transaction: its revision, its timestamp, and a corrected clock."""

from collections.abc import Sequence
from typing import Any

import apsw

from vskill_platform.engines.sqlite.connection import SQL

#: A clock that goes back by more than this has jumped; less is jitter.
CLOCK_TOLERANCE_MICROS = 5_000_000


class Refused(Exception):
    """An expectation did not hold; this caller's writes are rolled back."""


class Transaction:
    def __init__(self, connection: apsw.Connection, now: int) -> None:
        self._connection = connection
        self.now = now
        self.revision, latest_at, self.trimmed_through, self._paused_at, self.paused_until = (
            self.one("read_state")
        )
        self._first_revision = self.revision
        if now < latest_at - CLOCK_TOLERANCE_MICROS:
            self._correct_clock()

    @property
    def is_paused(self) -> bool:
        return bool(self._paused_at <= self.now < self.paused_until)

    def run(self, query: str, **bindings: Any) -> apsw.Cursor:
        return self._connection.execute(SQL[query], bindings)

    def run_text(self, statement: str, bindings: Sequence[Any]) -> None:
        """Run a generated statement that returns nothing."""
        self._connection.execute(statement, bindings)

    def one(self, query: str, **bindings: Any) -> Any:
        """Return the first row; the query must have one."""
        (row,) = self.run(query, **bindings).fetchall()
        return row

    def must(self, query: str, **bindings: Any) -> Any:
        """Return the first row; if there is none, this commit is not applied."""
        rows = self.run(query, **bindings).fetchall()
        if not rows:
            raise Refused
        return rows[0]

    def next_revision(self) -> int:
        self.revision += 1
        return int(self.revision)

    def finish(self) -> None:
        self.run("write_state", revision=self.revision, now=self.now)
        if self.revision != self._first_revision:
            self.run("add_commit_mark", revision=self.revision)

    def _correct_clock(self) -> None:
        """After the clock was ahead, correct times that were computed from it.

        Leases and delays that would end too late are ended; fencing keeps that safe.
        """
        self.run("heal_messages", now=self.now)
        self.run("heal_due", now=self.now)
        self.run("heal_pause", now=self.now)
        self.run("heal_latest", now=self.now)
