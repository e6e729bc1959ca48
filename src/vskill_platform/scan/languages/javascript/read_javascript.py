"""What JavaScript and TypeScript code does."""

import ast
import re

from vskill_platform.scan.facts import Act, Fact, shorten
from vskill_platform.scan.languages.flow.expressions import EXPRESSIONS
from vskill_platform.scan.languages.flow.reading import MAX_CHARACTERS, Program, read_program
from vskill_platform.scan.languages.flow.state import Language
from vskill_platform.scan.languages.flow.statements import STATEMENTS
from vskill_platform.scan.languages.javascript.calls import (
    JAVASCRIPT_CALLS,
    JAVASCRIPT_CONSTANTS,
    JAVASCRIPT_METHODS,
)
from vskill_platform.scan.languages.javascript.statements import read_statements
from vskill_platform.scan.languages.unparsed import Unparsed

#: Without any of these words, nothing that we look for can happen.
_WORDS = (
    "require", "fetch", "process.", "import", "http", "axios", "got", "request", "superagent",
    "XMLHttp", "sendBeacon",
    "WebSocket", "eval", "Function", "constructor", "Deno.", "Bun.", "fromCharCode",
    "fromCodePoint", "atob", "Buffer",
    "homedir", ".ssh", ".env", "\\x", "\\u00", "0.0.0.0", ".post(", "_0x", "setTimeout",  # noqa: S104 - looked for
    "setInterval", "globalThis", "![]",
)  # fmt: skip
_BRACKETS = re.compile(r"[\[\]()!+]{120,}")
_MANGLED = re.compile(r"\b_0x[0-9a-f]{4,8}\b")
_MANY = 8


def read_javascript(code: str, *, typescript: bool = False) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it, or part of it, cannot be understood."""
    if not any(word in code for word in _WORDS):
        return []
    parse = _parse_typescript if typescript else _parse_javascript
    facts = _find_mangled(code[:MAX_CHARACTERS])
    program = Program(code=code, parse=parse, language=_LANGUAGE)
    try:
        return [*facts, *read_program(program)]
    except Unparsed as error:
        found = [*facts, *error.facts]
        raise Unparsed(str(error), found, is_too_much=error.is_too_much) from error


def _find_mangled(code: str) -> list[Fact]:
    """Find code that a tool made unreadable."""
    found = _BRACKETS.search(code)
    detail = "brackets instead of words"
    if found is None:
        names = list(_MANGLED.finditer(code))
        if len(names) < _MANY:
            return []
        found, detail = names[0], "names that a tool mangled"
    line = code.count("\n", 0, found.start()) + 1
    return [Fact(act=Act.HIDE, line=line, text=shorten(found[0][:400]), detail=detail)]


def _parse_javascript(code: str) -> tuple[list[ast.stmt], bool]:
    return read_statements(code, is_typed=False)


def _parse_typescript(code: str) -> tuple[list[ast.stmt], bool]:
    return read_statements(code, is_typed=True)


_LANGUAGE = Language(
    expressions=EXPRESSIONS,
    statements=STATEMENTS,
    calls=JAVASCRIPT_CALLS,
    methods=JAVASCRIPT_METHODS,
    constants=JAVASCRIPT_CONSTANTS,
    read=read_javascript,
)
