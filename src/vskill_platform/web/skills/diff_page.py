"""The page of the diff between two versions: numbered, colored, and page by page."""

import re
from collections.abc import Iterator

import msgspec
from litestar.response import Template
from markupsafe import Markup

from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.publish.versions.diff_versions import NO_NEWLINE, FileChange
from vskill_platform.publish.versions.find_version import diff_of_skill
from vskill_platform.web.html.highlight import Code, Spans, highlight, lexer_of_path, paint_lines
from vskill_platform.web.html.numbered_lines import show_pieces
from vskill_platform.web.html.templating import shown as ready
from vskill_platform.web.http.requests import WebRequest, whole_number
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.skills.capabilities import group_capabilities
from vskill_platform.web.skills.open_skill import OpenSkill, skill_page
from vskill_platform.web.skills.slugs import requested_version

#: How many lines of a diff one page shows, and how many characters.
MAX_ROWS = 1_000
MAX_CHARACTERS = 200_000
_MAX_LINE = 500
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_CLASSES = {"+": "add", "-": "del", "@": "gap"}


class DiffRow(msgspec.Struct, frozen=True):
    #: Line number before and after; None if absent.
    old: int | None
    new: int | None
    text: Markup
    kind: str


class ShownChange(msgspec.Struct, frozen=True):
    """The part of a changed file that is on one page."""

    change: FileChange
    rows: tuple[DiffRow, ...]
    note: str
    #: Whether it continues from the previous page.
    is_continued: bool = False


class DiffPage(msgspec.Struct, frozen=True):
    changes: tuple[ShownChange, ...]
    number: int
    count: int
    #: The number of lines and files on all pages.
    lines: int
    files: int


async def skill_diff(request: WebRequest, opened: OpenSkill) -> Template:
    """Compare two versions; by default the newest and the one before."""
    slug = opened.skill.slug
    old, new = requested_version(request, "from"), requested_version(request, "to")
    found = await diff_of_skill(slug, old, new)
    gained = None if found.gained is None else group_capabilities(found.gained)
    number = whole_number(request.query_params.get("page", ""))
    return await skill_page(
        request,
        opened,
        "pages/skill_diff.html",
        "versions",
        diff=found,
        gained=gained,
        page=await show_page(found.files, number),
        page_url=lambda page: skill_url(
            slug, "diff", **{"from": found.old, "to": found.new, "page": page}
        ),
    )


async def show_page(files: tuple[FileChange, ...], number: int = 1) -> DiffPage:
    """Return one page of the changed lines, with their numbers and colors."""
    pages = await in_few_threads(split_pages, files)
    number = min(max(number, 1), len(pages))
    parts = pages[number - 1]
    codes = [code for part in parts for code in _sides(part)]
    spans = await highlight(codes)
    shown = await in_few_threads(_show_parts, parts, codes, spans)
    total = sum(len(change.lines) for change in files)
    return DiffPage(tuple(shown), number, len(pages), total, len(files))


class _Row(msgspec.Struct, frozen=True):
    """A line of a diff with its numbers, before it is colored."""

    old: int | None
    new: int | None
    text: str
    kind: str


class _Part(msgspec.Struct, frozen=True):
    change: FileChange
    rows: tuple[_Row, ...]
    is_continued: bool = False


def split_pages(files: tuple[FileChange, ...]) -> list[list[_Part]]:
    """Split the lines of all files into pages; a long file continues on the next page."""
    pages: list[list[_Part]] = [[]]
    rows_left, characters_left = MAX_ROWS, MAX_CHARACTERS
    for change in files:
        rows: list[_Row] = []
        is_continued = False
        for row in _rows(change.lines):
            if rows_left <= 0 or len(row.text) > characters_left:
                if rows:
                    pages[-1].append(_Part(change, tuple(rows), is_continued))
                    rows, is_continued = [], True
                pages.append([])
                rows_left, characters_left = MAX_ROWS, MAX_CHARACTERS
            rows.append(row)
            rows_left, characters_left = rows_left - 1, characters_left - len(row.text)
        pages[-1].append(_Part(change, tuple(rows), is_continued))
    return [page for page in pages if page] or [[]]


def _rows(lines: tuple[str, ...]) -> Iterator[_Row]:
    old = new = 0
    for line in lines:
        found = _HUNK.match(line)
        if found:
            old, new = int(found[1]), int(found[2])
            if max(old, new) > 1:  # no gap before the first line
                yield _Row(None, None, "⋯", "gap")
            continue
        if line == NO_NEWLINE:
            yield _Row(None, None, line.removeprefix("\\ "), "gap")
            continue
        is_old, is_new = not line.startswith("+"), not line.startswith("-")
        kind = _CLASSES.get(line[:1], "")
        yield _Row(old if is_old else None, new if is_new else None, line[1:_MAX_LINE], kind)
        old, new = old + is_old, new + is_new


def _sides(part: _Part) -> list[Code]:
    """Return the lines before and after as two texts: each is valid code, the mix is not."""
    lexer = lexer_of_path(part.change.path)
    return [
        Code("\n".join(row.text for row in _side(part, without)), lexer)
        for without in ("add", "del")
    ]


def _side(part: _Part, without: str) -> list[_Row]:
    return [row for row in part.rows if row.kind not in {without, "gap"}]


def _show_parts(parts: list[_Part], codes: list[Code], spans: list[Spans]) -> list[ShownChange]:
    sides = zip(codes, spans, strict=True)
    return [_show_part(part, next(sides), next(sides)) for part in parts]


def _show_part(part: _Part, before: tuple[Code, Spans], after: tuple[Code, Spans]) -> ShownChange:
    old, new = (iter(paint_lines(code.text, spans)) for code, spans in (before, after))
    rows = []
    for row in part.rows:
        text = ready(row.text)
        if row.kind != "gap":
            sides = [next(side) for side, skip in ((old, "add"), (new, "del")) if row.kind != skip]
            text = show_pieces(sides[-1])
        rows.append(DiffRow(row.old, row.new, text, row.kind))
    note = next((spans.note for _, spans in (before, after) if spans.note), part.change.note)
    return ShownChange(part.change, tuple(rows), note, part.is_continued)
