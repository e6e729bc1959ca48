"""Read links that do more than show a page: deep links into an agent or editor, `data:` URLs.

A deep link installs a tool server or an extension with one click, and a `data:` URL is a page or
program by itself. Their content is decoded and read like a file of the skill.
"""

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

import msgspec
import re2

from vskill_platform.scan.collect.locate_facts import locate
from vskill_platform.scan.facts.decode_text import decode_literal
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, shorten
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.skill_files import ScanFile
from vskill_platform.scan.settings_files.dependencies import run_at
from vskill_platform.scan.settings_files.parse_settings import read_settings, server_facts

_MAX_LINKS = 100
_MAX_LINK = 20_000
_SCHEMES = (
    r"cursor|vscode|vscode-insiders|vscodium|windsurf|trae|kiro|zed|claude|claude-cli|codex|goose|"
    r"raycast|warp|lmstudio|cherrystudio|jetbrains|idea|search-ms|ms-msdt|ms-appinstaller|shortcuts"
)
_DEEP = re.compile(
    rf"(?<![\w.-])(?:{_SCHEMES}):(?://|mcp/|extension/)[^\s)\"'`<>]{{4,{_MAX_LINK}}}"
)
_DATA = re.compile(
    rf"data:(?:text/(?:html|javascript|x-\w+)|application/(?:javascript|x-\w+|octet-stream)|"
    rf"image/svg\+xml)[\w;=+-]{{0,60}},([^\s)\"'`<>]{{8,{_MAX_LINK}}})"
)
_MAY = re2.compile(rf"\b(?:{_SCHEMES}):|\bdata:(?:text|application|image/svg)/?")
_PARAMETER = re.compile(r"[?&]\w{1,40}=([^&#]{8,20000})")
#: Acts of a page or program in a URL that an image cannot perform.
_ACTIVE = re.compile(
    r"<script|\bfetch\s?\(|\bimport\b|\beval\b|\bexec|document\.|location|XMLHttpRequest|require\s?\(",
    re.IGNORECASE,
)


def link_facts(files: list[ScanFile]) -> list[LocatedFact]:
    return [
        located
        for file in files
        if file.kind is FileType.TEXT and _MAY.search(file.text.encode(errors="replace"))
        for located in locate(_facts(file.text), file)
    ]


def _facts(text: str) -> Iterator[Fact]:
    for found in islice(_DEEP.finditer(text), _MAX_LINKS):
        line = text.count("\n", 0, found.start()) + 1
        for payload in _payloads(found[0]):
            yield from _carried(payload, line)
    for found in islice(_DATA.finditer(text), _MAX_LINKS):
        plain = unquote(decode_literal(unquote(found[1])) or found[1])
        if _ACTIVE.search(plain):
            line = text.count("\n", 0, found.start()) + 1
            yield Fact(act=Act.HIDE, line=line, text=shorten(plain), detail="encoded page")


def _payloads(link: str) -> Iterator[str]:
    """Yield the link and its decoded parameters."""
    plain = unquote(unquote(link))
    yield plain.partition(":")[2].lstrip("/")
    for value in _PARAMETER.findall(link):
        if decoded := decode_literal(unquote(value)):
            yield decoded


def _carried(payload: str, line: int) -> Iterator[Fact]:
    """Return the tool servers that a link connects and the commands that it contains."""
    start = payload.find("{")
    settings = read_settings(payload[start:], "json") if start >= 0 else None
    for _, command in settings.commands if settings else ():
        yield from run_at(command, line)
    address = payload.find("http")
    if address >= 0:
        for fact in server_facts(payload[address:], line):
            yield msgspec.structs.replace(fact, text=shorten(payload))
