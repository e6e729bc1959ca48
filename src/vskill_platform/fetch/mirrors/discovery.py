"""Read skills from a site that publishes an index for agent-skills discovery 0.2."""

from typing import Annotated, Any, Literal
from urllib.parse import urljoin

import msgspec

from vskill_platform.errors import NotFound, SourceRefused
from vskill_platform.fetch.mirrors.guarded_http import MirrorClient
from vskill_platform.fetch.mirrors.remote_version import RemoteVersion, read_shape

_INDEX = "/.well-known/agent-skills/index.json"
_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_SHA256 = "sha256:"


class _Index(msgspec.Struct, frozen=True):
    skills: list[dict[str, Any]]
    schema: str = msgspec.field(name="$schema", default="")


class _Entry(msgspec.Struct, frozen=True):
    type: Literal["skill-md", "archive"]
    url: Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]


async def find_skill(client: MirrorClient, name: str, revision: str) -> RemoteVersion:
    """Return the only version in an index; raise if it is not *revision*, unless that is empty."""
    mirror = client.mirror
    try:
        answer = await client.get_json(_INDEX)
    except NotFound as error:  # the whole index is missing, not one skill
        raise SourceRefused(f"{mirror.name} has no index for discovery at {_INDEX}") from error
    index = read_shape(mirror, answer, _Index)
    if index.schema != _SCHEMA:
        raise SourceRefused(f"the index of {mirror.name} is not an index of discovery 0.2.0")
    named = [entry for entry in index.skills if entry.get("name") == name]
    if not named:
        raise NotFound(f"the index of {mirror.name} has no skill {name!r}")
    entry = read_shape(mirror, named[0], _Entry)
    if revision and entry.digest != revision:
        raise SourceRefused(f"{mirror.name} has replaced {name} in the meantime; request it again")
    return RemoteVersion(
        revision=entry.digest,
        url=urljoin(mirror.url + _INDEX, entry.url),
        is_manifest=entry.type == "skill-md",
        sha256=entry.digest.removeprefix(_SHA256),
    )
