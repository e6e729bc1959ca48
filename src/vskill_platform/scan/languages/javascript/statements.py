"""Convert JavaScript statements to a Python tree."""

import ast
from collections.abc import Callable

from vskill_platform.scan.languages.javascript.expressions import read_all, read_list, read_value
from vskill_platform.scan.languages.javascript.functions import (
    as_definition,
    read_body,
    read_class,
    read_function,
    read_object,
)
from vskill_platform.scan.languages.javascript.patterns import take_apart
from vskill_platform.scan.languages.javascript.tokens import Tokens
from vskill_platform.scan.languages.javascript.type_notes import skip_annotation, skip_type

_DECLARING = frozenset({"const", "let", "var", "using"})
_TYPES = frozenset({"interface", "type", "declare", "namespace", "enum", "abstract", "module"})
_IGNORED = frozenset({"break", "continue", "debugger", ";", "export", "default", "else", "finally"})


def read_statements(code: str, *, is_typed: bool) -> tuple[list[ast.stmt], bool]:
    """Return the statements of *code*, and whether none was nested too deeply."""
    tokens = Tokens(code, is_typed=is_typed, read_value=read_value, read_block=read_block)
    tokens.load(0, len(code))
    body = read_block(tokens)
    return body, not tokens.is_cut


def read_block(tokens: Tokens) -> list[ast.stmt]:
    """Read statements up to the end of the enclosing bracket."""
    body: list[ast.stmt] = []
    while tokens.position < tokens.limit:
        start, limit = tokens.position, tokens.limit
        try:
            body.extend(read_statement(tokens))
        except RecursionError:
            tokens.is_cut = True
            tokens.position, tokens.limit = start, limit
            _skip_statement(tokens)
        tokens.position = max(tokens.position, start + 1)
    return body


def _skip_statement(tokens: Tokens) -> None:
    while tokens.position < tokens.limit and tokens.peek() != ";":
        tokens.position = tokens.closing() if tokens.peek() in {"(", "[", "{"} else tokens.position
        tokens.position += 1


def read_statement(tokens: Tokens) -> list[ast.stmt]:
    text, kind = tokens.peek(), tokens.kind()
    if text == "{" and kind == "punct":
        return read_body(tokens)
    if text in _IGNORED:
        tokens.position += 1
        return []
    if kind == "name":
        if text == "async" and tokens.peek(1) == "function":
            tokens.position, text = tokens.position + 1, "function"
        if tokens.peek(1) == ":" and text not in {"default", "case"}:
            tokens.position += 2  # a label
            return []
        maker = _STATEMENTS.get(text)
        if text in _TYPES and tokens.kind(1) == "name" and tokens.is_typed:
            maker = _read_type
        if maker is not None and not (text == "import" and tokens.peek(1) in {"(", "."}):
            return maker(tokens)
    line = tokens.line()
    return [ast.Expr(value=read_all(tokens), lineno=line)]


def _read_type(tokens: Tokens) -> list[ast.stmt]:
    text = tokens.take()
    if text in {"declare", "abstract"}:
        return []
    tokens.position += 1
    if text == "type":
        while tokens.position < tokens.limit and not tokens.skip("="):
            tokens.position += 1
        skip_type(tokens, "=")
        return []
    while tokens.position < tokens.limit and tokens.peek() != "{":
        tokens.position += 1
    if text in {"namespace", "module"}:
        return read_body(tokens)
    tokens.position = tokens.closing() + 1
    return []


def _read_declaration(tokens: Tokens) -> list[ast.stmt]:
    tokens.position += 1
    made: list[ast.stmt] = []
    while tokens.position < tokens.limit:
        line = tokens.line()
        target = read_object(tokens) if tokens.peek() == "{" else _read_name(tokens)
        skip_annotation(tokens)
        value: ast.expr = ast.Constant(value=None, lineno=line)
        if tokens.skip("="):
            value = read_value(tokens)
        made.extend(_assign(target, value, line))
        if not tokens.skip(","):
            break
    return made


def _read_name(tokens: Tokens) -> ast.expr:
    line = tokens.line()
    if tokens.kind() == "name":
        return ast.Name(id=tokens.take(), lineno=line)
    if tokens.peek() == "[":
        return ast.List(elts=read_list(tokens), lineno=line)
    return ast.Name(id="@", lineno=line)


def _assign(target: ast.expr, value: ast.expr, line: int) -> list[ast.stmt]:
    if isinstance(target, ast.Name):
        return [ast.Assign(targets=[target], value=value, lineno=line)]
    if isinstance(value, ast.Name):
        return take_apart(target, value)
    kept = ast.Name(id=f"@{line}", lineno=line)
    return [ast.Assign(targets=[kept], value=value, lineno=line), *take_apart(target, kept)]


def _read_import(tokens: Tokens) -> list[ast.stmt]:
    """Treat an import like require."""
    line = tokens.line()
    tokens.position += 1
    if tokens.peek() == "type" and tokens.peek(1) not in {"from", ","}:
        tokens.position += 1
    targets: list[ast.expr] = []
    while tokens.position < tokens.limit and tokens.kind() != "string" and tokens.peek() != ";":
        if tokens.peek() == "{":
            targets.append(_read_names(tokens))
        elif tokens.skip("=") or tokens.peek() in {"from", "*", "as", ","}:
            tokens.position += tokens.peek() in {"from", "*", "as", ","}
            if tokens.peek() == "require":
                break
        elif tokens.kind() == "name":
            targets.append(ast.Name(id=tokens.take(), lineno=line))
        else:
            break
    module = read_value(tokens)
    if isinstance(module, ast.Constant):
        require = ast.Name(id="require", lineno=line)
        module = ast.Call(func=require, args=[module], keywords=[], lineno=line)
    if not targets:
        return [ast.Expr(value=module, lineno=line)]
    return [made for target in targets for made in take_apart(target, module)]


def _read_names(tokens: Tokens) -> ast.expr:
    """Read `{a, b as c}`."""
    line = tokens.line()
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    outer = tokens.enter()
    while tokens.position < tokens.limit:
        kind, text = tokens.kind(), tokens.take()
        if kind != "name" or (text == "type" and tokens.kind() == "name"):
            continue
        name = tokens.take() if tokens.skip("as") and tokens.kind() == "name" else text
        keys.append(ast.Constant(value=text, lineno=line))
        values.append(ast.Name(id=name, lineno=line))
    tokens.leave(outer)
    return ast.Dict(keys=keys, values=values, lineno=line)


def _read_function(tokens: Tokens) -> list[ast.stmt]:
    tokens.position += 1
    name, function = read_function(tokens)
    return [as_definition(name, function)]


def _read_class(tokens: Tokens) -> list[ast.stmt]:
    tokens.position += 1
    return [read_class(tokens)]


def _read_test(tokens: Tokens) -> ast.expr:
    line = tokens.line()
    if tokens.peek() != "(":
        return ast.Constant(value=None, lineno=line)
    outer = tokens.enter()
    test = read_all(tokens)
    tokens.leave(outer)
    return test


def _read_if(tokens: Tokens) -> list[ast.stmt]:
    """If and while; a chain of else is read without recursion."""
    line = tokens.line()
    tokens.position += 1
    made = ast.If(test=_read_test(tokens), body=read_statement(tokens), orelse=[], lineno=line)
    while tokens.skip("else"):
        if tokens.peek() == "if":
            tokens.position += 1
            made.orelse.append(ast.Expr(value=_read_test(tokens), lineno=tokens.line()))
        made.orelse.extend(read_statement(tokens))
    return [made]


def _read_do(tokens: Tokens) -> list[ast.stmt]:
    tokens.position += 1
    return read_statement(tokens)


def _read_for(tokens: Tokens) -> list[ast.stmt]:
    line = tokens.line()
    tokens.position += 1
    tokens.skip("await")
    opening: list[ast.stmt] = []
    loop: ast.For | None = None
    if tokens.peek() == "(":
        outer = tokens.enter()
        loop = _read_each(tokens, line)
        opening = read_block(tokens)
        tokens.leave(outer)
    body = read_statement(tokens)
    if loop is not None:
        loop.body.extend(body)
        return [loop]
    test = ast.Constant(value=None, lineno=line)
    return [*opening, ast.If(test=test, body=body, orelse=[], lineno=line)]


def _read_each(tokens: Tokens, line: int) -> ast.For | None:
    """Read `const a of b`, or nothing if it is not that."""
    start = tokens.position
    if tokens.peek() in _DECLARING:
        tokens.position += 1
    target = read_object(tokens) if tokens.peek() == "{" else _read_name(tokens)
    if tokens.peek() not in {"of", "in"}:
        tokens.position = start
        return None
    tokens.position += 1
    whole = read_all(tokens)
    if not isinstance(target, ast.Dict):
        return ast.For(target=target, iter=whole, body=[], orelse=[], lineno=line)
    kept = ast.Name(id=f"@{line}", lineno=line)
    return ast.For(target=kept, iter=whole, body=take_apart(target, kept), orelse=[], lineno=line)


def _read_switch(tokens: Tokens) -> list[ast.stmt]:
    line = tokens.line()
    tokens.position += 1
    return [ast.If(test=_read_test(tokens), body=read_body(tokens), orelse=[], lineno=line)]


def _read_case(tokens: Tokens) -> list[ast.stmt]:
    tokens.position += 1
    line = tokens.line()
    value = read_value(tokens)
    tokens.skip(":")
    return [ast.Expr(value=value, lineno=line)]


def _read_try(tokens: Tokens) -> list[ast.stmt]:
    line = tokens.line()
    tokens.position += 1
    body, handlers = read_body(tokens), list[ast.ExceptHandler]()
    if tokens.skip("catch"):
        if tokens.peek() == "(":
            tokens.position = tokens.closing() + 1
        handlers = [ast.ExceptHandler(body=read_body(tokens))]
    final = read_body(tokens) if tokens.skip("finally") else []
    return [ast.Try(body=body, handlers=handlers, orelse=[], finalbody=final, lineno=line)]


def _read_return(tokens: Tokens) -> list[ast.stmt]:
    line = tokens.line()
    tokens.position += 1
    if tokens.is_new_line() or tokens.peek() == ";":
        return []
    return [ast.Return(value=read_all(tokens), lineno=line)]


_STATEMENTS: dict[str, Callable[[Tokens], list[ast.stmt]]] = {
    **dict.fromkeys(_DECLARING, _read_declaration),
    "import": _read_import,
    "function": _read_function,
    "class": _read_class,
    **dict.fromkeys(("if", "while", "with"), _read_if),
    "do": _read_do,
    "for": _read_for,
    "switch": _read_switch,
    "case": _read_case,
    "try": _read_try,
    **dict.fromkeys(("return", "throw"), _read_return),
}
