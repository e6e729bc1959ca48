"""Every connection that is opened and every statement that it executes, seen by a test."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


class SpiedConnections:
    def __init__(self) -> None:
        self.opened: list[apsw.Connection] = []
        self.statements: list[str] = []

    def __call__(self, connection: apsw.Connection) -> None:
        self.opened.append(connection)
        connection.exec_trace = self._see

    def count(self, text: str) -> int:
        return sum(text in statement for statement in self.statements)

    def _see(self, _cursor: apsw.Cursor, statement: str, _bindings: object) -> bool:
        self.statements.append(statement)
        return True


@contextmanager
def spied_connections() -> Iterator[SpiedConnections]:
    """See what the connections that are opened inside execute."""
    spy = SpiedConnections()
    apsw.connection_hooks.append(spy)
    try:
        yield spy
    finally:
        apsw.connection_hooks.remove(spy)
