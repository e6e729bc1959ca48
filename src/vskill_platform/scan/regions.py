"""A Markdown text cut into regions, each with the role that it plays for whoever reads it."""

import re
from collections.abc import Iterator
from enum import StrEnum

import msgspec


class RegionKind(StrEnum):
    PROSE = "prose"
    FENCE = "fence"
    TABLE = "table"
    QUOTE = "quote"
    COMMENT = "comment"
    FRONTMATTER = "frontmatter"


class Region(msgspec.Struct, frozen=True, kw_only=True):
    kind: RegionKind
    #: The first line, counted from 1 in the file.
    line: int
    text: str
    #: What the fence says it holds.
    language: str = ""
    #: The headings above it, outermost first.
    headings: tuple[str, ...] = ()
    #: The line of prose before it, which often says what it is.
    lead: str = ""


_FENCE = re.compile(r"^(?P<indent>\s*)(?P<mark>`{3,}|~{3,})\s*(?P<info>[^`]*)$")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
#: What a line of another kind than prose starts with.
_SIGNS = frozenset("`~<#|>")
_KINDS = {"|": RegionKind.TABLE, ">": RegionKind.QUOTE}
_MAX_BARE = 4_000
_BARE = re.compile(
    r"(?:^|[\s:>])((?:sudo\s{1,9})?(?:curl|wget|echo|base64|bash|sh|iwr|irm)\s[^`\n]{0,600}?"
    r"(?:\|\s{0,9}(?:sudo\s{1,9})?(?:(?:ba|z|da)?sh|iex)\b|<\()[^`\n]{0,200})"
)
_INLINE = re.compile(r"(`{1,2})([^`\n]{3,400})\1")


def split_markdown(text: str) -> list[Region]:
    """Cut a text into its regions; every line belongs to exactly one."""
    splitter = _Splitter()
    lines = text.split("\n")
    number = splitter.take_frontmatter(lines)
    while number < len(lines):
        number = splitter.take(lines, number)
    splitter.flush()
    return splitter.regions


def inline_code(region: Region) -> list[tuple[int, str]]:
    """Return the pieces of code inside of prose, each with its line."""
    return [
        (region.line + offset, code)
        for offset, line in enumerate(region.text.split("\n"))
        for code in _code_in(line)
    ]


def _code_in(line: str) -> Iterator[str]:
    if "`" in line:
        for found in _INLINE.finditer(line):
            yield found[2]
    # An agent runs a command that stands bare in a sentence as readily as a marked one.
    if ("|" in line or "<(" in line) and ("http" in line or "base64" in line):
        for found in _BARE.finditer(line[:_MAX_BARE]):
            yield found[1]


class _Splitter:
    def __init__(self) -> None:
        self.regions: list[Region] = []
        self._headings: list[tuple[int, str]] = []
        self._kind = RegionKind.PROSE
        self._start = 1
        self._lines: list[str] = []
        self._lead = ""

    def take_frontmatter(self, lines: list[str]) -> int:
        if not lines or lines[0].strip("\ufeff \r") != "---":
            return 0
        for end in range(1, len(lines)):
            if lines[end].rstrip() == "---":
                head = "\n".join(lines[1:end])
                self.regions.append(Region(kind=RegionKind.FRONTMATTER, line=2, text=head))
                return end + 1
        return 0

    def take(self, lines: list[str], number: int) -> int:
        """Take the line at *number*, or a whole fence or comment; return what comes next."""
        line = lines[number]
        first = line.lstrip()[:1]
        if first not in _SIGNS:
            self._add(RegionKind.PROSE, number + 1, line)
            return number + 1
        fence = _FENCE.match(line) if first in "`~" else None
        if fence:
            return self._take_fence(lines, number, fence)
        if first == "<" and line.lstrip().startswith("<!--"):
            return self._take_comment(lines, number)
        heading = _HEADING.match(line) if first == "#" else None
        if heading:
            self.flush()
            level = len(heading[1])
            self._headings = [item for item in self._headings if item[0] < level]
            self._headings.append((level, heading[2]))
        self._add(_KINDS.get(first, RegionKind.PROSE), number + 1, line)
        return number + 1

    def flush(self) -> None:
        if any(line.strip() for line in self._lines):
            self._append(self._kind, self._start, "\n".join(self._lines))
            if self._kind is RegionKind.PROSE:
                self._lead = next(line for line in reversed(self._lines) if line.strip())
        self._lines = []

    def _add(self, kind: RegionKind, number: int, line: str) -> None:
        if kind is not self._kind or not self._lines:
            self.flush()
            self._kind, self._start = kind, number
        self._lines.append(line)

    def _append(self, kind: RegionKind, line: int, text: str, language: str = "") -> None:
        headings = tuple(title for _, title in self._headings)
        self.regions.append(
            Region(
                kind=kind,
                line=line,
                text=text,
                language=language,
                headings=headings,
                lead=self._lead,
            )
        )

    def _take_fence(self, lines: list[str], number: int, opening: re.Match[str]) -> int:
        self.flush()
        mark = opening["mark"]
        end = number + 1
        while end < len(lines):
            closing = lines[end].strip()
            if closing.startswith(mark) and not closing.strip(mark[0]):
                break
            end += 1
        body = "\n".join(lines[number + 1 : end])
        language = opening["info"].strip().split(" ")[0].strip("{}.").lower()
        self._append(RegionKind.FENCE, number + 2, body, language)
        return end + 1

    def _take_comment(self, lines: list[str], number: int) -> int:
        self.flush()
        end = number
        while end < len(lines) and "-->" not in lines[end]:
            end += 1
        self._append(RegionKind.COMMENT, number + 1, "\n".join(lines[number : end + 1]))
        return end + 1
