"""Destructuring: expand `{a, b: c} = d` into assignments."""

import ast


def take_apart(pattern: ast.expr, whole: ast.expr) -> list[ast.stmt]:
    """Return the assignments for which a pattern stands."""
    line = pattern.lineno
    if isinstance(pattern, ast.Dict):
        made: list[ast.stmt] = []
        for key, value in zip(pattern.keys, pattern.values, strict=True):
            found = _entry(whole, key, line)
            made.extend(take_apart(value, found))
        return made
    if isinstance(pattern, ast.BoolOp):  # with a default
        return take_apart(pattern.values[0], whole)
    if isinstance(pattern, ast.NamedExpr):
        return take_apart(pattern.target, whole)
    if isinstance(pattern, ast.List | ast.Tuple):
        pattern = ast.Tuple(elts=[_without_default(part) for part in pattern.elts], lineno=line)
    return [ast.Assign(targets=[pattern], value=whole, lineno=line)]


def _entry(whole: ast.expr, key: ast.expr | None, line: int) -> ast.expr:
    if key is None:
        return whole
    if isinstance(key, ast.Constant):
        return ast.Attribute(value=whole, attr=str(key.value), lineno=line)
    return ast.Subscript(value=whole, slice=key, lineno=line)


def _without_default(part: ast.expr) -> ast.expr:
    return part.target if isinstance(part, ast.NamedExpr) else part
