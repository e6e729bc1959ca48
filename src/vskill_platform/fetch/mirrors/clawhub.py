"""Read skills from a registry with the ClawHub v1 API."""

from typing import Annotated
from urllib.parse import quote, urlencode

import msgspec

from vskill_platform.errors import NotFound, SourceRefused
from vskill_platform.fetch.mirrors.guarded_http import MirrorClient
from vskill_platform.fetch.mirrors.remote_version import (
    RemoteVersion,
    Sha256,
    VersionText,
    from_millis,
    read_shape,
    shown,
)
from vskill_platform.fetch.snapshot import MAX_SOURCE_FILES

_API = "/api/v1/skills/"


class _LatestVersion(msgspec.Struct, frozen=True, rename="camel"):
    version: VersionText
    created_at: float


class _Owner(msgspec.Struct, frozen=True):
    handle: str


class _Moderation(msgspec.Struct, frozen=True, rename="camel"):
    is_malware_blocked: bool = False
    summary: str | None = None


class _Skill(msgspec.Struct, frozen=True, rename="camel"):
    owner: _Owner | None = None
    latest_version: _LatestVersion | None = None
    moderation: _Moderation | None = None


class _File(msgspec.Struct, frozen=True):
    path: str
    sha256: Sha256


class _Security(msgspec.Struct, frozen=True):
    status: str = ""


class _Version(_LatestVersion, frozen=True, rename="camel"):
    files: Annotated[list[_File], msgspec.Meta(min_length=1, max_length=MAX_SOURCE_FILES)]
    security: _Security | None = None


class _VersionResponse(msgspec.Struct, frozen=True):
    version: _Version


async def find_skill(client: MirrorClient, name: str, revision: str) -> RemoteVersion:
    """Return a version, or the latest one if *revision* is empty."""
    mirror, (owner, _, skill) = client.mirror, name.rpartition("/")
    path, of_owner = _API + quote(skill, safe=""), {"ownerHandle": owner}
    blocked = ""
    listed = read_shape(mirror, await client.get_json(path, **of_owner), _Skill)
    if listed.owner is not None and listed.owner.handle != owner:
        raise SourceRefused(f"{mirror.name} answered with a skill of another owner")
    if listed.moderation and listed.moderation.is_malware_blocked:
        blocked = f"blocked: {shown(listed.moderation.summary or 'malware')}"
    if not revision:
        if listed.latest_version is None:
            why = f" ({blocked})" if blocked else ""
            raise NotFound(f"{mirror.name} has no version of {name}{why}")
        revision = listed.latest_version.version
    answer = await client.get_json(f"{path}/versions/{quote(revision, safe='')}", **of_owner)
    version = read_shape(mirror, answer, _VersionResponse).version
    if version.version != revision:
        raise SourceRefused(f"{mirror.name} answered with another version of {name}")
    if version.security and version.security.status == "malicious":
        blocked = blocked or "blocked: malicious"
    query = urlencode({"slug": skill, "ownerHandle": owner, "version": revision})
    return RemoteVersion(
        revision=revision,
        version=revision,
        published_at=from_millis(version.created_at),
        url=f"{mirror.url}/api/v1/download?{query}",
        files={file.path: file.sha256 for file in version.files},
        withdrawn=blocked,
    )
