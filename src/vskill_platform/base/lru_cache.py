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

    def __init__(self, *, capacity: int, size_of: Callable[[Value], int]) -> None:
        self._capacity = capacity
        self._size_of = size_of
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def keep(self, key: Key, value: Value) -> None:
        size = self._size_of(value)
        if key in self._values or size > self._capacity:
            return
        self._values[key] = value
        self._size += size
        while self._size > self._capacity:
            _, oldest = self._values.popitem(last=False)
            self._size -= self._size_of(oldest)
