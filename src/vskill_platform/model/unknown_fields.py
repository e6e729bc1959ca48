"""Fields of a record that this release does not know: set aside when read, restored when written.

While nodes are upgraded one after the other, a newer node may have written them. A tree is what a
JSON decoder returns: dicts, lists and plain values.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

Json = Any


class Unknown(msgspec.Struct):
    """The unknown fields in a tree, with their positions."""

    #: Those of this object.
    fields: dict[str, Json] = msgspec.field(default_factory=dict)
    #: Those of objects below it, by the name of its field.
    below: dict[str, "Unknown"] = msgspec.field(default_factory=dict)
    #: Those of the items of a list, each with the known part of its item.
    items: list[tuple[Json, "Unknown"]] = msgspec.field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.fields or any(self.below.values()) or any(one for _, one in self.items))


def split_unknown(tree: Json, kind: Any) -> tuple[Json, Unknown]:
    """Return the tree with only the fields that *kind* has, and the unknown fields."""
    return _split(tree, _type_info(kind))


def restore_unknown(tree: Json, unknown: Unknown) -> Json:
    """Return the tree of a changed record with its unknown fields restored.

    An item of a list gets them back if it is unchanged, or if the list has as many items as before
    and another item took its position.
    """
    if isinstance(tree, dict):
        restored = {
            name: restore_unknown(value, unknown.below[name]) if name in unknown.below else value
            for name, value in tree.items()
        }
        return {**unknown.fields, **restored}
    if isinstance(tree, list) and unknown.items:
        return _restore_items(tree, unknown.items)
    return tree


def _restore_items(tree: list[Json], items: Sequence[tuple[Json, Unknown]]) -> list[Json]:
    left = list(items)
    found: list[Unknown | None] = []
    for item in tree:
        at = next((number for number, (known, _) in enumerate(left) if known == item), None)
        found.append(left.pop(at)[1] if at is not None else None)
    if len(tree) == len(items):
        found = [
            one if one is not None or items[number] not in left else items[number][1]
            for number, one in enumerate(found)
        ]
    return [
        restore_unknown(item, one) if one else item for item, one in zip(tree, found, strict=True)
    ]


@cache
def _type_info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _split(tree: Json, kind: inspect.Type) -> tuple[Json, Unknown]:
    if isinstance(tree, dict):
        children = _fields_of(tree, kind)
        if children is None:
            return tree, Unknown()
        known, unknown = {}, Unknown()
        for name, value in tree.items():
            if name in children:
                known[name], below = _split(value, children[name])
                if below:
                    unknown.below[name] = below
            else:
                unknown.fields[name] = value
        return known, unknown
    if isinstance(tree, list):
        parts = [
            _split(item, inner) for item, inner in zip(tree, _items_of(tree, kind), strict=True)
        ]
        has_any = any(unknown for _, unknown in parts)
        return [known for known, _ in parts], Unknown(items=parts if has_any else [])
    return tree, Unknown()


def _fields_of(tree: Mapping[str, Json], kind: inspect.Type) -> dict[str, inspect.Type] | None:
    """Return the types of an object's fields; None if it has no fixed fields."""
    for one in _alternatives(kind):
        if isinstance(one, inspect.StructType):
            names = {field.encode_name: field.type for field in one.fields}
            if one.tag_field is None:
                return names
            if tree.get(one.tag_field) == one.tag:
                return names | {one.tag_field: inspect.AnyType()}
        if isinstance(one, inspect.DictType):
            return dict.fromkeys(tree, one.value_type)
    return None


def _items_of(tree: Sequence[Json], kind: inspect.Type) -> Sequence[inspect.Type]:
    for one in _alternatives(kind):
        if isinstance(one, inspect.CollectionType):
            return [one.item_type] * len(tree)
        if isinstance(one, inspect.TupleType) and len(one.item_types) == len(tree):
            return one.item_types
    return [inspect.AnyType()] * len(tree)


def _alternatives(kind: inspect.Type) -> Sequence[inspect.Type]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)
