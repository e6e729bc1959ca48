"""Names of skills in protocols that have no slugs.

A slug has two to four segments: `@acme/demo`, `ada/notes/tidy`, `git.example/ada/notes/tidy`. The
last one is the name. The others become the owner, joined by a comma: `acme`, `ada,notes`,
`git.example,ada,notes`. A comma in a slug is doubled, so that two slugs never have the same owner
and name, and no publisher can take the name of another publisher's skill.

APM accepts no commas, but an owner of several segments. Its ids are the slug without the @, with
nested groups as segments: `acme/demo`, `ada/notes/tidy`, `git.example/ada/group/notes/tidy`. Two
segments are an upload, three or four a repo, more a repo in nested groups.

MCP names files: `skill://%40acme/demo/SKILL.md`. The @ is written as %40, because URL parsers drop
an @ at the start of a host.

Claude Code has plugins in marketplaces: `acme__demo`, `ada__notes__tidy`. In the
names of its folders it ignores case, and replaces all but letters, digits, `-` and `_`. So plugin
names contain the whole slug in these characters, and also differ in lower case.
"""

import re
from urllib.parse import quote, unquote, urlsplit

import msgspec

#: The path of a marketplace, below the registry or a namespace.
MARKETPLACE = ".claude-plugin/marketplace.json"
_JOINT = re.compile(r",,|,")
_PLUGIN_JOINT = "__"
#: Ends the name of a namespace that is not for uploads, to distinguish `acme` from `@acme`.
_OF_REPOS = "repos"
_NOT_IN_PLUGINS = re.compile(r"[^a-z0-9-]")
#: Valid names in agent-skills discovery.
_DISCOVERABLE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MAX_DISCOVERABLE = 64
#: A valid segment of an id in APM.
_APM_SEGMENT = re.compile(r"[A-Za-z0-9._-]+")
_SCHEME = "skill"
_UPLOAD_SEGMENTS, _MOST_SEGMENTS = 2, 4


class OwnedName(msgspec.Struct, frozen=True):
    owner: str
    name: str


def split_slug(slug: str) -> OwnedName:
    """Split a slug into owner and name."""
    namespace, _, name = slug.rpartition("/")
    if namespace.startswith("@"):
        return OwnedName(namespace.removeprefix("@"), name)
    return OwnedName(namespace.replace(",", ",,").replace("/", ","), name)


def join_slug(owner: str, name: str) -> str:
    """Return the slug of an owner and a name; owners may also start with an @."""
    owner = owner.removeprefix("@")
    if "," not in owner:
        return f"@{owner}/{name}"
    return f"{_JOINT.sub(_separator, owner)}/{name}"


def _separator(found: re.Match[str]) -> str:
    return "," if found[0] == ",," else "/"


def apm_id(slug: str) -> str | None:
    """Return the id of a skill in APM; None if APM cannot name it."""
    name = slug.removeprefix("@").replace(",", "/")
    is_possible = all(_APM_SEGMENT.fullmatch(part) for part in name.split("/"))
    return name if is_possible and slug_of_apm_id(name) == slug else None


def slug_of_apm_id(name: str) -> str:
    """Return the slug of an id in APM; `owner,repo/skill` and `@owner/skill` also work."""
    parts = name.split("/")
    if len(parts) == _UPLOAD_SEGMENTS:
        return join_slug(*parts)
    if len(parts) <= _MOST_SEGMENTS:
        return name
    host, owner, *groups, skill = parts
    return f"{host}/{owner}/{','.join(groups)}/{skill}"


def skill_uri(slug: str, path: str = "SKILL.md") -> str:
    """Return the URI of a file of a skill, or of its folder if the path is empty."""
    return f"{_SCHEME}://" + quote(f"{slug}/{path}" if path else slug, safe="/,")


def path_of_uri(uri: str) -> str | None:
    """Return slug and path in a URI, joined; None if it is not the URI of a file or folder."""
    if not uri.startswith(f"{_SCHEME}://"):
        return None
    path = unquote(uri.removeprefix(f"{_SCHEME}://"))
    parts = path.split("/")
    is_plain = path.isprintable() and not {"", ".", ".."} & set(parts)
    return path if is_plain else None


def is_discoverable(name: str) -> bool:
    """Return whether clients of the discovery protocol accept a name."""
    return len(name) <= _MAX_DISCOVERABLE and _DISCOVERABLE.fullmatch(name) is not None


def market_name(base: str, below: str = "") -> str:
    """Return a name that differs between registries and their namespaces, and is not reserved."""
    host = re.sub(r"[^a-z0-9]+", "-", urlsplit(base).netloc.lower()).strip("-")
    name = f"vskill-{host}"
    if not below:
        return name
    joined = plugin_name(below) if below.startswith("@") else plugin_name(f"{below}/{_OF_REPOS}")
    return f"{name}{_PLUGIN_JOINT}{joined}"


def plugin_name(slug: str) -> str:
    """Return the name of a skill's plugin: `acme__demo`, `ada__notes__tidy`; no two are equal."""
    segments = slug.removeprefix("@").split("/")
    return _PLUGIN_JOINT.join(_NOT_IN_PLUGINS.sub(_escape, segment) for segment in segments)


def _escape(found: re.Match[str]) -> str:
    return "".join(f"_{byte:02x}" for byte in found[0].encode(errors="replace"))
