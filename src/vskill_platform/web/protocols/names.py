"""Names of skills for protocols that only know an owner and a name.

A slug has two to four segments: `@acme/demo`, `ada/notes/tidy`, `git.example/ada/notes/tidy`. The
last one is the name. The others become the owner, joined by a comma: `acme`, `ada,notes`,
`git.example,ada,notes`. A comma in a slug is doubled, so that two slugs never have the same owner
and name, and no publisher can take the name of another one's skill.
"""

import re

import msgspec

_JOINT = re.compile(r",,|,")


class OwnedName(msgspec.Struct, frozen=True):
    owner: str
    name: str


def split_slug(slug: str) -> OwnedName:
    """Return owner and name of a slug."""
    namespace, _, name = slug.rpartition("/")
    if namespace.startswith("@"):
        return OwnedName(namespace.removeprefix("@"), name)
    return OwnedName(namespace.replace(",", ",,").replace("/", ","), name)


def join_slug(owner: str, name: str) -> str:
    """Return the slug of an owner and a name; owners may also be given with an @."""
    owner = owner.removeprefix("@")
    if "," not in owner:
        return f"@{owner}/{name}"
    return f"{_JOINT.sub(_separator, owner)}/{name}"


def _separator(found: re.Match[str]) -> str:
    return "," if found[0] == ",," else "/"
