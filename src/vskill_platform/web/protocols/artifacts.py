"""Archives of versions at fixed URLs: `/artifacts/@acme/demo/1.0.0.zip`."""

from typing import Any

from litestar import Response
from litestar.params import FromPath

from vskill_platform.access.visibility import find_visible_skill
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import NotFound
from vskill_platform.publish.versions.find_version import find_archive, find_version
from vskill_platform.publish.versions.version_files import repack_as_zip
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.downloads import Download, Loaded, plain_name
from vskill_platform.web.skills.installs import count_download

_SUFFIX = ".zip"
#: A version never changes, but it may be blocked, so shared caches must not keep it.
_FOR_EVER = "private, max-age=31536000, immutable"


def artifact_path(slug: str, version: str) -> str:
    return f"/artifacts/{slug}/{version}{_SUFFIX}"


async def send_artifact(request: WebRequest, address: FromPath[str]) -> Response[Any]:
    """Send a version as a zip; the same version gives the same bytes on every node."""
    slug, _, file_name = address.strip("/").rpartition("/")
    if not slug or not file_name.endswith(_SUFFIX):
        raise NotFound("the path of an artifact is /artifacts/SLUG/VERSION.zip")
    skill = (await find_visible_skill(visitor_of(request), slug)).record
    version = (await find_version(skill.slug, file_name.removesuffix(_SUFFIX))).version

    async def load() -> Loaded:
        archive = await find_archive(skill.slug, version.version)
        return Loaded(await in_few_threads(repack_as_zip, archive), "application/zip")

    async def count() -> None:
        await count_download(request, skill.slug)

    name = f"{plain_name(skill)}-{version.version}{_SUFFIX}"
    headers = {
        "Cache-Control": _FOR_EVER,
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Skill-Version": version.version,
    }
    return Download(request, load, headers, on_sent=count)
