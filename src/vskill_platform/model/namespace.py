"""The namespace of a skill: `ada` on the default host, `git.example/ada`, or `@ada`.

The record of a namespace, with its owners and members, is `Namespace` in user.py.
"""

import re

from vskill_platform.errors import InvalidInput
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.source import Source

#: The default host: its owners need no host prefix.
_BEST_KNOWN = "github.com/"
_NAMESPACE = re.compile(
    r"@[a-z0-9][a-z0-9-]*|(?:[a-z0-9][a-z0-9.:-]*/)?[a-z0-9_][\w.~+-]*", re.ASCII
)
_MAX_LENGTH = 200


def namespace_of(source: Source) -> str:
    """Return the namespace of a source."""
    return _short(source.publisher)


def namespace_of_skill(skill: PublishedSkill) -> str:
    if skill.publisher:
        return _short(skill.publisher)
    return namespace_in(skill.slug)  # older releases did not store it


def namespace_in(slug: str) -> str:
    """Return the namespace in a slug: `@namespace/skill`, or one that also contains a repo."""
    parts = slug.split("/")
    return parts[0] if slug.startswith("@") else "/".join(parts[:-2])


def checked_namespace(text: str) -> str:
    """Validate and normalise the name of a namespace."""
    name = _short(text.strip().lower())
    if len(name) > _MAX_LENGTH or not _NAMESPACE.fullmatch(name):
        raise InvalidInput(
            f"{text!r} is not a namespace: write `@name` for uploads, `owner` for github.com, or "
            "`host/owner`"
        )
    return name


def _short(publisher: str) -> str:
    rest = publisher.removeprefix(_BEST_KNOWN)
    # Only namespaces of uploads start with @, so that no host can imitate one.
    return publisher if rest.startswith("@") and rest != publisher else rest
