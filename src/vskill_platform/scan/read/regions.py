"""Split Markdown into regions (prose, code, quote, comment, …), each with its role for a reader."""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import groupby

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token


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
    #: The label of the fence.
    language: str = ""
    #: The headings above it, outermost first.
    headings: tuple[str, ...] = ()


#: The marker before the text of a list item, nested or not.
_ITEM = r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
_FENCE = re.compile(rf"^\s*{_ITEM}(?P<mark>`{{3,}}(?=[^`]*$)|~{{3,}})(?P<info>.*)$")
#: Fences about whose end readers disagree.
_INDENTED_FENCE = re.compile(rf"^(?!```|~~~)[ \t]*{_ITEM}(?:```|~~~)", re.MULTILINE)
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+")
#: Prefixes of lines that are not prose.
_SIGNS = frozenset("`~<#|>")
_ITEM_STARTS = frozenset("-*+0123456789")
#: By the specification, a line of only these characters is blank.
_BLANKS = " \t\r"
#: By the specification, marks indented this far, relative to their list item, are code.
_TOO_DEEP = 4
#: How many texts' regions are cached; each is needed for its words and for its settings.
_KEPT = 64
_KINDS = {"|": RegionKind.TABLE, ">": RegionKind.QUOTE}


@lru_cache(maxsize=_KEPT)
def split_markdown(text: str) -> tuple[Region, ...]:
    """Split a text into its regions; a line belongs to two if readers may interpret it as either.

    People and agents treat any line of marks as the end of a fence. By the specification, which web
    pages follow, marks with too much indentation do not close a fence, and a fence in a list ends
    with its item.
    """
    lines = text.split("\n")
    splitter = _Splitter(lines)
    regions = splitter.split()
    if splitter.are_fences_plain or not _INDENTED_FENCE.search(text):
        return tuple(regions)
    strictly = _Splitter(lines, is_strict=True).split()
    return tuple(sorted([*regions, *_differing(strictly, regions)], key=lambda region: region.line))


def _differing(regions: list[Region], others: list[Region]) -> Iterator[Region]:
    """Return the prose that is of another kind in *others*, and each fence with such lines."""
    kinds = {
        line: other.kind
        for other in others
        for line in range(other.line, other.line + other.text.count("\n") + 1)
    }
    for region in regions:
        numbered = enumerate(region.text.split("\n"), region.line)
        runs = groupby(numbered, key=lambda at: kinds.get(at[0]) is region.kind)
        other_lines = [list(run) for is_same, run in runs if not is_same]
        if region.kind is RegionKind.FENCE:
            yield from [region] if other_lines else []
            continue
        for run in other_lines:
            text = "\n".join(line for _, line in run)
            if not text.isspace():
                yield msgspec.structs.replace(region, line=run[0][0], text=text)


def _signs_in(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that start with a marker, counted from 0, and the marker.

    A fence may follow directly after a list marker.
    """
    for number, line in enumerate(lines):
        sign = line.lstrip()[:1]
        if sign in _SIGNS:
            yield number, sign
        elif sign in _ITEM_STARTS and (fence := _fence_in(line)):
            yield number, fence["mark"][0]


def _fence_in(line: str) -> re.Match[str] | None:
    return _FENCE.match(line) if "```" in line or "~~~" in line else None


class _Splitter:
    """Goes from marker to marker; everything between two markers is prose."""

    def __init__(self, lines: list[str], *, is_strict: bool = False) -> None:
        self._lines = lines
        self._is_strict = is_strict
        self._signs = list(_signs_in(lines))
        self._regions: list[Region] = []
        #: The headings above the current region, by level.
        self._headings: dict[int, str] = {}
        self._titles: tuple[str, ...] = ()
        #: The first line of each fence and the line after it; None if only their marks decide.
        self._fences: dict[int, int] | None = None
        #: Whether all readers agree about the fences.
        self.are_fences_plain = True
        #: The kind of the lines from here on, up to the next region.
        self._kind, self._start = RegionKind.PROSE, 0

    def split(self) -> list[Region]:
        number = self._start = self._take_frontmatter()
        if self._is_strict:
            self._fences = _find_fences(self._lines[number:], first_line=number)
        for place, (at, sign) in enumerate(self._signs):
            if at < number:  # inside a construct that was already taken
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
        """Take the line *at*, or a whole fence or comment; return the next line."""
        line = self._lines[at]
        is_fence = self._fences is None or at in self._fences
        if is_fence and sign in "`~" and (fence := _FENCE.match(line)):
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
        """Continue the region, or start another one with the line *at*."""
        if kind is not self._kind:
            self._flush(at)
            self._kind = kind

    def _flush(self, end: int) -> None:
        """Add the region up to the line before *end*."""
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
        end, after = self._end_of_fence(place, at, opening["mark"])
        body = "\n".join(self._lines[at + 1 : end])
        language = opening["info"].strip().split(" ")[0].strip("{}.").lower()
        self._append(RegionKind.FENCE, at + 1, body, language)
        self._start = after
        return after

    def _end_of_fence(self, place: int, at: int, mark: str) -> tuple[int, int]:
        """Return the line after the last one inside the fence, and where the text continues."""
        if self._fences is not None:
            after = self._fences[at]
            is_closed = after - 1 > at and self._closes(after - 1, mark)
            return after - is_closed, after
        for later in range(place + 1, len(self._signs)):
            line, sign = self._signs[later]
            if sign == mark[0] and self._closes(line, mark):
                self.are_fences_plain = self.are_fences_plain and self._is_plain(at, line)
                return line, line + 1
        self.are_fences_plain = self.are_fences_plain and _indentation(self._lines[at]) == 0
        return len(self._lines), len(self._lines)

    def _is_plain(self, opening: int, closing: int) -> bool:
        """Return whether all readers agree that a fence starts and ends with these lines.

        This is true for most fences, and much faster than parsing the text by the specification.
        """
        indentation = _indentation(self._lines[opening])
        if indentation == 0:
            return _indentation(self._lines[closing]) < _TOO_DEEP
        if indentation >= _TOO_DEEP or _indentation(self._lines[closing]) != indentation:
            return False
        # A line with less indentation would end the surrounding list item, and the fence with it.
        inside = self._lines[opening + 1 : closing]
        margin = " " * indentation
        return all(line.startswith(margin) or not line.strip(_BLANKS) for line in inside)

    def _closes(self, at: int, mark: str) -> bool:
        line = self._lines[at].strip()
        return line.startswith(mark) and not line.strip(mark[0])

    def _take_comment(self, at: int) -> int:
        self._flush(at)
        end = at
        while end < len(self._lines) and "-->" not in self._lines[end]:
            end += 1
        self._append(RegionKind.COMMENT, at, "\n".join(self._lines[at : end + 1]))
        self._start = end + 1
        return end + 1


def _indentation(line: str) -> int:
    """Return the indentation of a mark; after a tab or a list marker it counts as too deep."""
    mark = line.lstrip(" ")
    return len(line) - len(mark) if mark[:1] in "`~" else _TOO_DEEP


def _find_fences(lines: list[str], *, first_line: int) -> dict[int, int]:
    """Return the first line of each fence and the line after it, like web pages."""
    parser = MarkdownIt("commonmark")
    tokens: list[Token] = []
    # For everything that counts lines here, only \n ends a line.
    parser.block.parse("\n".join(lines).replace("\r", " "), parser, {}, tokens)
    return {
        first_line + token.map[0]: first_line + token.map[1]
        for token in tokens
        if token.type == "fence" and token.map
    }
