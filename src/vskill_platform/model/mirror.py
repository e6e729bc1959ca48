"""Names of mirrored skills: `@hub_acme/demo` is `acme/demo` of the mirror `hub`.

No one can publish in such a namespace, because namespaces of users contain no underscore. The part
after the first underscore is the owner at the mirror. Characters that some client does not allow in
an owner are written as an underscore and a letter, and a slash as two underscores. So two skills
never have the same name here: `ada/notes/tidy` is `@hub_ada__notes/tidy`.
"""

import re

import msgspec

from vskill_platform.errors import InvalidInput
from vskill_platform.mirror_settings import Mirror, MirrorKind

_ESCAPES = {"/": "__", "_": "_u", ".": "_d", ",": "_c", "~": "_t", "+": "_p", ":": "_o"}
_PLAIN = {escape: plain for plain, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"_.?")
_MIRRORED = re.compile(r"@([a-z0-9][a-z0-9-]*)_([a-z0-9_-]+)/([a-z0-9]+(?:-[a-z0-9]+)*)")
#: An owner at a mirror: a namespace, or an owner and a repo, with or without a host.
_OWNER = re.compile(r"[a-z0-9_][\w.,~+:-]*(?:/(?!\.{1,2}(?:/|$))[\w.,~+:-]+){0,2}", re.ASCII)
_MAX_SLUG, _MAX_NAME = 200, 64
#: Registries that are read by discovery have no owners.
_NO_OWNER = "skills"


class MirroredName(msgspec.Struct, frozen=True):
    #: The name of the mirror in the settings.
    mirror: str
    #: The owner at the mirror, such as `acme` or `ada/notes`.
    owner: str
    #: The name of the skill.
    skill: str


def parse_mirrored(slug: str) -> MirroredName | None:
    """Parse the slug of a mirrored skill; return None for any other slug."""
    found = _MIRRORED.fullmatch(slug) if len(slug) <= _MAX_SLUG else None
    if not found or len(found[3]) > _MAX_NAME:
        return None
    owner = _ESCAPE.sub(lambda part: _PLAIN.get(part[0], " "), found[2])
    name = MirroredName(found[1], owner, found[3])
    return name if _OWNER.fullmatch(owner) and _join(name) == slug else None


def is_mirrored(slug: str) -> bool:
    return parse_mirrored(slug) is not None


def is_mirror_namespace(namespace: str) -> bool:
    """Return whether only mirrors publish in a namespace."""
    return namespace.startswith("@") and "_" in namespace


def name_at_mirror(mirror: Mirror, name: MirroredName) -> str:
    """Return the name of a skill at the mirror."""
    if mirror.kind is MirrorKind.DISCOVERY:
        return name.skill
    is_upload = mirror.kind is MirrorKind.VSKILL and "/" not in name.owner
    return f"{'@' if is_upload else ''}{name.owner}/{name.skill}"


def mirrored_slug(mirror: Mirror, name: str) -> str:
    """Return our slug of a skill that the mirror calls *name*."""
    owner, _, skill = name.removeprefix("@").rpartition("/")
    if mirror.kind is MirrorKind.DISCOVERY:
        owner = owner or _NO_OWNER
    slug = _join(MirroredName(mirror.name, owner, skill))
    parsed = parse_mirrored(slug)
    is_there = parsed is not None and name_at_mirror(mirror, parsed) in {name, f"@{name}"}
    if not is_there:
        raise InvalidInput(f"{name!r} is not the name of a skill of {mirror.name}: {_how(mirror)}")
    return slug


def _how(mirror: Mirror) -> str:
    examples = {
        MirrorKind.DISCOVERY: "use a name such as demo",
        MirrorKind.CLAWHUB: "use owner and name, such as acme/demo",
        MirrorKind.VSKILL: "use a slug such as @acme/demo or ada/notes/tidy",
    }
    return examples[mirror.kind]


def _join(name: MirroredName) -> str:
    owner = "".join(_ESCAPES.get(letter, letter) for letter in name.owner)
    return f"@{name.mirror}_{owner}/{name.skill}"
