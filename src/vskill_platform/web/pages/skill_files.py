"""The files of a skill as they were checked: the tree, and one of them with its lines."""

from itertools import groupby, islice
from posixpath import dirname

import msgspec
from litestar.response import Template

from vskill_platform.base.few_threads import in_few_threads
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import SkillFile
from vskill_platform.publish.read_files import read_file, text_of
from vskill_platform.web.pages.skill_head import OpenSkill, skill_page
from vskill_platform.web.pages.skill_places import PageRequest

#: Of a longer file, or one with longer lines, the rest is to be had as a download.
MAX_BYTES = 1024 * 1024
MAX_LINES = 5_000
MAX_LINE_CHARACTERS = 2_000


class FileLines(msgspec.Struct, frozen=True):
    #: Number, text, and whether it is the one that is meant: none is.
    lines: tuple[tuple[int, str, bool], ...] = ()
    #: Why there are none, or not all of them.
    note: str = ""


async def skill_files(request: PageRequest, opened: OpenSkill) -> Template:
    if not opened.path:
        return await _tree(request, opened, "")
    files = {file.path: file for file in opened.version.files}
    if opened.path in files:
        return await _file(request, opened, files[opened.path])
    if any(path.startswith(f"{opened.path}/") for path in files):
        return await _tree(request, opened, opened.path)
    raise NotFound(f"{opened.skill.slug} {opened.version.version} has no file {opened.path!r}")


async def _tree(request: PageRequest, opened: OpenSkill, folder: str) -> Template:
    inside = [
        file for file in opened.version.files if not folder or file.path.startswith(f"{folder}/")
    ]
    inside.sort(key=lambda file: (dirname(file.path), file.path))
    folders = [(name, list(files)) for name, files in groupby(inside, lambda f: dirname(f.path))]
    return await skill_page(
        request,
        opened,
        "pages/skill_files.html",
        "files",
        folder=folder,
        folders=folders,
        count=len(inside),
        total=sum(file.size for file in inside),
    )


async def _file(request: PageRequest, opened: OpenSkill, file: SkillFile) -> Template:
    return await skill_page(
        request,
        opened,
        "pages/skill_file.html",
        "files",
        file=file,
        content=await _lines(opened, file),
    )


async def _lines(opened: OpenSkill, file: SkillFile) -> FileLines:
    if file.size > MAX_BYTES:
        return FileLines(note=f"It has more than {MAX_BYTES:,} bytes and is not shown.")
    raw = await read_file(opened.version, file.path)
    return await in_few_threads(number_lines, raw)


def number_lines(raw: bytes) -> FileLines:
    """Make a file fit to be shown; what is no text, or too long, says so."""
    text = text_of(raw)
    if text is None:
        return FileLines(note="It is not a text, so there are no lines to show.")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    shown = tuple(
        (number, _cut(line.removesuffix("\r")), False)
        for number, line in enumerate(islice(lines, MAX_LINES), start=1)
    )
    if len(lines) > MAX_LINES:
        return FileLines(shown, f"These are the first {MAX_LINES:,} of {len(lines):,} lines.")
    return FileLines(shown, "" if lines else "The file is empty.")


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:MAX_LINE_CHARACTERS]}…"
