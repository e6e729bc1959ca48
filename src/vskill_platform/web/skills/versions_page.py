"""The versions of a skill, and what changed from one to another."""

import re
from collections.abc import Iterator
from itertools import accumulate

import msgspec
from litestar.response import Template

from vskill_platform.base.few_threads import in_few_threads
from vskill_platform.publish.versions.diff_versions import NO_NEWLINE, FileChange
from vskill_platform.publish.versions.list_versions import diff_of_skill, list_versions
from vskill_platform.web.html.templating import shown as ready
from vskill_platform.web.skills.skill_head import OpenSkill, skill_page
from vskill_platform.web.skills.slugs import PageRequest, asked_version

#: More changed lines of one file, or on one page, make no reader wiser, and a browser slow.
MAX_FILE_ROWS = 500
MAX_ROWS = 2_000
MAX_CHARACTERS = 200_000
_MAX_LINE = 500
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_CLASSES = {"+": "add", "-": "del", "@": "gap"}


class DiffRow(msgspec.Struct, frozen=True):
    #: The line's number before and after; None where it is not there.
    old: int | None
    new: int | None
    text: str
    kind: str


class ShownChange(msgspec.Struct, frozen=True):
    change: FileChange
    rows: tuple[DiffRow, ...]
    note: str


async def skill_versions(request: PageRequest, opened: OpenSkill) -> Template:
    found = await list_versions(opened.skill.slug)
    return await skill_page(
        request, opened, "pages/skill_versions.html", "versions", rows=found.versions
    )


async def skill_diff(request: PageRequest, opened: OpenSkill) -> Template:
    """Compare two versions; unless told, the newest with the one before."""
    slug = opened.skill.slug
    old, new = asked_version(request, "from"), asked_version(request, "to")
    found = await diff_of_skill(slug, old, new)
    versions = (await list_versions(slug)).versions
    return await skill_page(
        request,
        opened,
        "pages/skill_diff.html",
        "versions",
        diff=found,
        changes=await in_few_threads(shown_changes, found.files),
        names=[row.version.version for row in versions],
    )


def shown_changes(files: tuple[FileChange, ...]) -> list[ShownChange]:
    """Give every line its numbers, as many as one page takes."""
    room, shown = MAX_ROWS, []
    characters = MAX_CHARACTERS
    for change in files:
        fitting = _fitting(change.lines[: min(room, MAX_FILE_ROWS)], characters)
        rows = tuple(_rows(fitting))
        characters -= sum(len(row.text) for row in rows)
        left = len(change.lines) - len(rows)
        note = f"{left:,} more lines; the page is long enough" if left else change.note
        shown.append(ShownChange(change, rows, note))
        room -= len(rows)
    return shown


def _fitting(lines: tuple[str, ...], characters: int) -> tuple[str, ...]:
    sizes = accumulate(len(line) for line in lines)
    return tuple(line for line, size in zip(lines, sizes, strict=True) if size <= characters)


def _rows(lines: tuple[str, ...]) -> Iterator[DiffRow]:
    old = new = 0
    for line in lines:
        found = _HUNK.match(line)
        if found:
            old, new = int(found[1]), int(found[2])
            yield DiffRow(None, None, "⋯", "gap")
            continue
        if line == NO_NEWLINE:
            yield DiffRow(None, None, line.removeprefix("\\ "), "gap")
            continue
        is_old, is_new = not line.startswith("+"), not line.startswith("-")
        kind = _CLASSES.get(line[:1], "")
        text = ready(line[1:_MAX_LINE])
        yield DiffRow(old if is_old else None, new if is_new else None, text, kind)
        old, new = old + is_old, new + is_new
