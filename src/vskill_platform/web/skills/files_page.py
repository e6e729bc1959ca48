"""The files of a version: the tree, and one file with numbered lines."""

from functools import partial
from itertools import groupby
from posixpath import dirname

from litestar.response import Template

from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import SkillFile
from vskill_platform.publish.versions.version_files import read_file, text_of
from vskill_platform.web.html.highlight import Code, highlight, lexer_of_path
from vskill_platform.web.html.numbered_lines import ShownLines, show_lines
from vskill_platform.web.http.requests import WebRequest, whole_number
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
        content=await _lines(opened, file, whole_number(request.query_params.get("from", ""))),
    )


async def _lines(opened: OpenSkill, file: SkillFile, start: int) -> ShownLines:
    if file.size > MAX_BYTES:
        return ShownLines(note=f"The file is larger than {MAX_BYTES:,} bytes and is not shown.")
    text = text_of(await read_file(opened.version, file.path))
    if text is None:
        return ShownLines(note="The file is not text.")
    (spans,) = await highlight([Code(text, lexer_of_path(file.path))])
    return await in_few_threads(partial(show_lines, text, start=start, spans=spans))
