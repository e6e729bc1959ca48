"""Convert JavaScript functions, classes and objects to a Python tree."""

import ast

from vskill_platform.scan.languages.flow.expressions import Closure
from vskill_platform.scan.languages.javascript.patterns import take_apart
from vskill_platform.scan.languages.javascript.tokens import Tokens
from vskill_platform.scan.languages.javascript.type_notes import (
    skip_annotation,
    skip_arguments,
    skip_type,
)

_MODIFIERS = frozenset(
    {
        "async", "get", "set", "static", "public", "private", "protected", "readonly", "abstract",
        "override", "declare", "accessor",
    }
)  # fmt: skip
#: Modifiers that make a parameter of a constructor a property.
_PROPERTY = frozenset({"public", "private", "protected", "readonly"})
_MAX_AHEAD = 40


def is_arrow(tokens: Tokens) -> bool:
    """Return whether `(a, b) =>` or `a =>` starts here."""
    if tokens.kind() == "name":
        return tokens.peek(1) == "=>"
    if tokens.peek() != "(":
        return False
    after = tokens.closing() + 1 - tokens.position
    if tokens.peek(after) == "=>":
        return True
    if not tokens.is_typed or tokens.peek(after) != ":":
        return False
    for ahead in range(after, after + _MAX_AHEAD):
        text = tokens.peek(ahead)
        if text in {"=>", ";", "=", ""} or (text == "{" and ahead > after + 1):
            return text == "=>"
    return False


def read_arrow(tokens: Tokens) -> ast.expr:
    line = tokens.line()
    if tokens.kind() == "name":
        params, opening = [tokens.take()], list[ast.stmt]()
    else:
        params, opening = read_parameters(tokens)
        if tokens.skip(":"):
            skip_type(tokens, ":", stop="=>")
    tokens.skip("=>")
    if tokens.peek() == "{":
        return Closure(params, [*opening, *read_body(tokens)], line)
    value = tokens.read_value(tokens)
    return Closure(params, [*opening, ast.Return(value=value, lineno=line)], line)


def read_body(tokens: Tokens) -> list[ast.stmt]:
    """Read the statements between braces."""
    if tokens.peek() != "{":
        return []
    outer = tokens.enter()
    body = tokens.read_block(tokens)
    tokens.leave(outer)
    return body


def read_parameters(tokens: Tokens) -> tuple[list[str], list[ast.stmt]]:
    """Return the names of the parameters, and the statements that destructure them."""
    names: list[str] = []
    opening: list[ast.stmt] = []
    if tokens.peek() != "(":
        return names, opening
    outer = tokens.enter()
    while tokens.position < tokens.limit:
        is_property = False
        while tokens.peek() in _MODIFIERS and tokens.kind(1) == "name":
            is_property |= tokens.peek() in _PROPERTY
            tokens.position += 1
        tokens.skip("...")
        line = tokens.line()
        target = _read_target(tokens)
        name = target.id if isinstance(target, ast.Name) else f"@{len(names)}"
        names.append(name)
        whole = ast.Name(id=name, lineno=line)
        skip_annotation(tokens)
        if tokens.skip("="):
            value = tokens.read_value(tokens)
            either = ast.BoolOp(op=ast.Or(), values=[whole, value], lineno=line)
            opening.append(ast.Assign(targets=[whole], value=either, lineno=line))
        if is_property:  # constructor(private command: string)
            own = ast.Attribute(value=ast.Name(id="this", lineno=line), attr=name, lineno=line)
            opening.append(ast.Assign(targets=[own], value=whole, lineno=line))
        if not isinstance(target, ast.Name):
            opening.extend(take_apart(target, whole))
        _skip_to_comma(tokens)
    tokens.leave(outer)
    return names, opening


def _read_target(tokens: Tokens) -> ast.expr:
    """Read a name or a pattern, without the default that may follow."""
    if tokens.peek() == "{":
        return read_object(tokens)
    if tokens.kind() == "name":
        line = tokens.line()
        return ast.Name(id=tokens.take(), lineno=line)
    return tokens.read_value(tokens)


def _skip_to_comma(tokens: Tokens) -> None:
    while tokens.position < tokens.limit and not tokens.skip(","):
        tokens.position = tokens.closing() if tokens.peek() in {"(", "[", "{"} else tokens.position
        tokens.position += 1


def read_function(tokens: Tokens) -> tuple[str, Closure]:
    """Read `function name(a, b) {…}` after its first word."""
    line = tokens.line()
    tokens.skip("*")
    name = tokens.take() if tokens.kind() == "name" else ""
    return name, read_method(tokens, line)


def read_method(tokens: Tokens, line: int) -> Closure:
    skip_arguments(tokens)
    params, opening = read_parameters(tokens)
    skip_annotation(tokens)
    return Closure(params, [*opening, *read_body(tokens)], line)


def as_definition(name: str, function: Closure) -> ast.FunctionDef:
    args = [ast.arg(arg=param) for param in function.params]
    arguments = ast.arguments(posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.FunctionDef(
        name=name, args=arguments, body=function.body, decorator_list=[], lineno=function.lineno
    )


def read_object(tokens: Tokens) -> ast.Dict:
    line = tokens.line()
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    outer = tokens.enter()
    while tokens.position < tokens.limit:
        start = tokens.position
        if tokens.skip("..."):
            keys.append(None)
            values.append(tokens.read_value(tokens))
        elif tokens.peek() != ",":
            key, value = _read_entry(tokens)
            keys.append(key)
            values.append(value)
        tokens.skip(",")
        tokens.position = max(tokens.position, start + 1)
    tokens.leave(outer)
    return ast.Dict(keys=keys, values=values, lineno=line)


def _read_entry(tokens: Tokens) -> tuple[ast.expr | None, ast.expr]:
    _skip_modifiers(tokens)
    line = tokens.line()
    is_name = tokens.kind() == "name"
    key = _read_key(tokens)
    if key is None:
        return None, tokens.read_value(tokens)
    if tokens.skip(":"):
        return key, tokens.read_value(tokens)
    if tokens.peek() in {"(", "<"}:
        return key, read_method(tokens, line)
    value = key
    if is_name and isinstance(key, ast.Constant):
        value = ast.Name(id=str(key.value), lineno=line)
    if tokens.skip("="):  # the default of a pattern
        value = ast.BoolOp(op=ast.Or(), values=[value, tokens.read_value(tokens)], lineno=line)
    return key, value


def _skip_modifiers(tokens: Tokens) -> None:
    while tokens.peek() == "*" or (
        tokens.peek() in _MODIFIERS
        and (tokens.kind(1) in {"name", "string", "number"} or tokens.peek(1) in {"[", "*", "{"})
    ):
        tokens.position += 1


def _read_key(tokens: Tokens) -> ast.expr | None:
    line, kind = tokens.line(), tokens.kind()
    if kind == "name":
        return ast.Constant(value=tokens.take(), lineno=line)
    if kind in {"string", "number"}:
        return ast.Constant(value=tokens.take().strip("'\""), lineno=line)
    if tokens.peek() == "[":
        outer = tokens.enter()
        key = tokens.read_value(tokens)
        tokens.leave(outer)
        return key
    return None


def read_class(tokens: Tokens) -> ast.ClassDef:
    """Read `class A extends B {…}` after its first word."""
    line = tokens.line()
    is_named = tokens.kind() == "name" and tokens.peek() not in {"extends", "implements"}
    name = tokens.take() if is_named else f"class{tokens.position}"
    skip_arguments(tokens)
    bases = []
    if tokens.skip("extends") and tokens.kind() == "name":
        bases.append(ast.Name(id=tokens.take(), lineno=line))
    while tokens.position < tokens.limit and tokens.peek() != "{":
        tokens.position = tokens.closing() if tokens.peek() in {"(", "["} else tokens.position
        tokens.position += 1
    body: list[ast.stmt] = []
    if tokens.peek() == "{":
        outer = tokens.enter()
        while tokens.position < tokens.limit:
            body.extend(_read_member(tokens))
        tokens.leave(outer)
    return ast.ClassDef(
        name=name, bases=list(bases), keywords=[], body=body, decorator_list=[], lineno=line
    )


def _read_member(tokens: Tokens) -> list[ast.stmt]:
    start = tokens.position
    _skip_modifiers(tokens)
    line = tokens.line()
    if tokens.peek() == "{":
        return read_body(tokens)
    key = _read_key(tokens)
    if key is None or tokens.peek() == ";":
        tokens.position = max(tokens.position, start) + 1
        return []
    name = str(key.value).lstrip("#") if isinstance(key, ast.Constant) else "?"
    tokens.position += tokens.peek() in {"?", "!"}
    if tokens.peek() in {"(", "<"}:
        return [as_definition(name, read_method(tokens, line))]
    if tokens.skip(":"):
        skip_type(tokens, ":")
    if tokens.skip("="):
        target = ast.Name(id=name, lineno=line)
        return [ast.Assign(targets=[target], value=tokens.read_value(tokens), lineno=line)]
    return []
