"""A Markdown text cut into regions, each with the role that it plays for whoever reads it."""

import re
from enum import StrEnum
from itertools import islice

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


_FENCE = re.compile(r"^(?P<indent>\s*)(?P<mark>`{3,}|~{3,})\s*(?P<info>[^`]*)$")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+")
#: What a line of another kind than prose starts with.
_SIGNS = frozenset("`~<#|>")
_KINDS = {"|": RegionKind.TABLE, ">": RegionKind.QUOTE}


def split_markdown(text: str) -> list[Region]:
    """Cut a text into its regions; every line belongs to exactly one."""
    return _Splitter(text.split("\n")).split()


class _Splitter:
    """Goes from sign to sign: whatever lies between two of them is prose."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        #: The lines that start with a sign, counted from 0, and which sign that is.
        self._signs = [
            (number, sign)
            for number, line in enumerate(lines)
            if (sign := line.lstrip()[:1]) in _SIGNS
        ]
        self._regions: list[Region] = []
        #: By their levels; those above the region that is being read.
        self._headings: dict[int, str] = {}
        self._titles: tuple[str, ...] = ()
        #: What the lines are from here on, up to where the next region begins.
        self._kind, self._start = RegionKind.PROSE, 0

    def split(self) -> list[Region]:
        number = self._start = self._take_frontmatter()
        for place, (at, sign) in enumerate(self._signs):
            if at < number:  # inside of what was taken as a whole
                continue
            if at > number:
                self._begin(RegionKind.PROSE, number)
            number = self._take(place, at, sign)
        if number < len(self._lines):
            self._begin(RegionKind.PROSE, number)
        self._flush(len(self._lines))
        return self._regions

    def _take_frontmatter(self) -> int:
        lines = self._lines
        if not lines or lines[0].strip("\ufeff \r") != "---":
            return 0
        for end in range(1, len(lines)):
            if lines[end].rstrip() == "---":
                head = "\n".join(lines[1:end])
                self._regions.append(Region(kind=RegionKind.FRONTMATTER, line=2, text=head))
                return end + 1
        return 0

    def _take(self, place: int, at: int, sign: str) -> int:
        """Take the line *at*, or a whole fence or comment; return what comes next."""
        line = self._lines[at]
        if sign in "`~" and (fence := _FENCE.match(line)):
            return self._take_fence(place, at, fence)
        if sign == "<" and line.lstrip().startswith("<!--"):
            return self._take_comment(at)
        if sign == "#" and (heading := _HEADING.match(line)):
            self._flush(at)
            level = len(heading[1])
            title = line[heading.end() :].rstrip().rstrip("#").rstrip()
            self._headings = {up: self._headings[up] for up in self._headings if up < level}
            self._headings[level] = title
            self._titles = tuple(self._headings.values())
        self._begin(_KINDS.get(sign, RegionKind.PROSE), at)
        return at + 1

    def _begin(self, kind: RegionKind, at: int) -> None:
        """Go on with the region, or begin another one with the line *at*."""
        if kind is not self._kind:
            self._flush(at)
            self._kind = kind

    def _flush(self, end: int) -> None:
        """Add what was read up to the line before *end*."""
        text = "\n".join(self._lines[self._start : end])
        if text and not text.isspace():
            self._append(self._kind, self._start, text)
        self._start = end

    def _append(self, kind: RegionKind, start: int, text: str, language: str = "") -> None:
        self._regions.append(
            Region(
                kind=kind,
                line=start + 1,
                text=text,
                language=language,
                headings=self._titles,
            )
        )

    def _take_fence(self, place: int, at: int, opening: re.Match[str]) -> int:
        self._flush(at)
        end = self._end_of_fence(place, opening["mark"])
        body = "\n".join(self._lines[at + 1 : end])
        language = opening["info"].strip().split(" ")[0].strip("{}.").lower()
        self._append(RegionKind.FENCE, at + 1, body, language)
        self._start = end + 1
        return end + 1

    def _end_of_fence(self, place: int, mark: str) -> int:
        for at, sign in islice(self._signs, place + 1, None):
            if sign == mark[0]:
                closing = self._lines[at].strip()
                if closing.startswith(mark) and not closing.strip(sign):
                    return at
        return len(self._lines)

    def _take_comment(self, at: int) -> int:
        self._flush(at)
        end = at
        while end < len(self._lines) and "-->" not in self._lines[end]:
            end += 1
        self._append(RegionKind.COMMENT, at, "\n".join(self._lines[at : end + 1]))
        self._start = end + 1
        return end + 1
