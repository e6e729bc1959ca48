"""Assignments: store values under names, attributes and entries."""

import ast

from vskill_platform.scan.languages.flow.operators import note_alias
from vskill_platform.scan.languages.flow.own_code import load_variable
from vskill_platform.scan.languages.flow.secrets import as_whole_file
from vskill_platform.scan.languages.flow.state import Call, Flow
from vskill_platform.scan.languages.flow.values import MAX_NAME, Value, any_of

#: How many entries of a collection are known by key; each entry copies the others.
_MAX_FIELDS = 2_000


def element_of(whole: Value) -> Value:
    """Return what is known about an arbitrary element of a collection."""
    if whole.items is not None:
        return any_of(whole.items).having(whole.taints)
    if whole.fields:
        keys = any_of([Value(text=key) for key in list(whole.fields)[:32]])
        return Value(text=keys.text, items=(keys, any_of(list(whole.fields.values()))),
                     taints=whole.taints)  # fmt: skip
    is_file = whole.name == "file"  # its text is the path, not its content
    return Value(
        text=None if is_file else whole.text, taints=whole.taints,
        name=f"{whole.name}[]"[:MAX_NAME] if whole.name and not is_file else "",
    )  # fmt: skip


def assign(flow: Flow, target: ast.AST, value: Value, *, outward: bool = False) -> None:
    """Store a value in the target of an assignment."""
    if isinstance(target, ast.Name):
        flow.bind(target.id, value, outward=outward)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _spread(flow, target.elts, value, outward=outward)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(flow, target, value)
    elif isinstance(target, ast.Subscript):
        _assign_entry(flow, target, value)
    elif isinstance(target, ast.Starred):
        assign(flow, target.value, Value(taints=value.taints), outward=outward)


def _spread(flow: Flow, targets: list[ast.expr], value: Value, *, outward: bool) -> None:
    items = value.items if value.items is not None and len(value.items) == len(targets) else None
    for place, part in enumerate(targets):
        known = items[place] if items else Value(text=value.text, taints=value.taints)
        assign(flow, part, known, outward=outward)


def _assign_attribute(flow: Flow, target: ast.Attribute, value: Value) -> None:
    base = flow.evaluate(target.value)
    if base.name:
        flow.set_dotted(f"{base.name}.{target.attr}", value)
        note_alias(flow, target.lineno, target.attr, value)
    setter = flow.methods.get(f"{target.attr}=")
    if setter is not None:
        node = ast.Call(func=target, args=[], keywords=[], lineno=target.lineno)
        setter(flow, Call(node, base.name, target.attr, base, [value], {}))
    if not base.name or value.taints:
        fill(flow, target.value, base, value, target.attr)


def _assign_entry(flow: Flow, target: ast.Subscript, value: Value) -> None:
    base = flow.evaluate(target.value)
    key = flow.evaluate(target.slice)
    if base.name in {"os.environ", "process.env"}:
        load_variable(flow, target.lineno, key.text or "", value)
        return
    if not key.is_known():
        value = Value(taints=as_whole_file(value.taints))
    fill(flow, target.value, base, value, key.text if key.is_known() else None)


def fill(flow: Flow, node: ast.AST, base: Value, value: Value, key: str | None = None) -> None:
    """Record that *value* was added to the collection that *node* names."""
    fields = base.fields
    if key is not None and len(fields or ()) < _MAX_FIELDS:
        fields = {**(fields or {}), key: value}
    elif key is not None:
        flow.is_cut = True
    changed = Value(
        text=base.text, name=base.name, taints=base.taints | value.taints, items=base.items,
        fields=fields, function=base.function,
    )  # fmt: skip
    if isinstance(node, ast.Name):
        flow.scope.holder(node.id).names[node.id] = changed
    elif isinstance(node, ast.Attribute):
        owner = flow.evaluate(node.value)
        if owner.name:
            flow.set_dotted(f"{owner.name}.{node.attr}", changed)
    elif isinstance(node, ast.Subscript):  # a part belongs to the whole
        owner, place = flow.evaluate(node.value), flow.evaluate(node.slice)
        fill(flow, node.value, owner, changed, place.text if place.is_known() else None)
