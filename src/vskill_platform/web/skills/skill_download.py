"""What leaves the registry as files: the archive of a version, and one file of it as it is."""

import base64
from typing import Any
from urllib.parse import quote

from litestar import Response
from litestar.status_codes import HTTP_304_NOT_MODIFIED

from vskill_platform.base.few_threads import in_few_threads
from vskill_platform.errors import NotFound
from vskill_platform.publish.versions.find_version import find_archive, find_version
from vskill_platform.publish.versions.read_files import read_file, text_of
from vskill_platform.web.skills.counted_installs import count_download
from vskill_platform.web.skills.downloads import Download, Loaded
from vskill_platform.web.skills.skill_head import OpenSkill
from vskill_platform.web.skills.skill_install import archive_name
from vskill_platform.web.skills.slugs import PageRequest

#: A version never changes, but it may be blocked: only the one who has it already may keep it.
_FOR_EVER = "private, max-age=31536000, immutable"
#: The latest is another one tomorrow.
_ASK_AGAIN = "private, no-cache"
#: Whatever is in the file, it is no page of ours.
_SANDBOX = "default-src 'none'; sandbox"


async def skill_download(request: PageRequest, opened: OpenSkill) -> Response[Any]:
    """Send the archive exactly as it was checked."""
    named = opened.version.version if opened.is_named else None
    version = (await find_version(opened.skill.slug, named)).version
    sealed = base64.b64encode(bytes.fromhex(version.archive_sha256)).decode()
    headers = {
        "ETag": f'"{version.archive_sha256}"',
        "Cache-Control": _FOR_EVER if opened.is_named else _ASK_AGAIN,
        "Repr-Digest": f"sha-256=:{sealed}:",
        "Content-Disposition": f'attachment; filename="{archive_name(opened.skill, version)}"',
        "X-Skill-Version": version.version,
    }
    if version.archive_sha256 in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=headers)

    async def load() -> Loaded:
        archive = await find_archive(opened.skill.slug, version.version)
        return Loaded(archive, "application/gzip")

    async def count() -> None:
        await count_download(request, opened.skill.slug)

    # A part may be asked for many times until somebody has the whole.
    is_whole = "range" not in request.headers
    if is_whole:
        return Download(request, load, headers, on_sent=count)
    return Download(request, load, headers)


async def skill_raw_file(request: PageRequest, opened: OpenSkill) -> Response[Any]:
    """Send one file, as a download and as nothing that a browser would run."""
    if not opened.path:
        raise NotFound("name a file, as /skills/SLUG/raw/PATH")
    if all(file.path != opened.path for file in opened.version.files):
        raise NotFound(f"{opened.skill.slug} {opened.version.version} has no file {opened.path!r}")

    async def load() -> Loaded:
        raw = await read_file(opened.version, opened.path)
        is_text = await in_few_threads(text_of, raw) is not None
        return Loaded(raw, "text/plain; charset=utf-8" if is_text else "application/octet-stream")

    name = quote(opened.path.rsplit("/", 1)[-1], safe="")
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        "Content-Security-Policy": _SANDBOX,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": _FOR_EVER if opened.is_named else _ASK_AGAIN,
    }
    return Download(request, load, headers)
