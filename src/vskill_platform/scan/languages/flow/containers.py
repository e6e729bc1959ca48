"""Values of lists, mappings and comprehensions."""

import ast

from vskill_platform.scan.languages.flow.assign import assign, element_of
from vskill_platform.scan.languages.flow.secrets import as_whole_file, copy_variables
from vskill_platform.scan.languages.flow.state import Flow
from vskill_platform.scan.languages.flow.values import NO_TAINTS, UNKNOWN, Value, tainted

_MAX_ITEMS = 20_000
_MAX_TEXTS = 64


def sequence(flow: Flow, node: ast.List) -> Value:
    items: list[Value] = []
    for part in node.elts[:_MAX_ITEMS]:
        if isinstance(part, ast.Starred):
            whole = flow.evaluate(part.value)
            items.extend(whole.items if whole.items is not None else (Value(taints=whole.taints),))
        else:
            items.append(flow.evaluate(part))
    return Value(items=tuple(items), taints=tainted(*items))


def mapping(flow: Flow, node: ast.Dict) -> Value:
    fields: dict[str, Value] = {}
    taints = NO_TAINTS
    for key, part in zip(node.keys, node.values, strict=False):
        value = flow.evaluate(part)
        if key is None:
            fields.update(value.fields or {})
            taints |= copy_variables(flow, node.lineno, value.taints)
        else:
            taints |= value.taints
            known = flow.evaluate(key)
            taints |= known.taints
            if known.text is not None:
                fields[known.text] = value
    return Value(fields=fields, taints=taints)


def _iterated(flow: Flow, node: ast.expr) -> Value:
    whole = flow.evaluate(node)
    if whole.name in {"os.environ", "process.env"}:
        return Value(taints=copy_variables(flow, node.lineno, whole.taints))
    return whole


def comprehension(flow: Flow, node: ast.ListComp) -> Value:
    source = UNKNOWN
    for generator in node.generators:
        source = _iterated(flow, generator.iter)
        assign(flow, generator.target, element_of(source))
        for test in generator.ifs:
            flow.evaluate(test)
    generator = node.generators[0]
    is_listed = len(node.generators) == 1 and not generator.ifs and source.items is not None
    if is_listed and _are_known(source.items or ()):
        items = []
        for item in source.items or ():
            assign(flow, generator.target, item)
            items.append(flow.evaluate(node.elt))
        return Value(items=tuple(items), taints=tainted(*items))
    element = flow.evaluate(node.elt)
    return Value(text=element.text, taints=element.taints | source.taints)


def _are_known(items: tuple[Value, ...]) -> bool:
    """Return whether a list is evaluated item by item: one of numbers, or of a few texts."""
    if all(item.number is not None for item in items):
        return True
    return len(items) <= _MAX_TEXTS and all(item.text is not None for item in items)


def dictionary_comprehension(flow: Flow, node: ast.DictComp) -> Value:
    for generator in node.generators:
        assign(flow, generator.target, element_of(_iterated(flow, generator.iter)))
        for test in generator.ifs:
            flow.evaluate(test)
    flow.evaluate(node.key)
    return Value(taints=as_whole_file(flow.evaluate(node.value).taints))
