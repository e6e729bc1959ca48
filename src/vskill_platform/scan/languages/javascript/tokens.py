"""Tokenise JavaScript and TypeScript in linear time.

This is our own tokeniser: tree-sitter 0.26.0 takes 0.09 s for 3 KB of unmatched brackets and 6 s
for 24 KB, and it crashed with a callback to stop it.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Callable

_REGEX = r"/(?![/*])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,300}+\]){1,500}+/[a-z]{0,8}"
_COMMENT = r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?"
_SPACE = rf"\s*+(?:(?:{_COMMENT})\s*+)*+"
_TOKEN = re.compile(
    rf"""(?P<comment>{_COMMENT})
    |(?P<before>=>|&&=?|\|\|=?|\?\?=?|[=!]==?|[-+*%&|^<>]=|[=(,:\[!&|?{{}};+*%<>~^-]|\b(?:return|typeof|case|void|throw|else)\b){_SPACE}(?P<regex>{_REGEX})
    |(?P<name>[A-Za-z_$\#@\u0080-\U0010ffff][\w$]*+)
    |(?P<string>'(?:[^'\\\n]|\\[\s\S])*+(?:'|(?=\n)|\Z)|"(?:[^"\\\n]|\\[\s\S])*+(?:"|(?=\n)|\Z))
    |(?P<number>\.?\d[\w.]*+)
    |(?P<template>`(?:[^`\\$]|\\[\s\S]|\$(?!\{{))*+`)
    |(?P<punct>=>|\.\.\.|\?\.(?!\d)|[=!]==?|\*\*=?|\?\?=?|&&=?|\|\|=?|\+\+|--|[-+*/%&|^]=|<=|>=|[{{}}()\[\];,<>+*/%&|^!~?:=.`-])
    """,
    re.VERBOSE,
)
_IN_TEMPLATE = re.compile(r"\\[\s\S]|`|\$\{")
_IN_CODE = re.compile(
    rf"""[`{{}}]|[(,=:\[!&|?]\s{{0,9}}{_REGEX}|'(?:[^'\\\n]|\\.){{0,2000}}+'|"(?:[^"\\\n]|\\.){{0,2000}}+\""""
)
_MAX_TOKENS = 400_000
_OPENING = frozenset({"(", "[", "{"})
_CLOSING = {")": "(", "]": "[", "}": "{"}
_BRACKETS = _OPENING | _CLOSING.keys()


class Tokens:
    """The tokens of a program, and the current position."""

    def __init__(
        self,
        code: str,
        *,
        is_typed: bool,
        read_value: "Callable[[Tokens], ast.expr]",
        read_block: "Callable[[Tokens], list[ast.stmt]]",
        lines: list[int] | None = None,
        depth: int = 0,
    ) -> None:
        self.code = code
        self.is_typed = is_typed
        self.lines = lines or [0, *(found.end() for found in re.finditer("\n", code))]
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.rows: list[int] = []  #: the line of each token
        self.pairs: dict[int, int] = {}  #: the closing position of each bracket
        self.position = 0
        self.limit = 0
        self.is_cut = False  #: whether some of it was nested too deeply
        self.depth = depth  #: nested templates
        self.read_value = read_value
        self.read_block = read_block

    def inside(self, start: int, end: int) -> "Tokens":
        """Return the tokens of code inside a token of this one."""
        inner = Tokens(
            self.code, is_typed=self.is_typed, lines=self.lines, depth=self.depth + 1,
            read_value=self.read_value, read_block=self.read_block,
        )  # fmt: skip
        inner.load(start, end)
        return inner

    def load(self, start: int, end: int) -> None:
        """Load the tokens between two positions in the code."""
        self._tokenise(start, end)
        self.limit = len(self.texts)
        stack: list[int] = []
        row = bisect_right(self.lines, start)
        lines = iter([*self.lines[row:], len(self.code) + 1])
        next_line = next(lines)
        for place, (text, begin) in enumerate(zip(self.texts, self.starts, strict=True)):
            while next_line <= begin:
                row += 1
                next_line = next(lines)
            self.rows.append(row)
            if text in _BRACKETS:
                if text in _OPENING:
                    stack.append(place)
                elif stack and self.texts[stack[-1]] == _CLOSING[text]:
                    self.pairs[stack.pop()] = place

    def _tokenise(self, start: int, end: int) -> None:
        code, add = self.code, self._add
        while start < end:
            for found in _TOKEN.finditer(code, start, end):
                kind, text = found.lastgroup or "", found[0]
                if kind == "comment":
                    continue
                begin, start = found.span()
                if kind == "punct" and text == "`":
                    stop = _end_of_template(code, start, end)
                    self.is_cut |= stop == end and code[end - 1] != "`"
                    add("template", code[begin:stop], begin, stop)
                    start = stop
                    break
                if kind == "regex":
                    before = found["before"]
                    kind = "name" if before.isalpha() else "punct"
                    add(kind, before, begin, found.end("before"))
                    add("regex", "/", found.start("regex"), start)
                else:
                    add(kind, text, begin, start)
                    if len(self.texts) >= _MAX_TOKENS:
                        self.is_cut = True
                        return
            else:
                return

    def _add(self, kind: str, text: str, start: int, end: int) -> None:
        self.kinds.append(kind)
        self.texts.append(text)
        self.starts.append(start)
        self.ends.append(end)

    def peek(self, ahead: int = 0) -> str:
        place = self.position + ahead
        return self.texts[place] if place < self.limit else ""

    def kind(self, ahead: int = 0) -> str:
        place = self.position + ahead
        return self.kinds[place] if place < self.limit else ""

    def take(self) -> str:
        text = self.texts[self.position]
        self.position += 1
        return text

    def skip(self, text: str) -> bool:
        """Skip *text* if it is here."""
        place = self.position
        if place < self.limit and self.texts[place] == text:
            self.position = place + 1
            return True
        return False

    def line(self) -> int:
        place = self.position
        if place < len(self.rows):
            return self.rows[place]
        return self.rows[-1] if self.rows else 1

    def is_new_line(self) -> bool:
        """Return whether this token is on a different line than the one before it."""
        here = self.position
        if not 0 < here < self.limit:
            return True
        return (
            self.rows[here] != self.rows[here - 1]
            and "\n" in self.code[self.ends[here - 1] : self.starts[here]]
        )

    def closing(self, ahead: int = 0) -> int:
        """Return where the bracket here is closed, or the end if it is not closed."""
        return min(self.pairs.get(self.position + ahead, self.limit), self.limit)

    def enter(self) -> int:
        """Enter the bracket here and hide everything outside; return the old limit."""
        outer, self.limit = self.limit, self.closing()
        self.position += 1
        return outer

    def leave(self, outer: int) -> None:
        """Leave a bracket and continue after its end."""
        self.position, self.limit = min(self.limit + 1, outer), outer


def _end_of_template(code: str, start: int, end: int) -> int:
    """Return the end of a template with code inside, which may contain templates."""
    stack = ["`"]
    while stack and start < end:
        pattern = _IN_TEMPLATE if stack[-1] == "`" else _IN_CODE
        found = pattern.search(code, start, end)
        if found is None:
            return end
        start = found.end()
        if found[0] == "}" or (found[0] == "`" and stack[-1] == "`"):
            stack.pop()
        elif found[0] in {"`", "{", "${"}:
            stack.append("`" if found[0] == "`" else "{")
    return start


def parts_of_template(code: str, start: int, end: int) -> list[tuple[bool, int, int]]:
    """Return the parts of a template: whether it is code, start, end."""
    parts: list[tuple[bool, int, int]] = []
    start += 1
    while start < end:
        found = _IN_TEMPLATE.search(code, start, end)
        stop = found.start() if found else end
        if found is not None and found[0][0] == "\\":
            stop = found.end()
        parts.append((False, start, stop))
        if found is None or found[0] == "`":
            break
        start = found.end()
        if found[0] == "${":
            inside = _end_of_code(code, start, end)
            parts.append((True, start, inside))
            start = inside + 1
    return parts


def _end_of_code(code: str, start: int, end: int) -> int:
    depth = 0
    while start < end:
        found = _IN_CODE.search(code, start, end)
        if found is None:
            return end
        start = found.end()
        if found[0] == "`":
            start = _end_of_template(code, start, end)
        elif found[0] == "{":
            depth += 1
        elif found[0] == "}":
            if not depth:
                return found.start()
            depth -= 1
    return end
