"""The page of a skill: its instructions, how to install it, and its trust."""

import re
from datetime import date, timedelta
from functools import partial

import msgspec
from litestar.response import Template
from markupsafe import Markup

from vskill_platform.base.lru_cache import LruCache
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.publish.versions.find_version import VersionStatus, list_versions
from vskill_platform.publish.versions.version_files import read_file, text_of
from vskill_platform.scan.read.frontmatter import (
    FrontmatterError,
    FrontmatterValue,
    read_frontmatter,
)
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.install_store import KEPT_DAYS, InstallCounts, get_installs
from vskill_platform.web.html.charts import Plot, Series, stacked_bars
from vskill_platform.web.html.highlight import TOO_BUSY, highlight
from vskill_platform.web.html.safe_markdown import (
    Links,
    Parsed,
    Rendered,
    parse_markdown,
    render_parsed,
)
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.skills.install_lines import install_lines
from vskill_platform.web.skills.open_skill import OpenSkill, skill_page

_HOST = re.compile(r"[A-Za-z0-9.\-\[\]:]{1,255}")
_ROOM_CHARACTERS = 8 * 1024 * 1024
#: Shown in the header of the page.
_SHOWN_ELSEWHERE = frozenset({"name", "description"})
_MISSING = "The files of this version are no longer stored."
_NO_TEXT = "SKILL.md is not text."
#: Yanked versions that are linked if no other is available.
_MAX_NAMED = 5
_WEEK = 7


def badge_markdown(request: WebRequest, skill: PublishedSkill) -> str:
    page = public_address(request) + skill_url(skill.slug)
    return f"[![{skill.name}]({page}/badge.svg)]({page})"


def public_address(request: WebRequest) -> str:
    """Return the base URL: the public URL, or else the host of the request."""
    settings = get_settings()
    if settings.public_url:
        return settings.public_url.rstrip("/")
    host = request.headers.get("host", "")
    scheme = request.url.scheme
    if scheme in {"http", "https"} and _HOST.fullmatch(host):
        return f"{scheme}://{host}"
    return f"http://{settings.host}:{settings.port}"


class Readme(msgspec.Struct, frozen=True):
    #: The front matter, as names and values.
    facts: tuple[tuple[str, str], ...]
    rendered: Rendered


_recent: LruCache[tuple[str, str, str], Readme] = LruCache(
    capacity=_ROOM_CHARACTERS, size_of=lambda readme: len(readme.rendered.html) + 1000
)


async def skill_readme(request: WebRequest, opened: OpenSkill) -> Template:
    skill, version = opened.skill, opened.version
    installs = await get_installs(skill.slug)
    return await skill_page(
        request,
        opened,
        "pages/skill.html",
        "readme",
        readme=await read_readme(opened),
        install=install_lines(public_address(request), skill, version, is_named=opened.is_named),
        badge=badge_markdown(request, skill),
        named_only=() if opened.is_offered else await _newest_yanked(skill),
        installs=installs,
        recent_installs=installs.since(get_now().date() - timedelta(days=KEPT_DAYS - 1)),
        install_plot=plot_installs(installs, get_now().date()),
    )


def plot_installs(installs: InstallCounts, today: date) -> Plot:
    """Draw the installs of each week; the last week ends today."""
    weeks = -(-KEPT_DAYS // _WEEK)
    starts = [today - timedelta(days=_WEEK * (weeks - at) - 1) for at in range(weeks)]
    counts = [
        sum(installs.days.get(start + timedelta(days=day), 0) for day in range(_WEEK))
        for start in starts
    ]
    labels = [f"{start:%-d %b}" for start in starts]
    return stacked_bars(labels, [Series("installs", "info", tuple(map(float, counts)))])


async def _newest_yanked(skill: PublishedSkill) -> list[str]:
    """Return the newest yanked versions."""
    rows = (await list_versions(skill.slug)).versions
    return [row.version.version for row in rows if row.status is VersionStatus.YANKED][:_MAX_NAMED]


async def read_readme(opened: OpenSkill) -> Readme:
    """Return the rendered SKILL.md; cached by content, slug and version."""
    key = (opened.version.digest, opened.skill.slug, opened.version_in_links)
    kept = _recent.get(key)
    if kept:
        return kept
    try:
        raw = await read_file(opened.version, MANIFEST)
    except NotFound:
        return Readme((), Rendered(Markup(), _MISSING))
    address = partial(_file_address, opened.skill.slug, opened.version_in_links)
    paths = frozenset(file.path for file in opened.version.files)
    facts, parsed = await in_few_threads(parse_readme, raw)
    codes = parsed.fences
    spans = dict(zip(codes, await highlight(codes), strict=True))
    rendered = await in_few_threads(render_parsed, parsed, Links("", paths, address), spans)
    readme = Readme(facts, rendered)
    if all(each.note != TOO_BUSY for each in spans.values()):  # otherwise it gets its colors later
        _recent.keep(key, readme)
    return readme


def parse_readme(raw: bytes) -> tuple[tuple[tuple[str, str], ...], Parsed]:
    """Return the front matter as names and values, and the parsed instructions."""
    text = text_of(raw)
    if text is None:
        return (), Parsed([], _NO_TEXT)
    try:
        head = read_frontmatter(text)
    except FrontmatterError:  # an older release accepted it; render it all as text
        return (), parse_markdown(text)
    facts = [
        fact
        for name, field in head.fields.items()
        if name not in _SHOWN_ELSEWHERE
        for fact in _facts(name, field.value)
    ]
    return tuple(facts), parse_markdown(head.body)


def _facts(name: str, value: FrontmatterValue) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [(f"{name}.{key}", text) for key, text in value.items()]
    if isinstance(value, list):
        return [(name, ", ".join(value))]
    return [(name, value if value is not None else "(too large)")]


def _file_address(slug: str, version: str, path: str) -> str:
    return skill_url(slug, "files", path, version=version)
