"""JavaScript for the data-flow analysis: parser, node types and functions."""

import re
from functools import partial

import re2

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.languages.flow import reading
from vskill_platform.scan.languages.flow.expressions import EXPRESSIONS
from vskill_platform.scan.languages.flow.state import Language
from vskill_platform.scan.languages.flow.statements import STATEMENTS
from vskill_platform.scan.languages.javascript.calls import (
    JAVASCRIPT_CALLS,
    JAVASCRIPT_CONSTANTS,
    JAVASCRIPT_METHODS,
)
from vskill_platform.scan.languages.javascript.read_javascript import read_javascript
from vskill_platform.scan.languages.javascript.statements import read_statements
from vskill_platform.scan.languages.unparsed import Unparsed

_BRACKETS = re.compile(r"[\[\]()!+]{120,}")
_MAY_BE_BRACKETS = re2.compile(rb"[\[\]()!+]{120}")
_MANGLED = re.compile(r"\b_0x[0-9a-f]{4,8}\b")
_MANY = 8
_JAVASCRIPT = Language(
    expressions=EXPRESSIONS,
    statements=STATEMENTS,
    calls=JAVASCRIPT_CALLS,
    methods=JAVASCRIPT_METHODS,
    constants=JAVASCRIPT_CONSTANTS,
    read=read_javascript,
)


def read_program(code: str, *, is_typed: bool) -> list[Fact]:
    facts = _find_mangled(code[: reading.MAX_CHARACTERS])
    parse = partial(read_statements, is_typed=is_typed)
    program = reading.Program(code=code, parse=parse, language=_JAVASCRIPT)
    try:
        return [*facts, *reading.read_program(program)]
    except Unparsed as error:
        found = [*facts, *error.facts]
        raise Unparsed(str(error), found, is_too_much=error.is_too_much) from error


def _find_mangled(code: str) -> list[Fact]:
    """Find code that was obfuscated by a tool."""
    found = (
        _BRACKETS.search(code) if _MAY_BE_BRACKETS.search(code.encode(errors="replace")) else None
    )
    detail = "brackets instead of words"
    if found is None:
        names = list(_MANGLED.finditer(code)) if "_0x" in code else []
        if len(names) < _MANY:
            return []
        found, detail = names[0], "names mangled by an obfuscator"
    line = code.count("\n", 0, found.start()) + 1
    return [Fact(act=Act.HIDE, line=line, text=shorten(found[0][:400]), detail=detail)]
