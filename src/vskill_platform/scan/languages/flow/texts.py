"""Calls that only reshape text, lists and paths: known values stay known."""

import ast
from typing import cast

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.flow.decoding import decode_by_name, mark
from vskill_platform.scan.languages.flow.secrets import (
    copy_variables,
    owner_of,
    read_variable,
    take_entry,
)
from vskill_platform.scan.languages.flow.state import Call, Flow, Function, LexicalScope
from vskill_platform.scan.languages.flow.values import (
    HOLE,
    MAX_NAME,
    UNKNOWN,
    TaintSource,
    Value,
    any_of,
    concatenate,
    tainted,
    with_name,
)

_MAX_PIECES = 400
#: Functions that convert many values to one text, to store or send it.
_PACKING = frozenset({"dumps", "stringify", "dump"})


#: A list of more texts is not evaluated item by item.
_MAX_TEXTS = 64


def same_argument(_flow: Flow, call: Call) -> Value | None:
    """str(x), Path(x), expanduser(x): still x."""
    if len(call.args) > 1 and call.method in _PATHS:
        return concatenate(call.args, "/")
    if not call.args:
        return with_name(f"{call.name}()")
    given = call.args[0]
    return Value(
        text=given.text, taints=given.taints, items=given.items, fields=given.fields,
        name=given.name or f"{call.name}:{call.line}"[:MAX_NAME],
    )  # fmt: skip


_PATHS = frozenset({"Path", "PurePath", "PosixPath"})


def same_receiver(_flow: Flow, call: Call) -> Value | None:
    """x.strip(), x.encode(), x.resolve(): still x."""
    base = call.receiver
    if base.text is None and base.items is None and not base.taints:
        return None
    return Value(text=base.text, taints=base.taints, items=base.items, name=base.name)


def text_of(flow: Flow, call: Call) -> Value | None:
    """x.toString('base64'), x.decode('hex'): x, unless it is decoded by the name of an encoding."""
    if call.args and call.method == "decode":
        made = Call(call.node, call.name, "", UNKNOWN, [call.receiver, call.args[0]], {})
        return decode_by_name(flow, made)
    return same_receiver(flow, call)


def join_path(_flow: Flow, call: Call) -> Value | None:
    return concatenate(call.args, "/")


def join_receiver(_flow: Flow, call: Call) -> Value | None:
    """path.joinpath(a, b)."""
    return concatenate([call.receiver, *call.args], "/")


def join(_flow: Flow, call: Call) -> Value | None:
    """'-'.join(items), and items.join('-') in JavaScript."""
    items, between = call.arg(0), call.receiver
    if call.receiver.items is not None:
        items, between = call.receiver, call.arg(0)
    if items.items is None:
        if between.text is None:
            return None
        return Value(text=items.text if items.text != "*" else None, taints=items.taints)
    joined = concatenate(list(items.items), between.text or "")
    return joined.having(items.taints)


def join_texts(_flow: Flow, call: Call) -> Value | None:
    """'a'.concat('b'), [a].concat([b])."""
    if call.receiver.items is not None:
        more = [item for arg in call.args for item in (arg.items or (arg,))]
        return Value(items=(*call.receiver.items, *more), taints=call.taints())
    return concatenate([call.receiver, *call.args])


def replace(_flow: Flow, call: Call) -> Value | None:
    base = call.receiver
    old, new = call.arg(0), call.arg(1)
    if not (base.is_known() and old.is_known() and new.is_known() and old.text):
        return Value(taints=call.taints(), text=base.text, name=base.name)
    text = (base.text or "").replace(old.text, new.text or "")
    return Value(text=text[:300_000], taints=base.taints)


def fill_in(_flow: Flow, call: Call) -> Value | None:
    """'… {} …'.format(x)."""
    pieces = (call.receiver.text or "").split("{", _MAX_PIECES)
    if call.receiver.text is None:
        return None
    parts = [Value(text=pieces[0])]
    for place, piece in enumerate(pieces[1:]):
        key, _, rest = piece.partition("}")
        key = key.partition(":")[0].partition("!")[0]
        given = call.named.get(key, UNKNOWN)
        if key.isdecimal() or not key:
            given = call.arg(int(key) if key and len(key) < 4 else place)  # noqa: PLR2004 - sane
        parts += [given, Value(text=rest)]
    return concatenate(parts).having(call.taints())


def reverse(_flow: Flow, call: Call) -> Value | None:
    base = call.receiver if call.receiver.items is not None else call.arg(0)
    if base.items is not None:
        return Value(items=base.items[::-1], taints=mark(base.taints))
    if base.is_known() and base.text:
        return Value(text=base.text[::-1], taints=mark(base.taints))
    return None


def split(flow: Flow, call: Call) -> Value | None:
    base = call.receiver
    if call.arg(0).text in {"=", ":"} and base.taints:  # a name and its value: one entry
        return take_entry(flow, base, HOLE, call.line) or Value(taints=base.taints)
    if not base.is_known() or base.text is None or len(base.text) > 20_000:  # noqa: PLR2004 - sane
        return Value(taints=base.taints)
    between = call.arg(0).text
    pieces = list(base.text) if between == "" else base.text.split(between)
    return Value(
        items=tuple(Value(text=piece, taints=base.taints) for piece in pieces), taints=base.taints
    )


def map_items(flow: Flow, call: Call) -> Value | None:
    """map(chr, numbers), numbers.map(String.fromCharCode)."""
    function, items = call.arg(0), call.arg(1) if call.name == "map" else call.receiver
    if isinstance(function.function, Function) and items.items:
        return _map_known(flow, function.function, items.items)
    decoder = flow.calls.get(function.name) if function.name else None
    if function.name not in {"chr", "String.fromCharCode"} or decoder is None or not items.items:
        return None
    made = [
        decoder(flow, Call(call.node, function.name, function.name, UNKNOWN, [item], {})) or UNKNOWN
        for item in items.items
    ]
    return Value(items=tuple(made), taints=tainted(*made))


def _map_known(flow: Flow, function: Function, items: tuple[Value, ...]) -> Value | None:
    """numbers.map(n => String.fromCharCode(n ^ 7)), names.map(n => path.join(home, n))."""
    body = function.body[0] if len(function.body) == 1 else None
    is_simple = isinstance(body, ast.Return) and body.value is not None and function.params
    if not is_simple or not all(map(_is_known, items)):
        return None
    if len(items) > _MAX_TEXTS and any(item.number is None for item in items):
        return None
    outer, flow.scope = flow.scope, LexicalScope(function.scope)
    made: list[Value] = []
    for item in items:
        flow.scope.names[function.params[0]] = item
        made.append(flow.evaluate(cast("ast.expr", cast("ast.Return", body).value)))
    flow.scope = outer
    return Value(items=tuple(made), taints=tainted(*made))


def _is_known(item: Value) -> bool:
    return item.number is not None or (item.text is not None and item.items is None)


def numbers(_flow: Flow, call: Call) -> Value | None:
    """range(a, b), not expanded if too long; ord('a')."""
    given = call.arg(0)
    if call.name == "ord" and given.text and len(given.text) == 1:
        return Value(number=ord(given.text), text=str(ord(given.text)), taints=given.taints)
    return Value(taints=given.taints)


def entry(flow: Flow, call: Call) -> Value | None:
    """mapping.get(key): an entry of the environment, a secrets file or a known mapping."""
    base, key = call.receiver, call.arg(0)
    if base.fields is not None and key.is_known():
        return base.fields.get(key.text or "", call.arg(1))
    found = take_entry(flow, base, key.text or HOLE, line=call.line)
    if found is None:
        return None
    return any_of([found, call.arg(1)]) if not found.taints else found


def group(flow: Flow, call: Call) -> Value | None:
    """match.group(1): a part of a file, not all of it."""
    return take_entry(flow, call.receiver, HOLE, call.line)


def variable(flow: Flow, call: Call) -> Value | None:
    """os.getenv(name, default)."""
    found = read_variable(flow, call.arg(0, "key"), call.line)
    default = call.arg(1, "default")
    return Value(text=found.text or default.text, taints=found.taints, name=found.name)


def copy(flow: Flow, call: Call) -> Value | None:
    """dict(os.environ), os.environ.copy(), os.environ.items()."""
    own = call.receiver
    base = own if own.taints or own.fields or own.items else call.arg(0)
    if not any(taint.source is TaintSource.ALL_ENV for taint in base.taints):
        if call.receiver is UNKNOWN or call.method == "items":
            fields = {**(base.fields or {}), **call.named} or None
            return Value(taints=call.taints(), items=base.items, fields=fields, text=base.text)
        if call.method == "values" and base.fields:
            return Value(taints=base.taints, items=tuple(base.fields.values()))
        return same_receiver(flow, call)
    return Value(taints=copy_variables(flow, call.line, base.taints))


def write_out(flow: Flow, call: Call) -> Value | None:
    """json.dumps(os.environ), print(os.environ): all of it in one text."""
    given = tainted(*call.args)
    if any(taint.source is TaintSource.ALL_ENV and not taint.detail for taint in given):
        flow.add(Act.READ_ALL_ENV, call.line)
    names = {taint.detail for taint in given if taint.source is TaintSource.ENV}
    if call.method in _PACKING and len({owner_of(name) for name in names}) > 1:
        flow.add(Act.GATHER, call.line, detail=", ".join(sorted(names)[:8]))
    first = call.arg(0)
    return Value(taints=call.taints(), text=first.text if first.fields is None else None)
