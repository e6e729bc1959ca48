"""A cache whose entries are valid until the data they came from changes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class VersionedCache(Generic[Key, Value]):
    """For one event loop. Read the version before the query runs, not after."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._version = -1
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key, version: int) -> Value | None:
        self._turn_to(version)
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def keep(self, key: Key, value: Value, version: int) -> None:
        """Cache a value, unless the data has changed since *version*."""
        if version != self._version:
            return
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._room:
            self._values.popitem(last=False)

    def _turn_to(self, version: int) -> None:
        if version != self._version:
            self._version = version
            self._values.clear()
