"""Analyse one program from its text to its facts, within limits."""

import ast
import re
from collections.abc import Callable
from contextvars import ContextVar

import msgspec

from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.languages.flow.loose_commands import loose_commands
from vskill_platform.scan.languages.flow.loose_secrets import loose_secrets
from vskill_platform.scan.languages.flow.state import Flow, Language, OutOfSteps
from vskill_platform.scan.languages.unparsed import Unparsed

MAX_CHARACTERS = 1024 * 1024
#: The maximum depth of nested programs; legitimate ones are not deeper.
_MAX_NESTING = 4
_nesting: ContextVar[int] = ContextVar("nesting", default=0)
_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}){6,}")
_ESCAPE = re.compile(r"\\(?:x|u00)([0-9a-fA-F]{2})")
_CODE = re.compile(
    r"import|exec|eval|system|subprocess|https?:|curl|bash|/bin/|socket|require|child_process|powershell|environ|base64"
)
#: Facts that are dropped if there is a more specific one about the same line.
_CLEARER = {Act.RUN_DYNAMIC: (Act.RUN_REMOTE, Act.RUN_DECODED)}


class Program(msgspec.Struct):
    code: str
    #: Returns the statements, and whether they are complete.
    parse: Callable[[str], tuple[list[ast.stmt], bool]]
    language: Language


def read_program(program: Program) -> list[Fact]:
    depth = _nesting.get()
    if depth >= _MAX_NESTING:
        return []
    code = program.code[:MAX_CHARACTERS]
    token = _nesting.set(depth + 1)
    try:
        return _read(program, code)
    finally:
        _nesting.reset(token)


def _read(program: Program, code: str) -> list[Fact]:
    body, is_whole = program.parse(code)
    flow = Flow(code, program.language)
    is_too_much = len(program.code) > MAX_CHARACTERS
    try:
        flow.follow(body)
    except (OutOfSteps, RecursionError):
        is_too_much = True
    finally:
        flow.release()
    for line, is_for_process in flow.copies.items():
        if not is_for_process:
            flow.add(Act.READ_ALL_ENV, line)
    _find_escaped(flow, code)
    facts = _settle([*flow.facts.values(), *loose_commands(flow, body), *loose_secrets(flow)])
    is_too_much |= flow.is_cut
    if is_too_much or (not is_whole and _nesting.get() == 1):
        raise Unparsed("not all of the code could be parsed", facts, is_too_much=is_too_much)
    return facts


def _find_escaped(flow: Flow, code: str) -> None:
    r"""Find code words written as \x escapes, which only serves to hide them."""
    if "\\x" not in code and "\\u00" not in code:
        return
    for found in _ESCAPED.finditer(code):
        plain = _ESCAPE.sub(lambda part: chr(int(part[1], 16)), found[0])
        if _CODE.search(plain):
            flow.add(Act.HIDE, code.count("\n", 0, found.start()) + 1, detail=plain)


def _settle(facts: list[Fact]) -> list[Fact]:
    """Drop facts if there is a more specific one about the same line, and sort by line."""
    acts = {(fact.act, fact.line) for fact in facts}
    with_host = {(fact.act, fact.line) for fact in facts if fact.host}
    kept = [
        fact
        for fact in facts
        if not any((act, fact.line) in acts for act in _CLEARER.get(fact.act, ()))
        and (
            fact.host
            or fact.act not in {Act.FETCH, Act.SEND}
            or (fact.act, fact.line) not in with_host
        )
    ]
    return sorted(kept, key=lambda fact: (fact.line, fact.act, fact.detail, fact.host or ""))
