"""The files of a version: the tree, and one file with numbered lines."""

from itertools import groupby
from posixpath import dirname

from litestar.response import Template

from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import SkillFile
from vskill_platform.publish.versions.version_files import read_file, text_of
from vskill_platform.web.html.numbered_lines import ShownLines, show_lines
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.skills.open_skill import OpenSkill, skill_page

#: Larger files can only be downloaded.
MAX_BYTES = 1024 * 1024


async def skill_files(request: WebRequest, opened: OpenSkill) -> Template:
    if not opened.path:
        return await _tree(request, opened, "")
    files = {file.path: file for file in opened.version.files}
    if opened.path in files:
        return await _file(request, opened, files[opened.path])
    if any(path.startswith(f"{opened.path}/") for path in files):
        return await _tree(request, opened, opened.path)
    raise NotFound(f"{opened.skill.slug} {opened.version.version} has no file {opened.path!r}")


async def _tree(request: WebRequest, opened: OpenSkill, folder: str) -> Template:
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


async def _file(request: WebRequest, opened: OpenSkill, file: SkillFile) -> Template:
    return await skill_page(
        request,
        opened,
        "pages/skill_file.html",
        "files",
        file=file,
        content=await _lines(opened, file),
    )


async def _lines(opened: OpenSkill, file: SkillFile) -> ShownLines:
    if file.size > MAX_BYTES:
        return ShownLines(note=f"The file is larger than {MAX_BYTES:,} bytes and is not shown.")
    raw = await read_file(opened.version, file.path)
    return await in_few_threads(show_file, raw)


def show_file(raw: bytes) -> ShownLines:
    """Return the lines of a file, or a note if it is not text."""
    text = text_of(raw)
    if text is None:
        return ShownLines(note="The file is not text.")
    return show_lines(text)
