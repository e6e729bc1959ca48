"""The trust badge of a skill, an SVG for a README."""

import hashlib
from html import escape
from typing import Any

from litestar import Response
from litestar.status_codes import HTTP_304_NOT_MODIFIED, HTTP_404_NOT_FOUND

from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.trust import TrustTier
from vskill_platform.publish.versions.trust_of_skill import trust_of_skill
from vskill_platform.web.html.templating import tier_name
from vskill_platform.web.http.conditional import is_known
from vskill_platform.web.http.requests import WebRequest

_LABEL = "verified skill"
_COLOURS = {
    TrustTier.BLOCKED: "#b3261e",
    TrustTier.UNVERIFIED: "#8a5600",
    TrustTier.SCANNED: "#0b6b53",
    TrustTier.JUDGED: "#0b6b53",
    TrustTier.CERTIFIED: "#0b6b53",
}
_UNKNOWN = "#5c636b"
#: Approximate width of a character, and the padding.
_LETTER, _EDGE = 6.6, 7
#: Short, so that the badge of a taken-down skill changes soon.
_CACHED = "max-age=300"


async def skill_badge(request: WebRequest, skill: PublishedSkill | None) -> Response[Any]:
    """Return the badge, even for unknown skills, because a broken image explains nothing."""
    status = 200 if skill else HTTP_404_NOT_FOUND
    picture = await _picture(skill)
    tag = f'"{hashlib.sha256(picture.encode()).hexdigest()[:32]}"'
    scope = "private" if skill and skill.is_private else "public"
    headers = {
        "ETag": tag,
        "Cache-Control": f"{scope}, {_CACHED}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        # Badges are embedded in pages of other sites.
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    if skill and is_known(request.headers.get("if-none-match", ""), tag):
        return Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=headers)
    return Response(picture, status_code=status, media_type="image/svg+xml", headers=headers)


async def _picture(skill: PublishedSkill | None) -> str:
    if skill is None:
        return draw_badge(_LABEL, "not published", _UNKNOWN)
    trust = await trust_of_skill(skill)
    words = tier_name(trust.tier).lower()
    version = f" · {skill.version}" if skill.version and not skill.down else ""
    return draw_badge(_LABEL, words + version, _COLOURS[trust.tier])


def draw_badge(label: str, words: str, colour: str) -> str:
    """Draw two boxes with text, escaped."""
    first, second = (round(len(text) * _LETTER + 2 * _EDGE) for text in (label, words))
    label_text = escape(f"{label}: {words}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="20" '
        f'role="img" aria-label="{label_text}"><title>{label_text}</title>'
        f'<clipPath id="c"><rect width="{first + second}" height="20" rx="4"/></clipPath>'
        f'<g clip-path="url(#c)"><rect width="{first}" height="20" fill="#3b4148"/>'
        f'<rect x="{first}" width="{second}" height="20" fill="{colour}"/></g>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" '
        'text-anchor="middle">'
        f'<text x="{first / 2:g}" y="14" textLength="{first - 2 * _EDGE}">{escape(label)}</text>'
        f'<text x="{first + second / 2:g}" y="14" textLength="{second - 2 * _EDGE}">'
        f"{escape(words)}</text></g></svg>\n"
    )
