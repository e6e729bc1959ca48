"""Nodes of two releases on one database keep each other's unknown fields."""

import importlib
import pkgutil
from collections.abc import Iterator
from enum import EnumType
from typing import Any

import msgspec
from msgspec import inspect

import vskill_platform.model
import vskill_platform.stores
from tests.cases import all_cases
from tests.clocks import NOON
from vskill_platform.access.users import add_user, disable_user
from vskill_platform.engines.operations import NEVER, Put
from vskill_platform.model.record import RECORD_FORMAT, Record
from vskill_platform.model.skill import SkillFile
from vskill_platform.model.unknown_fields import restore_unknown, split_unknown
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import commit
from vskill_platform.stores.node_store import Node, all_nodes_know, put_node
from vskill_platform.stores.records import encode, get_record

NEWER = {"of_a_newer_release": {"any": ["thing"]}}
PLAIN: dict[type, Any] = {
    inspect.StrType: "a",
    inspect.IntType: 1,
    inspect.FloatType: 1.5,
    inspect.BoolType: True,
    inspect.BytesType: "YQ==",
    inspect.NoneType: None,
    inspect.DateTimeType: "2026-03-14T12:00:00Z",
    inspect.DateType: "2026-03-14",
    inspect.TimeDeltaType: "PT1S",
    inspect.AnyType: {},
}


def _kinds(of: type[Record] = Record) -> Iterator[type[Record]]:
    for kind in of.__subclasses__():
        yield kind
        yield from _kinds(kind)


def _all_kinds() -> list[type[Record]]:
    for package in (vskill_platform.model, vskill_platform.stores):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    ours = {kind for kind in _kinds() if kind.__module__.startswith("vskill_platform.")}
    return sorted(ours, key=lambda kind: kind.__name__)


def a_tree(kind: inspect.Type, more: dict[str, Any]) -> Any:
    """Return what a record may look like in JSON, with some fields *more* in every object."""
    tree: Any = PLAIN.get(type(kind))
    match kind:
        case inspect.StructType(fields=fields):
            tree = {field.encode_name: a_tree(field.type, more) for field in fields} | more
        case inspect.UnionType(types=types):
            tree = a_tree(next(one for one in types if type(one) is not inspect.NoneType), more)
        case inspect.CollectionType(item_type=item):
            tree = [a_tree(item, more)]
        case inspect.TupleType(item_types=items):
            tree = [a_tree(item, more) for item in items]
        case inspect.DictType(key_type=key, value_type=value):
            tree = {a_tree(key, more): a_tree(value, more)}
        case inspect.EnumType(cls=cls):
            assert isinstance(cls, EnumType)
            tree = next(iter(cls)).value
        case inspect.LiteralType(values=values):
            tree = values[0]
    return tree


@all_cases("kind", _all_kinds(), ids=lambda kind: kind.__name__)
async def test_a_record_keeps_fields_that_it_does_not_know(
    bound: WorkerEnv, kind: type[Record]
) -> None:
    of_newer = a_tree(inspect.type_info(kind), NEWER)
    of_ours = a_tree(inspect.type_info(kind), {})
    await commit([Put("a-record", msgspec.json.encode(of_newer), due=NEVER)])

    stored = await get_record("a-record", kind)
    assert stored
    put = Put("a-record", encode(stored.record), expected=stored.revision, due=NEVER)
    await commit([put])

    assert stored.record == msgspec.json.decode(msgspec.json.encode(of_ours), type=kind)
    assert await _raw(bound, "a-record") == of_newer


async def _raw(env: WorkerEnv, key: str) -> Any:
    entry = await env.engine.kv.get(key)
    assert entry
    return msgspec.json.decode(entry.value)


async def test_a_change_keeps_them(bound: WorkerEnv) -> None:
    await add_user("ada", Role.PUBLISHER, actor="test")
    (key,) = (await bound.engine.kv.list_keys("user:")).keys
    before = await _raw(bound, key) | {"nickname": "the countess"}
    await commit([Put(key, msgspec.json.encode(before), due=NEVER)])

    await disable_user("ada", actor="cyd")

    after = await _raw(bound, key)
    assert (after["nickname"], before["is_disabled"], after["is_disabled"]) == (
        "the countess",
        False,
        True,
    )


async def test_a_record_that_replaces_another_unread_has_only_its_own_fields(
    bound: WorkerEnv,
) -> None:
    node = _a_node("a", RECORD_FORMAT)
    newer = msgspec.json.decode(encode(node)) | NEWER
    await commit([Put("node:a", msgspec.json.encode(newer), due=NEVER)])
    assert await get_record("node:a", Node)

    await put_node(node)

    assert await _raw(bound, "node:a") == msgspec.json.decode(encode(node))


def test_items_of_a_list_keep_theirs_wherever_they_are_moved() -> None:
    files = [{"path": name, "size": 1, "sha256": "0", "more": name} for name in "abc"]
    known, unknown = split_unknown(files, list[SkillFile])
    changed = {**known[1], "size": 2}

    moved = restore_unknown([known[2], known[0]], unknown)
    one_changed = restore_unknown([known[0], changed, known[2]], unknown)

    assert moved == [files[2], files[0]]
    assert one_changed == [files[0], {**changed, "more": "b"}, files[2]]


async def test_something_new_is_written_once_every_node_knows_it(bound: WorkerEnv) -> None:
    await put_node(_a_node("new", RECORD_FORMAT))
    alone = await all_nodes_know(RECORD_FORMAT)
    await put_node(_a_node("old", RECORD_FORMAT - 1))

    beside_an_older_one = await all_nodes_know(RECORD_FORMAT)

    assert (alone, beside_an_older_one) == (True, False)


def _a_node(name: str, record_format: int) -> Node:
    return Node(
        node=name,
        started_at=NOON,
        beat_at=NOON,
        roles=("web",),
        version="1.0.0",
        rules="r",
        policy="",
        record_format=record_format,
    )
