"""A picture for each publisher, made from its name alone: no upload, no other host."""

import hashlib

from markupsafe import Markup

#: Dark enough for white letters (a contrast of at least 4.5 to 1), and easy to distinguish.
_COLORS = (
    "#0b6b53", "#2a5a9c", "#8a3ffc", "#b3261e", "#8a5600", "#00677f",
    "#a1245f", "#4d5b00", "#5b4bb3", "#7a4a2b", "#006e2e", "#5a5f66",
)  # fmt: skip
_LETTERS = 2
_SVG = Markup(
    '<svg class="avatar" viewBox="0 0 40 40" aria-hidden="true" focusable="false">'
    '<rect width="40" height="40" rx="10" fill="{color}"/>'
    '<circle cx="{x}" cy="{y}" r="{r}" fill="#fff" fill-opacity="0.1"/>'
    '<text x="20" y="20" dy="0.36em" text-anchor="middle" fill="#fff">{letters}</text></svg>'
)


def avatar(name: str) -> Markup:
    """Draw the picture for a name, always the same; it is decoration beside the name."""
    seal = hashlib.blake2b(name.encode(errors="replace"), digest_size=4).digest()
    return _SVG.format(
        color=_COLORS[seal[0] % len(_COLORS)],
        x=4 + seal[1] % 33,
        y=4 + seal[2] % 33,
        r=12 + seal[3] % 12,
        letters=initials(name),
    )


def initials(name: str) -> str:
    """Return up to two letters: of the first two words of the account, or of its only one."""
    account = name.rpartition("/")[2].lstrip("@")
    words = [word for word in account.replace("_", "-").replace(".", "-").split("-") if word]
    letters = [word[0] for word in words if word[0].isalnum()][:_LETTERS]
    return "".join(letters).upper() or "?"
