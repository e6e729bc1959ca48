"""What was worked out lately and will be asked for again, kept up to a size."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """For one event loop. Who keeps something here names it by its content, so it never ages."""

    def __init__(self, *, room: int, weigh: Callable[[Value], int]) -> None:
        self._room = room
        self._weigh = weigh
        self._kept: OrderedDict[Key, Value] = OrderedDict()
        self._weight = 0

    def get(self, key: Key) -> Value | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: Key, value: Value) -> None:
        weight = self._weigh(value)
        if key in self._kept or weight > self._room:
            return
        self._kept[key] = value
        self._weight += weight
        while self._weight > self._room:
            _, oldest = self._kept.popitem(last=False)
            self._weight -= self._weigh(oldest)
