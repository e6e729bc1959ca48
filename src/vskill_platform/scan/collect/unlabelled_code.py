"""Read code without a declared language: unlabelled fences, indented code, values of settings.

An agent that is told to save and run a block of code recognises the language by itself.
"""

import html
import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import re2

from vskill_platform.scan.any_language.code_signs import code_signs
from vskill_platform.scan.any_language.read_any_text import read_any_text
from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.languages.dispatch import (
    Reader,
    read_javascript,
    read_powershell,
    read_python,
)
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.settings_files.dependencies import (
    requests_of_hook,
    run_at,
    shown_dependencies,
)
from vskill_platform.scan.settings_files.parse_settings import read_settings

#: Further blocks are not read, which is reported.
_MAX_DOCUMENTS = 2_000
#: For each language, text that its programs contain and prose hardly ever does.
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
            r"(?im)^[ \t]*(?:@echo|iex|iwr|irm|certutil|schtasks|bitsadmin|vssadmin|netsh)\b",
            r"(?im)^[ \t]*(?:wevtutil|powershell|pwsh|reg add|sc (?:stop|config|delete))\b",
            r"(?im)^[ \t]*(?:del|rmdir|rd) /",
            r"(?im)^[ \t]*(?:invoke|set|new|add|remove|start|copy|register)-[a-z]{4,}",
            r"(?im)^[ \t]*\$\w+ ?= ?(?:new-object|get-content|invoke-|\[[a-z.]+\]::)",
        ),
    ),
)
_SIGNS = re2.Set.SearchSet()
for _, _signs in _LANGUAGES:
    _SIGNS.Add("|".join(f"(?:{_sign})" for _sign in _signs))
_SIGNS.Compile()
#: Text that only these languages contain. Their strings are not commands unless the program runs
#: them.
_SURE = re2.compile(
    r"(?m)^[ \t]*(?:import [a-z_]|from [\w.]+ import |def \w+\(|(?:const|let|var) [\w{\[]"
    r"|function \w+\()"
)
#: The start of settings, and words that make them worth reading.
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
#: A text that a command writes to a file, and words that make it worth reading.
_WRITTEN = re.compile(
    r"\b(?:echo|printf)\s{1,4}(?:-\w{1,3}\s{1,4}|['\"]?%s[\\n'\"]{0,4}\s{1,4}){0,3}"
    r"(?:\"((?:[^\"\\]|\\.){12,4000})\"|'([^']{12,4000})')"
    r"[^|;&\n>]{0,80}(?:>>?\s{0,4}[~/.$\w\"'-]|\|\s{0,4}(?:sudo\s{1,4})?tee\b)"
)
_MAY_BE_WRITTEN = re2.compile(
    r"\b(?:echo|printf)\s[^\n]*(?:>|tee)|\b(?:echo|printf)\s+[^\n]*[\"'][^\"']*\n"
)
_MAY_MATTER = re2.compile(r"(?i)https?://|/dev/tcp|\bnc\b|base64|mshta|\bcurl\b|\bwget\b")
_QUOTE_MARK = re.compile(r"(?m)^[ \t]*>[ \t]?")
_QUOTED_FENCE = re.compile(
    r"(?m)^[ \t]*>[ \t]*(?:```|~~~)[^\n]{0,80}\n"
    r"((?:[ \t]*>(?![ \t]*(?:```|~~~))[^\n]{0,2000}\n?){1,400})"
)
#: Blocks of code in reStructuredText, AsciiDoc and Org.
_OTHER_BLOCK = re.compile(
    r"(?m)^\.\. (?:code-block|code|sourcecode|prompt)::[^\n]{0,80}\n(?:[ \t]+:[^\n]{0,80}\n){0,9}"
    r"(?:[ \t]*\n){0,3}((?:[ \t]+[^\n]{0,2000}\n?){1,400})"
    r"|^\[source[^\]\n]{0,80}\]\n-{4,80}\n((?:(?!----)[^\n]{0,2000}\n){1,400})----"
    r"|^[ \t]*#\+(?:begin_src|BEGIN_SRC)[^\n]{0,80}\n((?:(?![ \t]*#\+)[^\n]{0,2000}\n){1,400})"
)
_MAY_BE_OTHER_BLOCK = re2.compile(
    rb"(?m)^\.\. (?:code|source|prompt)|^\[source|#\+(?:begin|BEGIN)_"
)
_ELEMENT = re.compile(
    r"<(?:pre|code|kbd|samp|tt)\b[^>\n]{0,80}>\s{0,9}(?:<code[^>\n]{0,80}>)?([^<]{4,8000})"
    r"</(?:pre|code|kbd|samp|tt)"
)
_SCRIPT = re.compile(r"(?i)<script\b[^>\n]{0,300}>")
_SCRIPT_END = re.compile(r"(?i)</script")
_MAY_BE_SCRIPT = re2.compile(r"(?i)<script\b")
_EVENT = (
    r"on(?:abort|animation|before|blur|can|change|click|close|context|copy|cut|dbl|drag|drop|end|error"
    r"|focus|hash|input|invalid|key|load|message|mouse|page|paste|pause|play|pointer|reset|resize"
    r"|scroll|search|select|submit|toggle|touch|transition|unload|wheel)[a-z]{0,20}"
)
_HANDLER = re.compile(rf"(?i)\s{_EVENT}\s{{0,4}}=\s{{0,4}}(?:\"[^\"]{{0,4000}}\"|'[^']{{0,4000}}')")
_MAY_BE_HANDLER = re2.compile(rf"(?i)<\w[^>]{{0,400}}\s{_EVENT}\s*=")
#: Code blocks, each with a pattern that quickly tells whether a text may contain any.
_MAY_BE_QUOTED = re2.compile(r">[ \t]*(?:```|~~~)")
_MAY_BE_ELEMENT = re2.compile("<(?:pre|code|kbd|samp|tt)")
_MAY_BE_INDENTED = re2.compile(r"(?:\A|\n)[ \t]*\n(?: {4}|\t)[ \t]*[^\s*+-]")
_INDENT = re.compile(r"^(?: {4}|\t)")
_ITEM = re.compile(r"^[ \t]*(?:[*+-]|\d{1,9}[.)])[ \t]")


#: Programs on one line have brackets or assignments; most values of settings have neither.
_CODE_MARK = re2.compile(r"[\w\])]\(|\w\s?=\s?[\w\"'\[{$]|[{}]|-\w+ \$|do shell script")


#: Lines of lists, outlines and reports, and the share of such lines that is too high for code.
_REPORT_LINE = re.compile(
    r"\s*(?:[-*•├└│|+✓✗]|\d{1,3}[.)]\s|[A-Z][\w/()-]{0,20}(?: [\w/()-]{1,20}){0,3}:(?:\s|$)"
    r"|[=~_]{4}|\[[\d:T.-]{5,}"
    r"|\[(?:[+*!✓✗xX -]|[A-Z][A-Z ]{2,12}|\d{1,3}/\d{1,3})\][ \t]+(?![-!(\[]))"
)
_MAX_ITEMS = 0.3
#: What a program prints: columns, trees, rulers, headings and tags, but no steps.
_PRINTED_LINE = re.compile(
    r"\s*(?:[├└│]|[A-Z][\w/()#.-]{0,20}(?: [\w/()#.-]{1,20}){0,3}:(?: {2,}|\s*$)|[=~_━─-]{4}"
    r"|\[(?:[+*!✓✗-]|[A-Z][A-Z ]{2,12}|\d{1,3}/\d{1,3}|[\d:T.-]{5,25})\][ \t]+(?![-!(\[])"
    r"|[A-Z][A-Z /&()-]{5,60}$)"
)
#: The share of such lines in a report, and how many lines it has at least.
_REPORT, _LONG_REPORT = 0.6, 8


class CodeBlock(NamedTuple):
    line: int
    code: str


def read_unlabelled(code: str) -> list[Fact]:
    """Return what code does in each language that it may be written in, except shell."""
    facts = [*read_as_settings(code), *shown_dependencies(code)]
    code = _without_reports(code)
    if code.strip():
        facts += [*_in_any_language(code), *code_signs(code), *read_here_documents(code)]
    return [fact for fact in facts if not _is_noise(fact)]


def _without_reports(text: str) -> str:
    """Return a text without lines of lists, logs and outlines, which only mention commands."""
    lines = text.split("\n")
    is_item = [_REPORT_LINE.match(line) is not None for line in lines]
    if sum(is_item) <= _MAX_ITEMS * sum(bool(line.strip()) for line in lines):
        return text
    return "\n".join("" if item else line for line, item in zip(lines, is_item, strict=True))


def is_report(text: str) -> bool:
    """Return whether a text is the output of a program: nobody is told to do what it says."""
    lines = [line for line in text.split("\n") if line.strip()]
    count = sum(_PRINTED_LINE.match(line) is not None for line in lines)
    return len(lines) >= _LONG_REPORT and count >= _REPORT * len(lines)


def _is_noise(fact: Fact) -> bool:
    """Return whether a text cannot be parsed, so that it may not be code."""
    return fact.act is Act.OPAQUE and fact.detail != "cut"


def may_be_code(text: str) -> bool:
    """Return quickly whether a text may be a program or settings."""
    return "\n" in text or _CODE_MARK.search(_raw(text)) is not None


def read_here_documents(code: str) -> list[Fact]:
    """Return what the programs and settings inside shell code do."""
    if "<<" not in code and ">" not in code and "tee" not in code:
        return []
    facts = []
    for count, (before, body) in enumerate((*_here_documents(code), *_written_strings(code))):
        if count == _MAX_DOCUMENTS:
            text = "more here documents than can be analysed"
            facts.append(Fact(act=Act.OPAQUE, line=before, text=text, detail="cut"))
            break
        found = (*_in_any_language(body), *read_as_settings(body))
        facts += [msgspec.structs.replace(fact, line=fact.line + before) for fact in found]
    return [fact for fact in facts if not _is_noise(fact)]


def _written_strings(code: str) -> Iterator[tuple[int, str]]:
    """Yield the texts that echo and printf write into files, if they may be programs."""
    for found in _WRITTEN.finditer(code) if _MAY_BE_WRITTEN.search(_raw(code)) else ():
        text = found[1] or found[2] or ""
        if _MAY_MATTER.search(_raw(text)):
            plain = text.replace("\\n", "\n").replace("\\$", "$").replace('\\"', '"')
            yield code.count("\n", 0, found.start()), plain


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
    is_parsed = _SURE.search(_raw(code)) is not None
    for place in _SIGNS.Match(_raw(code)) or ():
        try:
            yield from _LANGUAGES[place][0](code)
        except Unparsed as error:
            yield from error.facts
            is_parsed = False
    if not is_parsed:
        yield from read_any_text(code, is_code=True)


def read_as_settings(code: str) -> Iterator[Fact]:
    """Yield what a text does if it is JSON, TOML or YAML, whatever its label."""
    raw = _raw(code)
    kind = next((kind for kind, begins in _SETTINGS if begins.search(raw)), None)
    if kind is None or not _RUNS_OR_CONNECTS.search(raw):
        return
    found = read_settings(code, kind)
    for line, command in found.commands:
        yield from run_at(command, line)
    for line, command in found.hooks:
        yield from requests_of_hook(command, line)
    yield from found.facts


def code_blocks(text: str) -> Iterator[CodeBlock]:
    """Yield code that is marked as such, but not by a fence: indented, quoted, or in HTML."""
    raw = _raw(text)
    if _MAY_BE_INDENTED.search(raw):
        yield from _indented(text)
    if _MAY_BE_QUOTED.search(raw):
        for line, code in _found(_QUOTED_FENCE, text):
            yield CodeBlock(line, _QUOTE_MARK.sub("", code))
    if _MAY_BE_OTHER_BLOCK.search(raw):
        for found in _OTHER_BLOCK.finditer(text):
            code = next(part for part in found.groups() if part is not None)
            line = text.count("\n", 0, found.start(found.lastindex or 0)) + 1
            yield CodeBlock(line, textwrap.dedent(code))
    yield from elements(text)


def elements(text: str) -> Iterator[CodeBlock]:
    """Yield the code in `<pre>`, `<code>` and similar elements."""
    if _MAY_BE_ELEMENT.search(_raw(text)):
        for line, code in _found(_ELEMENT, text):
            yield CodeBlock(line, html.unescape(code))


def page_scripts(text: str) -> Iterator[CodeBlock]:
    """Yield the scripts of a page, which run where it is shown."""
    line, last = 1, 0
    for start, end in _scripts(text):
        line += text.count("\n", last, start)
        last = start
        yield CodeBlock(line, text[start:end])


def _scripts(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the scripts of a page start and end; no text is searched twice."""
    at = 0
    while (tag := _SCRIPT.search(text, at)) and (end := _SCRIPT_END.search(text, tag.end())):
        yield tag.end(), end.start()
        at = end.end()


def without_page_scripts(text: str) -> str:
    """Return a page without scripts and event handlers, or an empty text if it has none."""
    raw = _raw(text)
    if not (_MAY_BE_SCRIPT.search(raw) or _MAY_BE_HANDLER.search(raw)):
        return ""
    outside, last = [], 0
    for start, end in _scripts(text):
        outside.append(text[last:start])
        last = end
    return _HANDLER.sub(" ", " ".join((*outside, text[last:])))


def _found(pattern: re.Pattern[str], text: str) -> Iterator[CodeBlock]:
    line, last = 1, 0
    for found in pattern.finditer(text):
        line += text.count("\n", last, found.start(1))
        last = found.start(1)
        yield CodeBlock(line, found[1])


def _indented(text: str) -> Iterator[CodeBlock]:
    """Yield runs of indented lines after an empty line; empty lines inside belong to them."""
    block: list[str] = []
    start, was_empty = 0, True
    for number, line in enumerate((*text.split("\n"), "end"), start=1):
        is_empty = not line.strip()
        if block and (is_empty or _INDENT.match(line)):
            block.append(_INDENT.sub("", line))
        elif block:
            yield CodeBlock(start, "\n".join(block))
            block = []
        elif was_empty and not is_empty and _INDENT.match(line) and not _ITEM.match(line):
            block, start = [_INDENT.sub("", line)], number
        was_empty = is_empty


def _raw(text: str) -> bytes:
    return text.encode(errors="replace")
