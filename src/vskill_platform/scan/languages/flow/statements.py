"""Evaluate statements: their effect on the names of a program."""

import ast
from collections.abc import Callable
from typing import Any

from vskill_platform.scan.languages.flow.assign import assign, element_of
from vskill_platform.scan.languages.flow.expressions import function_of
from vskill_platform.scan.languages.flow.indirect import call_known, call_returned
from vskill_platform.scan.languages.flow.operators import note_alias
from vskill_platform.scan.languages.flow.secrets import copy_variables
from vskill_platform.scan.languages.flow.state import (
    DEFINITIONS,
    Call,
    Flow,
    LexicalScope,
    Reached,
)
from vskill_platform.scan.languages.flow.values import UNKNOWN, Value, concatenate, with_name

_ENVIRONMENT = frozenset({"os.environ", "process.env"})
#: How many members all classes of a program may inherit together; few programs need 500.
_MAX_INHERITED = 5_000
_CONSTRUCTORS = frozenset({"__init__", "constructor"})


def import_names(flow: Flow, node: ast.Import) -> None:
    for each in node.names:
        if each.asname:
            flow.bind(each.asname, with_name(each.name))
        else:
            root = each.name.partition(".")[0]
            flow.bind(root, with_name(root))


def import_from(flow: Flow, node: ast.ImportFrom) -> None:
    for each in node.names:
        full = f"{node.module}.{each.name}" if node.module and not node.level else ""
        known = flow.constants.get(full)
        flow.bind(each.asname or each.name, known or with_name(full))


def assignment(flow: Flow, node: ast.Assign) -> None:
    value = flow.evaluate(node.value)
    for target in node.targets:
        assign(flow, target, value)


def annotated(flow: Flow, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign(flow, node.target, flow.evaluate(node.value))


def augmented(flow: Flow, node: ast.AugAssign) -> None:
    known, added = flow.evaluate(node.target), flow.evaluate(node.value)
    if known.items is not None:
        items = (*known.items, *(added.items or (added,)))
        value = Value(items=items[:20_000], taints=known.taints | added.taints)
    elif isinstance(node.op, ast.Add):
        value = concatenate([known, added])
    else:
        value = Value(taints=known.taints | added.taints)
    branches, flow.branches = flow.branches, 0
    assign(flow, node.target, value, outward=True)
    flow.branches = branches


def expression(flow: Flow, node: ast.Expr) -> None:
    flow.evaluate(node.value)


def return_value(flow: Flow, node: ast.Return) -> None:
    if node.value is None:
        return
    value = flow.evaluate(node.value)
    flow.returned.append(value)
    if isinstance(node.value, ast.Tuple) and value.items:
        call = ast.Call(func=node.value, args=[], keywords=[], lineno=node.lineno)
        call_returned(flow, Call(call, "", "", UNKNOWN, [], {}), value)


def condition(flow: Flow, node: ast.If) -> None:
    """If and while: their body may or may not be executed."""
    flow.evaluate(node.test)
    flow.branches += 1
    flow.run(node.body)
    flow.run(node.orelse)
    flow.branches -= 1


def loop(flow: Flow, node: ast.For) -> None:
    whole = flow.evaluate(node.iter)
    if whole.name in _ENVIRONMENT:
        whole = Value(taints=copy_variables(flow, node.lineno, whole.taints))
    assign(flow, node.target, element_of(whole))
    flow.branches += 1
    flow.run(node.body)
    flow.run(node.orelse)
    flow.branches -= 1


def attempt(flow: Flow, node: ast.Try) -> None:
    flow.run(node.body)
    flow.branches += 1
    for handler in node.handlers:
        flow.run(handler.body)
    flow.branches -= 1
    flow.run(node.orelse)
    flow.run(node.finalbody)


def choose(flow: Flow, node: ast.Match) -> None:
    """A match: each case may get the whole value, or a part of it."""
    subject = flow.evaluate(node.subject)
    flow.branches += 1
    for case in node.cases:
        for part in ast.walk(case.pattern):
            called = getattr(part, "name", None) or getattr(part, "rest", None)
            if isinstance(called, str):
                flow.bind(called, subject)
        if case.guard is not None:
            flow.evaluate(case.guard)
        flow.run(case.body)
    flow.branches -= 1


def context(flow: Flow, node: ast.With) -> None:
    for item in node.items:
        value = flow.evaluate(item.context_expr)
        if item.optional_vars is not None:
            assign(flow, item.optional_vars, value)
    flow.run(node.body)


def define(flow: Flow, node: ast.FunctionDef) -> None:
    given = node.args
    params = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    flow.bind(node.name, Value(function=function_of(flow, node, params, node.body)))


def reach(flow: Flow, reached: Reached) -> None:
    """Evaluate the defaults and decorators of a function, which is already declared."""
    node, given = reached.definition, reached.definition.args
    function = flow.functions[id(node)]
    for part in given.kw_defaults:
        if part is not None:
            flow.evaluate(part)
    with_default = given.args[len(given.args) - len(given.defaults) :]
    for arg, default in zip(with_default, given.defaults, strict=False):
        value = flow.evaluate(default)
        if value.text or value.name:
            function.give(arg.arg, value)
    if node.decorator_list:
        _decorate(flow, node, Value(function=function))


def _decorate(
    flow: Flow, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, decorated: Value
) -> None:
    """Call decorators that are known functions: `@exec` runs the result of the one below it."""
    for part in reversed(node.decorator_list):
        decorator = flow.evaluate(part)
        call = ast.Call(func=part, args=[], keywords=[], lineno=part.lineno)
        if isinstance(part, ast.Lambda | ast.Name):
            made = Call(call, "", "", UNKNOWN, [], {})
            decorated = call_known(flow, made, decorator, [decorated]) or decorated


def define_class(flow: Flow, node: ast.ClassDef) -> None:
    """A class: its methods and attributes are found by the class name."""
    instance = f"self@{node.name}"
    outer, flow.scope = flow.scope, LexicalScope(flow.scope)
    for base in node.bases:
        if isinstance(base, ast.Name):
            _inherit(flow, base.id)
    flow.run(node.body)
    members, flow.scope = flow.scope.names, outer
    flow.members[node.name] = members
    for member, value in members.items():
        note_alias(flow, node.lineno, member, value)
        flow.set_dotted(f"{instance}.{member}", value)
        flow.set_dotted(f"{node.name}.{member}", value)
    for child in node.body:
        if child.__class__ in DEFINITIONS:
            function = flow.functions[id(child)]
            function.scope.parent = outer  # methods do not see the names of their class
            for me in ("self", "this"):
                function.scope.names[me] = with_name(instance)
                if me in function.params:
                    function.give(me, with_name(instance))
    made = next((members[name] for name in _CONSTRUCTORS if name in members), UNKNOWN)
    flow.bind(node.name, with_name(node.name))
    flow.dotted[f"{node.name}()"] = with_name(instance)
    if made.function is not None:
        flow.dotted[f"{node.name}.new"] = made
    if node.decorator_list:
        _decorate(flow, node, with_name(node.name))


def _inherit(flow: Flow, base: str) -> None:
    members = flow.members.get(base, {})
    flow.inherited += len(members)
    if flow.inherited > _MAX_INHERITED:  # a chain of classes copies the square of its length
        flow.is_cut = True
        return
    flow.scope.names.update(members)


def share(flow: Flow, node: ast.Global) -> None:
    """Global and nonlocal: the names belong to an outer scope."""
    for called in node.names:
        flow.scope.shared.add(called)
        if isinstance(node, ast.Global):
            flow.top.names.setdefault(called, UNKNOWN)


def nothing(_flow: Flow, _node: ast.AST) -> None:
    """A statement without any effect."""


STATEMENTS: dict[type[ast.AST], Callable[[Flow, Any], None]] = {
    ast.Import: import_names,
    ast.ImportFrom: import_from,
    ast.Assign: assignment,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.Expr: expression,
    ast.Return: return_value,
    ast.If: condition,
    ast.While: condition,
    ast.For: loop,
    ast.AsyncFor: loop,
    ast.Try: attempt,
    ast.TryStar: attempt,
    ast.Match: choose,
    ast.With: context,
    ast.AsyncWith: context,
    Reached: reach,
    ast.FunctionDef: define,
    ast.AsyncFunctionDef: define,
    ast.ClassDef: define_class,
    ast.Pass: nothing,
    ast.Global: share,
    ast.Nonlocal: share,
    ast.Break: nothing,
    ast.Continue: nothing,
}
