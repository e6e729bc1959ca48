"""Evaluate expressions as far as their values are known."""

import ast
from collections.abc import Callable
from typing import Any

from vskill_platform.scan.languages.flow.assign import assign
from vskill_platform.scan.languages.flow.containers import (
    comprehension,
    dictionary_comprehension,
    mapping,
    sequence,
)
from vskill_platform.scan.languages.flow.invoke import call
from vskill_platform.scan.languages.flow.names import find_by_key
from vskill_platform.scan.languages.flow.operators import call_binary, call_contains, call_entry
from vskill_platform.scan.languages.flow.secrets import take_entry
from vskill_platform.scan.languages.flow.state import Flow, Function
from vskill_platform.scan.languages.flow.values import (
    HOLE,
    UNKNOWN,
    Taint,
    TaintSource,
    Value,
    any_of,
    concatenate,
    either,
    member_name,
    tainted,
    with_name,
)

_DECODED = frozenset({Taint(TaintSource.DECODED)})
_MAX_ITEMS = 20_000
#: Attributes with the same result for every value: `(lambda: 0).__globals__`.
_OF_ANYTHING = {"__globals__": "globals()", "constructor": "constructor"}


class Closure(ast.expr):
    """A function written as an expression, with statements inside."""

    _fields = ()

    def __init__(self, params: list[str], body: list[ast.stmt], lineno: int) -> None:
        super().__init__(lineno=lineno)
        self.params = params
        self.body = body


class Steps(ast.expr):
    """Several steps as one expression; all are executed, and the last one is the value."""

    _fields = ()

    def __init__(self, steps: list[ast.stmt], value: ast.expr, lineno: int) -> None:
        super().__init__(lineno=lineno)
        self.steps = steps
        self.value = value


def constant(_flow: Flow, node: ast.Constant) -> Value:
    raw = node.value
    if raw.__class__ is str:
        return Value(text=raw)
    if isinstance(raw, bytes):
        return Value(text=raw.decode("latin-1"))
    if isinstance(raw, int) and abs(raw) < 1 << 64:
        return Value(text=str(raw), number=int(raw))
    return UNKNOWN


def name(flow: Flow, node: ast.Name) -> Value:
    called = node.id
    return flow.scope.get(called) or flow.constants.get(called) or with_name(called)


def attribute(flow: Flow, node: ast.Attribute) -> Value:
    return attribute_of(flow, flow.evaluate(node.value), node.attr, node.lineno)


def attribute_of(flow: Flow, base: Value, attr: str, line: int) -> Value:
    if base.fields and attr in base.fields:
        return base.fields[attr]
    taints = base.taints
    is_literal = any(part is not None for part in (base.items, base.text, base.function))
    if attr == "__globals__" or (attr == "constructor" and is_literal and not base.name):
        return with_name(_OF_ANYTHING[attr] if base.function is None else "Function")
    if base.name == "file" and attr in {"name", "path"}:
        return Value(text=base.text)
    if base.name:
        full = member_name(base.name, attr)
        found = flow.dotted.get(full) or flow.constants.get(full)
        if found is not None:
            return found
        flow.missed.add(full)
        return take_entry(flow, base, attr, line) or with_name(full, taints)
    return take_entry(flow, base, attr, line) or (Value(taints=taints) if taints else UNKNOWN)


def subscript(flow: Flow, node: ast.Subscript) -> Value:
    base = flow.evaluate(node.value)
    if isinstance(node.slice, ast.Slice):
        return _slice(flow, base, node.slice)
    key = flow.evaluate(node.slice)
    if flow.has_operators:
        call_entry(flow, base, key, node.lineno)
    hidden = find_by_key(flow, base, key, node)
    if hidden is not None:
        return hidden
    items = base.items or ()
    if key.number is not None and -len(items) <= key.number < len(items):
        return items[key.number]
    if key.is_known() and base.fields and key.text in base.fields:
        return base.fields[key.text or ""]
    if key.text and base.name and f"{base.name}.{key.text}" in flow.dotted:
        return flow.dotted[f"{base.name}.{key.text}"]
    entry = take_entry(flow, base, key.text or HOLE, line=node.lineno)
    return entry or with_name(f"{base.name}[]" if base.name else "", base.taints)


def _slice(flow: Flow, base: Value, part: ast.Slice) -> Value:
    step = flow.evaluate(part.step) if part.step else UNKNOWN
    if step.number == -1 and base.is_known():
        return Value(text=(base.text or "")[::-1], taints=base.taints | _DECODED)
    return Value(taints=base.taints, name=base.name, text=None, items=base.items)


def joined(flow: Flow, node: ast.JoinedStr) -> Value:
    return concatenate([flow.evaluate(part) for part in node.values])


def formatted(flow: Flow, node: ast.FormattedValue) -> Value:
    return flow.evaluate(node.value)


def operation(flow: Flow, node: ast.BinOp) -> Value:
    if isinstance(node.op, ast.Add):
        if flow.has_operators and not isinstance(node.left, ast.BinOp):
            call_binary(flow, node, flow.evaluate(node.left), flow.evaluate(node.right))
        return _sum(flow, node)
    left, right = flow.evaluate(node.left), flow.evaluate(node.right)
    if flow.has_operators:
        call_binary(flow, node, left, right)
    taints = left.taints | right.taints
    if isinstance(node.op, ast.Div) and (left.text or right.text or "Path" in left.name):
        return _below(left, right)
    if isinstance(node.op, ast.Mod) and left.text and "%" in left.text:
        return _fill(left, right)
    if left.number is not None and right.number is not None:
        return _calculate(node.op, left.number, right.number, taints)
    if isinstance(node.op, ast.BitXor):
        return Value(taints=taints | _DECODED)
    return Value(taints=taints) if taints else UNKNOWN


def unary(flow: Flow, node: ast.UnaryOp) -> Value:
    value = flow.evaluate(node.operand)
    if value.number is None or not isinstance(node.op, ast.USub):
        return Value(taints=value.taints) if value.taints else UNKNOWN
    return Value(text=str(-value.number), number=-value.number)


def _sum(flow: Flow, node: ast.BinOp) -> Value:
    """Add up a chain, which may have thousands of links, without recursion."""
    parts: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        parts.append(left.right)
        left = left.left
    parts.append(left)
    values = [flow.evaluate(part) for part in reversed(parts)]
    if any(value.items is not None for value in values):
        items = [item for value in values for item in (value.items or (UNKNOWN,))]
        return Value(items=tuple(items[:_MAX_ITEMS]), taints=tainted(*values))
    if all(value.number is not None for value in values):
        total = sum(value.number or 0 for value in values)
        return Value(text=str(total), number=total)
    return concatenate(values)


def _below(folder: Value, part: Value) -> Value:
    return concatenate([folder, part], "" if (folder.text or "").endswith("/") else "/")


def _fill(template: Value, given: Value) -> Value:
    texts = (template.text or "").split("%s")
    items = list(given.items or (given,))
    parts = [Value(text=texts[0], taints=template.taints)]
    for place, text in enumerate(texts[1:]):
        parts += [items[place] if place < len(items) else UNKNOWN, Value(text=text)]
    return concatenate(parts).having(given.taints)


def _calculate(operator: ast.operator, left: int, right: int, taints: frozenset[Taint]) -> Value:
    match operator:
        case ast.Sub():
            number = left - right
        case ast.BitXor():
            number, taints = left ^ right, taints | _DECODED
        case ast.Mod() if right:
            number = left % right
        case ast.FloorDiv() if right:
            number = left // right
        case _:
            return Value(taints=taints)
    return Value(text=str(number), number=number, taints=taints)


def choice(flow: Flow, node: ast.IfExp) -> Value:
    flow.evaluate(node.test)
    return either(flow.evaluate(node.body), flow.evaluate(node.orelse))


def alternatives(flow: Flow, node: ast.BoolOp) -> Value:
    return any_of([flow.evaluate(part) for part in node.values])


def comparison(flow: Flow, node: ast.Compare) -> Value:
    left = flow.evaluate(node.left)
    for part in node.comparators:
        value = flow.evaluate(part)
        if flow.has_operators:
            call_contains(flow, value, left, node.lineno)
            call_contains(flow, left, value, node.lineno)
    return UNKNOWN


def inner(flow: Flow, node: ast.Await) -> Value:
    return flow.evaluate(node.value)


def yielded(flow: Flow, node: ast.Yield) -> Value:
    value = node.value
    if value is not None:
        flow.returned.append(flow.evaluate(value))
    return UNKNOWN


def named_expression(flow: Flow, node: ast.NamedExpr) -> Value:
    value = flow.evaluate(node.value)
    assign(flow, node.target, value, outward=True)
    return value


def closure(flow: Flow, node: Closure) -> Value:
    return Value(function=function_of(flow, node, node.params, node.body))


def steps(flow: Flow, node: Steps) -> Value:
    flow.run(node.steps)
    return flow.evaluate(node.value)


def lambda_expression(flow: Flow, node: ast.Lambda) -> Value:
    known = flow.functions.get(id(node))
    if known is None:
        body = [ast.Return(value=node.body, lineno=node.lineno)]
        known = function_of(flow, node, [arg.arg for arg in node.args.args], list(body))
        given = node.args
        for arg, default in zip(reversed(given.args), reversed(given.defaults), strict=False):
            known.give(arg.arg, flow.evaluate(default))
    elif not known.runs:
        flow.pending.append(known)
    return Value(function=known)


def function_of(flow: Flow, node: ast.AST, params: list[str], body: list[ast.stmt]) -> Function:
    known = flow.functions.get(id(node))
    if known is None:
        known = flow.functions[id(node)] = Function(params, body, flow.scope)
    if not known.runs:
        flow.pending.append(known)
    return known


EXPRESSIONS: dict[type[ast.AST], Callable[[Flow, Any], Value]] = {
    ast.Constant: constant,
    ast.Name: name,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.JoinedStr: joined,
    ast.FormattedValue: formatted,
    ast.BinOp: operation,
    ast.UnaryOp: unary,
    ast.List: sequence,
    ast.Tuple: sequence,
    ast.Set: sequence,
    ast.Dict: mapping,
    ast.IfExp: choice,
    ast.BoolOp: alternatives,
    ast.Compare: comparison,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: dictionary_comprehension,
    ast.NamedExpr: named_expression,
    ast.Lambda: lambda_expression,
    ast.Call: call,
    ast.Await: inner,
    ast.Starred: inner,
    ast.YieldFrom: yielded,
    ast.Yield: yielded,
    Closure: closure,
    Steps: steps,
}
