"""Convert JavaScript expressions to a Python tree, so that one set of rules reads both."""

import ast
import re
from collections.abc import Callable

from vskill_platform.scan.languages.flow.expressions import Steps
from vskill_platform.scan.languages.javascript.functions import (
    is_arrow,
    read_arrow,
    read_class,
    read_function,
    read_object,
)
from vskill_platform.scan.languages.javascript.tokens import Tokens, parts_of_template
from vskill_platform.scan.languages.javascript.type_notes import skip_arguments, skip_type

_UNESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|(\r?\n)|(.))", re.DOTALL
)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v"}
_UNICODE = 0x110000
_MAX_TEMPLATES = 6
_LOGICAL = frozenset({"||", "&&", "??"})
_ARITHMETIC: dict[str, Callable[[], ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "^": ast.BitXor, "%": ast.Mod,
}  # fmt: skip
_STRENGTH = {
    **dict.fromkeys(("||", "??"), 1), "&&": 2, "|": 3, "^": 4, "&": 5,
    **dict.fromkeys(("==", "!=", "===", "!=="), 6),
    **dict.fromkeys(("<", ">", "<=", ">=", "in", "instanceof"), 7),
    **dict.fromkeys(("+", "-"), 9), **dict.fromkeys(("*", "/", "%", "**"), 10),
}  # fmt: skip
_ASSIGNING = frozenset({"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**=", "||=", "&&=", "??="})
_PREFIXES = frozenset(
    {"!", "~", "+", "-", "++", "--", "typeof", "void", "delete", "await", "yield", "..."}
)


def unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def plain(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code:
            number = int(code, 16)
            return chr(number) if number < _UNICODE else ""
        return "" if found[4] else _SIMPLE.get(found[5], found[5])

    return _UNESCAPE.sub(plain, text)


def read_all(tokens: Tokens) -> ast.expr:
    """Read values up to the end of a statement, such as `a, b`."""
    line = tokens.line()
    values = [read_value(tokens)]
    while tokens.skip(","):
        values.append(read_value(tokens))
    return _last_of(values, line)


def _last_of(values: list[ast.expr], line: int) -> ast.expr:
    if not values:
        return ast.Constant(value=None, lineno=line)
    before = [ast.Expr(value=value, lineno=line) for value in values[:-1]]
    return Steps([*before], values[-1], line) if before else values[0]


def read_value(tokens: Tokens) -> ast.expr:
    """Read one value, up to a comma or another end."""
    if tokens.peek() == "async" and tokens.peek(1) != "=>" and tokens.kind(1) != "":
        tokens.position += tokens.peek(1) == "function" or _is_arrow_at(tokens, 1)
    if tokens.peek() == "<" and tokens.is_typed:
        skip_arguments(tokens)
    if is_arrow(tokens):
        return read_arrow(tokens)
    line = tokens.line()
    value = _read_operations(tokens)
    if tokens.skip("?"):
        body = read_value(tokens)
        tokens.skip(":")
        return ast.IfExp(test=value, body=body, orelse=read_value(tokens), lineno=line)
    if tokens.skip("="):
        return _assign(value, read_value(tokens), line)
    if tokens.peek() in _ASSIGNING:
        tokens.position += 1
        return _assign(
            value, ast.BinOp(left=value, op=ast.Add(), right=read_value(tokens), lineno=line), line
        )
    return value


def _is_arrow_at(tokens: Tokens, ahead: int) -> bool:
    tokens.position += ahead
    found = is_arrow(tokens)
    tokens.position -= ahead
    return found


def _assign(target: ast.expr, value: ast.expr, line: int) -> ast.expr:
    # Python allows only a name here; the rules accept any target.
    made = ast.NamedExpr(target=ast.Name(id="_", lineno=line), value=value, lineno=line)
    made.target = target  # type: ignore[assignment]  # see above
    return made


def _read_operations(tokens: Tokens) -> ast.expr:
    """Read any number of operands and operators without recursion."""
    operands = [_read_operand(tokens)]
    signs: list[tuple[str, int]] = []
    while True:
        sign = tokens.peek()
        strength = _STRENGTH.get(sign)
        if strength is None or tokens.kind() in {"string", "template"}:
            break
        line = tokens.line()
        tokens.position += 1
        while sign in {"<", ">"} and tokens.skip(sign):
            continue
        while signs and _STRENGTH[signs[-1][0]] >= strength:
            _combine(operands, signs)
        signs.append((sign, line))
        operands.append(_read_operand(tokens))
    while signs:
        _combine(operands, signs)
    return operands[0]


def _combine(operands: list[ast.expr], signs: list[tuple[str, int]]) -> None:
    (sign, line), right, left = signs.pop(), operands.pop(), operands.pop()
    made: ast.expr
    if sign in _ARITHMETIC:
        made = ast.BinOp(left=left, op=_ARITHMETIC[sign](), right=right, lineno=line)
    elif sign in _LOGICAL:
        values = [*left.values, right] if isinstance(left, ast.BoolOp) else [left, right]
        made = ast.BoolOp(op=ast.Or(), values=values, lineno=line)
    else:
        made = ast.Compare(left=left, ops=[], comparators=[right], lineno=line)
    operands.append(made)


def _read_operand(tokens: Tokens) -> ast.expr:
    line = tokens.line()
    signs: list[str] = []
    while tokens.peek() in _PREFIXES and tokens.kind() != "string":
        signs.append(tokens.take())
    value = read_rest(tokens, read_primary(tokens))
    for sign in reversed(signs):
        if sign == "...":
            value = ast.Starred(value=value, lineno=line)
        elif sign in {"-", "!", "~", "typeof", "delete", "void"}:
            operator = ast.USub() if sign == "-" else ast.Not()
            value = ast.UnaryOp(op=operator, operand=value, lineno=line)
    return value


def read_rest(tokens: Tokens, value: ast.expr) -> ast.expr:
    """Read the attributes, entries and calls after a value."""
    while tokens.position < tokens.limit:
        text, line = tokens.peek(), tokens.line()
        if text in {".", "?."}:
            tokens.position += 1
            if tokens.kind() == "name":
                value = ast.Attribute(value=value, attr=tokens.take().lstrip("#"), lineno=line)
        elif text == "(":
            value = ast.Call(func=value, args=read_list(tokens), keywords=[], lineno=line)
        elif text == "[" and not tokens.is_new_line():
            outer = tokens.enter()
            key = read_all(tokens)
            tokens.leave(outer)
            value = ast.Subscript(value=value, slice=key, lineno=line)
        elif tokens.kind() == "template":
            value = ast.Call(func=value, args=[_template(tokens)], keywords=[], lineno=line)
        elif text in {"++", "--"} or (text == "!" and tokens.is_typed and not tokens.is_new_line()):
            tokens.position += 1
        elif (tokens.is_typed and not _skip_typed(tokens, text)) or not tokens.is_typed:
            break
    return value


def _skip_typed(tokens: Tokens, text: str) -> bool:
    if text in {"as", "satisfies"} and not tokens.is_new_line():
        tokens.position += 1
        skip_type(tokens, ":")
        return True
    start = tokens.position
    if text == "<" and skip_arguments(tokens):
        if tokens.peek() == "(":
            return True
        tokens.position = start
    return False


def read_list(tokens: Tokens) -> list[ast.expr]:
    """Read the values between brackets."""
    values: list[ast.expr] = []
    outer = tokens.enter()
    while tokens.position < tokens.limit:
        start = tokens.position
        if not tokens.skip(","):
            values.append(read_value(tokens))
            tokens.position = max(tokens.position, start + 1)
    tokens.leave(outer)
    return values


def read_primary(tokens: Tokens) -> ast.expr:
    kind, text, line = tokens.kind(), tokens.peek(), tokens.line()
    if kind == "name":
        return _read_word(tokens, text, line)
    if kind == "template":
        return _template(tokens)
    if text in {"{", "[", "("}:
        return _read_bracket(tokens, text, line)
    if not kind or text in {")", "]", "}", ",", ";", ":"}:
        return ast.Constant(value=None, lineno=line)
    tokens.position += 1
    if kind == "string":
        ends = 2 if len(text) > 1 and text[-1] == text[0] else 1
        return ast.Constant(value=unescape(text[1 : len(text) + 1 - ends]), lineno=line)
    return ast.Constant(value=_number(text) if kind == "number" else None, lineno=line)


def _read_bracket(tokens: Tokens, text: str, line: int) -> ast.expr:
    if text == "{":
        return read_object(tokens)
    values = read_list(tokens)
    return ast.List(elts=values, lineno=line) if text == "[" else _last_of(values, line)


def _number(text: str) -> int | None:
    try:
        return int(text.replace("_", "").rstrip("n")[:40], 0)
    except ValueError:
        return None


def _read_word(tokens: Tokens, text: str, line: int) -> ast.expr:
    tokens.position += 1
    if text == "function":
        return read_function(tokens)[1]
    if text == "class":
        made = read_class(tokens)
        return Steps([made], ast.Name(id=made.name, lineno=line), line)
    if text == "new" and tokens.peek() != ".":
        return _read_new(tokens, line)
    if text in {"true", "false", "null"}:
        return ast.Constant(value={"true": True, "false": False}.get(text), lineno=line)
    return ast.Name(id=text, lineno=line)


def _read_new(tokens: Tokens, line: int) -> ast.expr:
    callee = read_primary(tokens)
    while tokens.peek() == "." and tokens.kind(1) == "name":
        tokens.position += 1
        callee = ast.Attribute(value=callee, attr=tokens.take(), lineno=line)
    if tokens.is_typed:
        skip_arguments(tokens)
    args = read_list(tokens) if tokens.peek() == "(" else []
    return ast.Call(func=callee, args=args, keywords=[], lineno=line)


def _template(tokens: Tokens) -> ast.expr:
    line, here = tokens.line(), tokens.position
    tokens.position += 1
    values: list[ast.expr] = []
    for is_code, start, end in parts_of_template(
        tokens.code, tokens.starts[here], tokens.ends[here]
    ):
        if not is_code:
            text = unescape(tokens.code[start:end])
            values.append(ast.Constant(value=text, lineno=line))
        elif tokens.depth < _MAX_TEMPLATES:
            inner = tokens.inside(start, end)
            values.append(read_all(inner))
            tokens.is_cut |= inner.is_cut
        else:
            tokens.is_cut = True
    if all(isinstance(value, ast.Constant) for value in values):
        texts = [str(value.value) for value in values if isinstance(value, ast.Constant)]
        return ast.Constant(value="".join(texts), lineno=line)
    return ast.JoinedStr(values=values, lineno=line)
