"""A cache of limited size that evicts the least recently used values first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """Bounded by the total size of its values, unlike functools.lru_cache, which counts them.

    For one event loop. A key names content that never changes (a digest), so nothing expires.
    """

    def __init__(self, *, room: int, weigh: Callable[[Value], int]) -> None:
        self._room = room
        self._weigh = weigh
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._weight = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def keep(self, key: Key, value: Value) -> None:
        weight = self._weigh(value)
        if key in self._values or weight > self._room:
            return
        self._values[key] = value
        self._weight += weight
        while self._weight > self._room:
            _, oldest = self._values.popitem(last=False)
            self._weight -= self._weigh(oldest)
