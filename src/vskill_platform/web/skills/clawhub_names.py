"""Owners and names of skills for ClawHub clients, which allow few characters in an owner.

`@acme/demo` has the owner `acme`, and `ada/notes/tidy` has the owner `ada.notes`: a slash becomes a
dot. Other characters are written as `_` and a letter, so that two slugs never have the same owner
and name. Owners of uploads contain no dot. The form of client_names.py, `ada,notes`, is also
accepted, but openclaw refuses commas.
"""

import re

from vskill_platform.web.skills import client_names
from vskill_platform.web.skills.client_names import OwnedName

#: Characters that clients do not allow in an owner, and allowed ones with another meaning here.
_ESCAPES = {"_": "__", ".": "_d", ",": "_c", "~": "_t", "+": "_p", ":": "_o", "/": "."}
_PLAIN = {escape: plain for plain, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\.|_.?")


def split_slug(slug: str) -> OwnedName:
    """Return owner and name of a slug."""
    namespace, _, name = slug.rpartition("/")
    if namespace.startswith("@"):
        return OwnedName(namespace.removeprefix("@"), name)
    return OwnedName("".join(_ESCAPES.get(letter, letter) for letter in namespace), name)


def join_slug(owner: str, name: str) -> str:
    """Return the slug of an owner and a name; unknown escapes give a slug that cannot exist."""
    owner = owner.removeprefix("@")
    if "," in owner or "." not in owner:
        return client_names.join_slug(owner, name)
    return f"{_ESCAPE.sub(lambda found: _PLAIN.get(found[0], ' '), owner)}/{name}"
