"""Archives of versions at fixed URLs: `/artifacts/@acme/demo/1.0.0.zip`."""

import base64
from typing import Any
from urllib.parse import quote

from litestar import Response
from litestar.status_codes import HTTP_304_NOT_MODIFIED

from vskill_platform.base.lru_cache import LruCache
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.publish.versions.find_version import FoundVersion, find_archive, find_version
from vskill_platform.publish.versions.zip_archive import repack_as_zip
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.web.http.conditional import is_known
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.protocols.signed_urls import Signer, is_signed
from vskill_platform.web.skills.downloads import Download, Loaded, plain_name
from vskill_platform.web.skills.installs import count_download
from vskill_platform.web.skills.pull_through import find_or_mirror

_SUFFIX = ".zip"
#: A version never changes, but it may be blocked, so shared caches must not keep it.
_FOR_EVER = "private, max-age=31536000, immutable"
_ROOM_BYTES = 32 * 1024 * 1024

#: Zips by the digest of the archive that they were made from.
_zips: LruCache[str, bytes] = LruCache(capacity=_ROOM_BYTES, size_of=len)


def artifact_path(slug: str, version: str) -> str:
    return f"/artifacts/{slug}/{version}{_SUFFIX}"


def artifact_url(slug: str, version: str, signer: Signer | None) -> str:
    """Return the path of a zip; for a private skill, *signer* signs it in place of a token."""
    path = quote(artifact_path(slug, version), safe="/@")
    if signer is None:
        return path
    return f"{path}?signature={signer.sign(_subject(slug, version))}"


def parse_artifact(address: str) -> tuple[str, str]:
    """Return slug and version from the path of an artifact."""
    slug, _, file_name = address.strip("/").rpartition("/")
    if not slug or not file_name.endswith(_SUFFIX):
        raise NotFound("the path of an artifact is /artifacts/SLUG/VERSION.zip")
    return slug, file_name.removesuffix(_SUFFIX)


async def send_artifact(request: WebRequest, address: str, signature: str = "") -> Response[Any]:
    """Send a version as a zip; the same version gives the same bytes on every node."""
    slug, name = parse_artifact(address)
    skill = await _find_skill(request, slug, name, signature)
    found = await find_version(skill.slug, name)
    headers = _headers(found)
    tag = headers.get("ETag")
    if tag and is_known(request.headers.get("if-none-match", ""), tag):
        return Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=headers)

    async def load() -> Loaded:
        return Loaded(await zip_of(found), "application/zip")

    async def count() -> None:
        await count_download(request, skill.slug)

    return Download(request, load, headers, on_sent=count)


async def zip_of(found: FoundVersion) -> bytes:
    """Return a version as a zip; refuse one that was blocked meanwhile."""
    archive = await find_archive(found.skill.slug, found.version.version)
    known = _zips.get(found.version.archive_sha256)
    if known is None:
        known = await in_few_threads(repack_as_zip, archive)
        _zips.keep(found.version.archive_sha256, known)
    return known


async def _find_skill(
    request: WebRequest, slug: str, version: str, signature: str
) -> PublishedSkill:
    if signature and await is_signed(_subject(slug, version), signature):
        stored = await get_skill(await resolve_slug(slug))
        if stored:
            return stored.record
    return (await find_or_mirror(request, slug, version)).record


def _subject(slug: str, version: str) -> str:
    return f"zip {slug} {version}"


def _headers(found: FoundVersion) -> dict[str, str]:
    version = found.version
    name = f"{plain_name(found.skill)}-{version.version}{_SUFFIX}"
    headers = {
        "Cache-Control": _FOR_EVER,
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Skill-Version": version.version,
    }
    if version.zip_sha256:
        sealed = base64.b64encode(bytes.fromhex(version.zip_sha256)).decode()
        headers |= {"ETag": f'"{version.zip_sha256}"', "Repr-Digest": f"sha-256=:{sealed}:"}
    return headers
