"""Abstract values: what is known about a value without running the program: text, name, origin."""

from enum import StrEnum
from itertools import product
from typing import NamedTuple

import msgspec

#: Placeholder in a text for a part that is only known at run time.
HOLE = "\ufffc"
#: Separator of alternative texts of one value.
OR = "\ufff9"
MAX_CHARACTERS = 300_000
MAX_NAME = 160
_MAX_OPTIONS = 24
_MAX_OPTION_CHARACTERS = 600


class TaintSource(StrEnum):
    """The origin of a value, if it matters."""

    REMOTE = "remote"
    DECODED = "decoded"
    SECRET = "secret"  # noqa: S105 - a source
    PART = "part"  #: one entry of a secrets file, as a client of that service needs it
    ENV = "variable"
    ALL_ENV = "variables"
    SOCKET = "socket"


class Taint(NamedTuple):
    source: TaintSource
    detail: str = ""
    host: str | None = None


Taints = frozenset[Taint]
NO_TAINTS: Taints = frozenset()


def in_order(taints: Taints) -> list[Taint]:
    """Return them in the same order in every process, because the number of facts is limited."""
    return sorted(taints, key=lambda taint: (taint.source, taint.detail, taint.host or ""))


class Value(msgspec.Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """What is known about one value; without reference cycles after a flow was released."""

    text: str | None = None
    #: Its name; `with_name` sets names that a program could make very long.
    name: str = ""
    taints: Taints = NO_TAINTS
    items: "tuple[Value, ...] | None" = None
    fields: "dict[str, Value] | None" = None
    function: object = None
    number: int | None = None

    def is_same(self, other: "Value") -> bool:
        return self is other or (
            self.text == other.text
            and self.name == other.name
            and self.taints == other.taints
            and self.function is other.function
            and (self.items is None) == (other.items is None)
        )

    def having(self, taints: Taints) -> "Value":
        """Return this value with *taints* added."""
        if taints <= self.taints:
            return self
        return Value(
            text=self.text, name=self.name, taints=self.taints | taints, items=self.items,
            fields=self.fields, function=self.function, number=self.number,
        )  # fmt: skip

    def is_known(self) -> bool:
        """Return whether the whole text is known."""
        return self.text is not None and HOLE not in self.text and OR not in self.text


UNKNOWN = Value()


#: The objects of JavaScript whose attributes are the global names.
_GLOBAL_OBJECTS = frozenset({"globalThis", "global"})


def member_name(base: str, attr: str) -> str:
    """Return the name of an attribute; those of the global object need no prefix."""
    return attr if base in _GLOBAL_OBJECTS else f"{base}.{attr}"


def with_name(name: str, taints: Taints = NO_TAINTS) -> Value:
    """Return a value with a known name; cut a name that keeps growing."""
    return Value(name=name[:MAX_NAME], taints=taints)


def tainted(*values: Value) -> Taints:
    """Return the origins of *values*."""
    found = NO_TAINTS
    for value in values:
        if value.taints:
            found = found | value.taints if found else value.taints
    return found


def options(text: str) -> list[str]:
    return text.split(OR)


def shown(text: str) -> str:
    """Return *text* for people and patterns, one alternative per line."""
    return text.replace(OR, "\n") if OR in text else text


def either(one: Value, other: Value) -> Value:
    """Return what is known about a value that is *one* or *other*."""
    if one is other or other is UNKNOWN:
        return one
    if one is UNKNOWN:
        return other
    return Value(
        text=_either_text(one.text, other.text),
        name=other.name or one.name,
        taints=one.taints | other.taints,
        items=_longer(one.items, other.items),
        fields={**one.fields,
        **other.fields} if one.fields and other.fields else one.fields or other.fields,
        function=other.function or one.function,
        number=one.number if one.number == other.number else None,
    )  # fmt: skip


def _longer(
    one: tuple[Value, ...] | None, other: tuple[Value, ...] | None
) -> tuple[Value, ...] | None:
    if one is None or other is None:
        return one if other is None else other
    return other if len(other) > len(one) else one


def _either_text(one: str | None, other: str | None) -> str | None:
    if not one or not other or one == other:
        return one or other
    known = options(one)
    fresh = [text for text in options(other) if text not in known]
    if not fresh or len(known) + len(fresh) > _MAX_OPTIONS:
        return one
    return OR.join([*known, *fresh])


def any_of(values: tuple[Value, ...] | list[Value]) -> Value:
    """Return what is known about a value that is one of *values*."""
    found = UNKNOWN
    for value in values[: _MAX_OPTIONS * 4]:
        found = either(found, value)
    return found


def concatenate(values: list[Value], between: str = "") -> Value:
    """Return the concatenated text of *values*."""
    texts = [HOLE if value.text is None else value.text for value in values]
    taints = tainted(*values)
    if sum(map(len, texts)) > MAX_CHARACTERS:
        return Value(taints=taints)
    joined = between.join(texts)
    if OR in joined and any(OR in text for text in texts):
        return Value(text=_each_of(texts, between), taints=taints)
    is_empty = bool(texts) and not joined.strip(HOLE)
    return Value(text=None if is_empty else joined, taints=taints)


def _each_of(texts: list[str], between: str) -> str:
    ways = []
    for way in product(*(options(text) for text in texts)):
        ways.append(between.join(way)[:_MAX_OPTION_CHARACTERS])
        if len(ways) == _MAX_OPTIONS:
            break
    return OR.join(ways)
