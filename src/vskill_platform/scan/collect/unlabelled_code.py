"""Read code whose language nothing states: unlabelled fences, indented code, values of settings.

An agent that is told to save and run a block of code recognises its language by reading it.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import msgspec
import re2

from vskill_platform.scan.collect.code_signs import code_signs
from vskill_platform.scan.collect.dependencies import run_at
from vskill_platform.scan.collect.read_any_text import read_any_text
from vskill_platform.scan.collect.settings_files import read_settings
from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.languages.dispatch import (
    Reader,
    read_javascript,
    read_powershell,
    read_python,
)
from vskill_platform.scan.languages.unparsed import Unparsed

#: Longer blocks and more of them are read in part; those that are labelled have other limits.
_MAX_CODE, _MAX_BLOCKS = 40_000, 200
#: By language, what its programs contain and prose hardly does.
_LANGUAGES: tuple[tuple[Reader, tuple[str, ...]], ...] = (
    (
        read_python,
        (
            r"(?m)^\s*(?:import [a-z_][\w.]*|from [\w.]+ import )",
            r"(?m)^\s*def \w+\([^\n]*:",
            r"\bexec\(|\beval\(|__import__|\bos\.(?:system|environ|popen)",
        ),
    ),
    (
        read_javascript,
        (
            r"\brequire\(|=>|\b(?:const|let|var) [\w{\[]|\bfetch\(|\bfunction\b|\bprocess\.env",
            r"new Function\(|\beval\(|\bBuffer\.from\(|(?m)^\s*import [^\n]* from [\"']",
        ),
    ),
    (
        read_powershell,
        (
            r"(?i)\$env:|\b(?:invoke|set|new|add|remove|start|copy)-[a-z]{4,}|\[[a-z.]+\]::",
            r"(?i)\b(?:iex|iwr|irm|certutil|schtasks|bitsadmin|vssadmin|netsh|wevtutil)\b",
            r"(?i)%[a-z]{4,}%|\breg add\b|\bsc (?:stop|config|delete)\b|\b(?:del|rmdir|rd) /",
            r"(?i)powershell",
        ),
    ),
)
_SIGNS = re2.Set.SearchSet()
for _, _signs in _LANGUAGES:
    _SIGNS.Add("|".join(f"(?:{_sign})" for _sign in _signs))
_SIGNS.Compile()
#: How settings begin, and what makes them worth reading.
_SETTINGS = (
    ("toml", re2.compile(r"^\s*\[{1,2}[A-Za-z][\w.\"'-]*\]{1,2}\s*\n")),
    ("json", re2.compile(r"^\s*[\[{]")),
    ("yaml", re2.compile(r"^\s*(?:---\s*\n\s*)?(?:- )?[\"']?[\w.-]+[\"']?:(?:\s|$)")),
)
_RUNS_OR_CONNECTS = re2.compile(
    r"(?i)mcp|permissions|command|\brun\b|script|hooks|exec|entry|tasks"
)
#: A here document: a file that a command writes, or a program that it runs.
_HERE = re.compile(r"<<-?[ \t]*['\"\\]?(\w{1,40})")
_QUOTE_MARK = re.compile(r"(?m)^[ \t]*>[ \t]?")
_QUOTED_FENCE = re.compile(
    r"(?m)^[ \t]*>[ \t]*(?:```|~~~)[^\n]{0,80}\n"
    r"((?:[ \t]*>(?![ \t]*(?:```|~~~))[^\n]{0,2000}\n?){1,400})"
)
_ELEMENT = re.compile(
    r"<(?:pre|code)\b[^>\n]{0,80}>\s{0,9}(?:<code[^>\n]{0,80}>)?([^<]{4,8000})</(?:pre|code)"
)
#: Code blocks, each with a pattern that quickly tells whether a text may contain any.
_MAY_BE_QUOTED = re2.compile(r">[ \t]*(?:```|~~~)")
_MAY_BE_ELEMENT = re2.compile("<(?:pre|code)")
_MAY_BE_INDENTED = re2.compile(r"(?:\A|\n)[ \t]*\n(?: {4}|\t)[ \t]*[^\s*+-]")
_INDENT = re.compile(r"^(?: {4}|\t)")
_ITEM = re.compile(r"^[ \t]*(?:[*+-]|\d{1,9}[.)])[ \t]")


#: Programs on one line have brackets or assignments; most values of settings have neither.
_CODE_MARK = re2.compile(r"[\w\])]\(|\w\s?=\s?[\w\"'\[{$]|[{}]|-\w+ \$")


class Block(NamedTuple):
    line: int
    code: str


def read_unlabelled(code: str) -> list[Fact]:
    """Return what code does in the languages that it may be written in, other than shell."""
    code = code[:_MAX_CODE]
    facts = [*_in_any_language(code), *code_signs(code), *read_here_documents(code)]
    return [fact for fact in facts if fact.act is not Act.OPAQUE]


def may_be_code(text: str) -> bool:
    """Tell quickly whether a text may be a program or settings."""
    return "\n" in text or _CODE_MARK.search(_raw(text)) is not None


def read_here_documents(code: str) -> list[Fact]:
    """Return what the programs and settings inside shell code do."""
    if "<<" not in code:
        return []
    return [
        msgspec.structs.replace(fact, line=fact.line + before)
        for before, body in islice(_here_documents(code), _MAX_BLOCKS)
        for fact in _in_any_language(body)
        if fact.act is not Act.OPAQUE
    ]


def _here_documents(code: str) -> Iterator[tuple[int, str]]:
    """Yield the documents, each with the number of lines before it."""
    lines = code.split("\n")
    ends: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        ends.setdefault(line.strip(), []).append(number)
    after = 0
    for number, line in enumerate(lines):
        if number < after or not (found := _HERE.search(line)):
            continue
        marks = ends.get(found[1], [])
        place = bisect_right(marks, number)
        if place < len(marks):
            after = marks[place]
            yield number + 1, "\n".join(lines[number + 1 : after])


def _in_any_language(code: str) -> Iterator[Fact]:
    for place in _SIGNS.Match(_raw(code)) or ():
        yield from _read(place, code)
    yield from read_any_text(code, is_code=True)
    yield from read_as_settings(code)


def _read(place: int, code: str) -> list[Fact]:
    try:
        return _LANGUAGES[place][0](code)
    except Unparsed as error:
        return error.facts


def read_as_settings(code: str) -> Iterator[Fact]:
    """Yield what a text does if it is JSON, TOML or YAML, whatever it is called."""
    raw = _raw(code)
    kind = next((kind for kind, begins in _SETTINGS if begins.search(raw)), None)
    if kind is None or not _RUNS_OR_CONNECTS.search(raw):
        return
    found = read_settings(code, kind)
    for line, command in found.commands:
        yield from run_at(command, line)
    yield from found.facts


def code_blocks(text: str) -> Iterator[Block]:
    """Yield code that is marked as such, but not by a fence: indented, quoted, or in HTML."""
    raw = _raw(text)
    if _MAY_BE_INDENTED.search(raw):
        yield from islice(_indented(text), _MAX_BLOCKS)
    if _MAY_BE_QUOTED.search(raw):
        for found in islice(_QUOTED_FENCE.finditer(text), _MAX_BLOCKS):
            yield Block(_line(text, found), _QUOTE_MARK.sub("", found[1]))
    yield from elements(text)


def elements(text: str) -> Iterator[Block]:
    """Yield the code in `<pre>` and `<code>`."""
    if _MAY_BE_ELEMENT.search(_raw(text)):
        for found in islice(_ELEMENT.finditer(text), _MAX_BLOCKS):
            yield Block(_line(text, found), html.unescape(found[1]))


def _indented(text: str) -> Iterator[Block]:
    """Yield runs of indented lines after an empty line; empty lines inside belong to them."""
    block: list[str] = []
    start, was_empty = 0, True
    for number, line in enumerate((*text.split("\n"), "end"), start=1):
        is_empty = not line.strip()
        if block and (is_empty or _INDENT.match(line)):
            block.append(_INDENT.sub("", line))
        elif block:
            yield Block(start, "\n".join(block))
            block = []
        elif was_empty and not is_empty and _INDENT.match(line) and not _ITEM.match(line):
            block, start = [_INDENT.sub("", line)], number
        was_empty = is_empty


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start(1)) + 1


def _raw(text: str) -> bytes:
    return text.encode(errors="replace")
