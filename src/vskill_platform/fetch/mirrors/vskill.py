"""Read skills from another vskill-platform over its API."""

from datetime import datetime
from urllib.parse import quote

import msgspec

from vskill_platform.errors import NotFound, SourceRefused
from vskill_platform.fetch.mirrors.guarded_http import MirrorClient
from vskill_platform.fetch.mirrors.remote_version import (
    RemoteVersion,
    Sha256,
    VersionText,
    read_shape,
    shown,
)

_API = "/api/v1/skills/"


class _Skill(msgspec.Struct, frozen=True, rename="camel"):
    slug: str
    version: VersionText
    archive_sha256: Sha256
    updated_at: datetime
    current_version: str | None = None
    is_private: bool = False
    yanked: str | None = None


class _SkillResponse(msgspec.Struct, frozen=True):
    skill: _Skill


async def find_skill(client: MirrorClient, name: str, revision: str) -> RemoteVersion:
    """Return a version, or the latest one if *revision* is empty."""
    path = _API + quote(name, safe="/@,~+")
    params = {"version": revision} if revision else {}
    skill = read_shape(client.mirror, await client.get_json(path, **params), _SkillResponse).skill
    if skill.slug != name:
        raise NotFound(f"{name} was renamed there: it is {shown(skill.slug)} now")
    if skill.is_private:
        # A private skill would be readable by everyone here.
        raise SourceRefused(f"{name} is private in {client.mirror.name}, so it is not mirrored")
    if revision and skill.version != revision:
        raise SourceRefused(f"{client.mirror.name} answered with another version of {name}")
    is_yanked = skill.current_version is None or skill.yanked is not None
    return RemoteVersion(
        revision=skill.version,
        version=skill.version,
        published_at=skill.updated_at,
        url=f"{client.mirror.url}{path}/download?version={quote(skill.version, safe='')}",
        sha256=skill.archive_sha256,
        withdrawn=f"yanked: {shown(skill.yanked or 'all versions')}" if is_yanked else "",
    )
