"""Jinja templates and their filters: states, tiers, addresses, untrusted text."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar.plugins.jinja import JinjaTemplateEngine
from markupsafe import Markup, escape

from vskill_platform import __version__
from vskill_platform.base.show_text import count_of, show
from vskill_platform.model.failure import failure_title, failures_in, results_in, score_in
from vskill_platform.model.registry_url import base_url
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.source import public_source
from vskill_platform.model.submission import StateEvent, SubmissionState
from vskill_platform.model.trust import TrustTier, tier_meaning
from vskill_platform.scan.reports.source_lines import other_places
from vskill_platform.stores.db import get_settings
from vskill_platform.web.html.avatars import avatar
from vskill_platform.web.html.findings import group_findings, reference_name
from vskill_platform.web.html.matched_words import mark_words
from vskill_platform.web.html.numbers import (
    age,
    ago,
    exact,
    in_bytes,
    in_duration,
    in_figures,
    iso,
)
from vskill_platform.web.html.safe_markdown import mark_spelled_out
from vskill_platform.web.http.urls import (
    line_url,
    publisher_url,
    safe_path,
    skill_url,
    with_query,
)
from vskill_platform.web.http.visitor import csrf_token_of, visitor_of

_TEMPLATES = Path(__file__).parents[1] / "templates"
_S = SubmissionState
#: Label and color of each state.
_STATES: dict[SubmissionState, tuple[str, str]] = {
    _S.RECEIVED: ("Queued", "info"),
    _S.TIER1_SCANNING: ("Scanning", "info"),
    _S.TIER2_SCANNING: ("Additional checks", "info"),
    _S.NEEDS_REVIEW: ("Needs review", "warn"),
    _S.AUTO_APPROVED: ("Approved", "good"),
    _S.VENDOR_APPROVED: ("Approved", "good"),
    _S.PUBLISHED: ("Published", "good"),
    _S.TIER1_FAILED: ("Failed checks", "bad"),
    _S.REJECTED: ("Rejected", "bad"),
    _S.BLOCKED: ("Blocked", "bad"),
    _S.DEQUEUED: ("Withdrawn", ""),
}
_TIERS: dict[TrustTier, tuple[str, str]] = {
    TrustTier.BLOCKED: ("Blocked", "bad"),
    TrustTier.UNVERIFIED: ("Unverified", "warn"),
    TrustTier.SCANNED: ("Scanned", "good"),
    TrustTier.JUDGED: ("Judged", "good"),
    TrustTier.CERTIFIED: ("Certified", "good"),
}
#: The lowest risk score of each severity.
_RISKS = ((100, "critical"), (70, "high"), (40, "medium"), (1, "low"), (0, "none"))
#: Left out of addresses: a repository, an upload and a mirrored skill differ without them.
_SCHEME = re.compile(r"^(https://|upload:|mirror:)")
_THRESHOLD = re.compile(r"\b(review_at|reject_at) = (\w+)")
_FOR = {"review_at": "review", "reject_at": "rejection"}
#: Why a finding counts less, by the recorded role of its location.
_ROLES = {
    "reference": "in a file that the instructions link to",
    "document": "in a document that the instructions do not link to",
    "sample": "in a test or a sample",
    "quoted": "quoted or in a table",
    "script": "in a script",
}
#: An option of a command, such as `--registry`.
_OPTION = re.compile(r"(?<!\S)(--?[a-z][\w-]*)")
#: A first word that is an id, a slug or a setting, such as sub_1 or ada/notes.
_NAME_FIRST = re.compile(r"\S+[_/]\w")
#: How many characters of a description the head of a page shows; three lines on a phone show fewer.
_LEAD = 240
_SENTENCE_END = re.compile(r"[.!?]\s+")
#: Page links on each side of the current page.
_NEIGHBOURS = 2


def build_templates() -> JinjaTemplateEngine:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "age": age,
        "ago": ago,
        "avatar": avatar,
        "exact": exact,
        "first_sentences": first_sentences,
        "iso": iso,
        "bytes": in_bytes,
        "count_of": count_of,
        "duration": in_duration,
        "figures": in_figures,
        "by_place": group_findings,
        "by_run": group_runs,
        "failures": failures_in,
        "failure_title": failure_title,
        "reference_name": reference_name,
        "results": results_in,
        "score": score_in,
        "event_words": _event_words,
        "state_words": state_words,
        "state_tone": lambda value: _STATES[SubmissionState(value)][1],
        "tier_name": tier_name,
        "tier_tone": lambda value: _TIERS[TrustTier(value)][1],
        "tier_words": lambda value: tier_meaning(TrustTier(value)),
        "mark_words": mark_words,
        "page_numbers": page_numbers,
        "plain": lambda text, limit=0: show(text, limit=limit),
        "risk_words": risk_words,
        "command": command,
        "safe_path": safe_path,
        "shown": shown,
        "sentence": sentence,
        "decision_words": decision_words,
        "lowered_words": lowered_words,
        "without_state": lambda text: text.removeprefix("needs review: "),
        "places": lambda finding: [*finding.evidence[:1], *other_places(finding)],
        "skill_url": skill_url,
        "with_query": with_query,
        "line_url": line_url,
        "publisher_url": publisher_url,
        "public_source": public_source,
        "source_words": lambda url: _SCHEME.sub("", url),
    }
    engine = JinjaTemplateEngine.from_environment(environment)
    engine.register_template_callable("visitor", _visitor)
    engine.register_template_callable("may", _may)
    engine.register_template_callable("csrf_field", _csrf_field)
    engine.register_template_callable("registry_name", _registry_name)
    engine.register_template_callable("version_of_program", lambda _: __version__)
    engine.register_template_callable("page_path", _page_path)
    engine.register_template_callable("base_url", lambda _: base_url(get_settings()))
    return engine


def state_words(value: str) -> str:
    return _STATES[SubmissionState(value)][0]


def command(text: str) -> Markup:
    """Escape a command, and keep its options from being broken after their dashes."""
    parts = _OPTION.split(text)
    option = Markup('<span class="flag">{}</span>')
    return Markup().join(option.format(part) if at % 2 else part for at, part in enumerate(parts))


def sentence(text: str, limit: int = 1000) -> Markup:
    """Capitalize a message unless it starts with a name, and show text in backticks as code."""
    is_name = _NAME_FIRST.match(text)
    parts = shown(text if is_name else text[:1].upper() + text[1:], limit).split("`")
    if len(parts) % 2 == 0:  # unbalanced backticks
        return Markup("`").join(parts)
    code = Markup("<code>{}</code>")
    return Markup().join(code.format(part) if at % 2 else part for at, part in enumerate(parts))


def lowered_words(why: str) -> str:
    """Return why a finding counts less; its scan recorded a role or a whole sentence."""
    return _ROLES.get(why.removeprefix("role="), why)


def decision_words(clause: str) -> str:
    """Describe the thresholds in a recorded decision, because visitors do not know their names."""
    return _THRESHOLD.sub(lambda found: f"{found[2]}, the level for {_FOR[found[1]]}", clause)


def page_numbers(page: int, pages: int) -> list[int | None]:
    """Return the page numbers to link: first, last and neighbors; None is a gap."""
    wanted = {1, pages, *range(page - _NEIGHBOURS, page + _NEIGHBOURS + 1)}
    numbers: list[int | None] = []
    for number in sorted(number for number in wanted if 1 <= number <= pages):
        if numbers and number - (numbers[-1] or 0) > 1:
            numbers.append(None)
        numbers.append(number)
    return numbers


def risk_words(score: int | None) -> str:
    """Name the severity of a risk score, because pages show no number that is bad if high."""
    if score is None:
        return "—"
    return next(words for least, words in _RISKS if score >= least)


def tier_name(tier: str) -> str:
    return _TIERS[TrustTier(tier)][0]


def shown(text: str, limit: int = 0) -> Markup:
    """Escape untrusted text and spell out control and invisible characters.

    Text that is already Markup is returned unchanged.
    """
    if isinstance(text, Markup):
        return text
    return Markup(mark_spelled_out(str(escape(show(text, limit=limit)))))  # noqa: S704 - escaped


def first_sentences(text: str) -> tuple[str, str]:
    """Split a long description after the last sentence or word that fits into a few lines."""
    if len(text) <= _LEAD:
        return text, ""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, _LEAD)]
    if ends:
        return text[: ends[-1]].rstrip(), text[ends[-1] :]
    at = text.rfind(" ", 0, _LEAD)
    at = at if at > 0 else _LEAD
    return f"{text[:at]} …", f"… {text[at:].lstrip()}"


def group_runs(history: Sequence[StateEvent]) -> list[list[StateEvent]]:
    """Group the events of each run, from its start to its end; the newest run is first."""
    runs: list[list[StateEvent]] = []
    for event in history:
        if event.to_state is SubmissionState.RECEIVED or not runs:
            runs.append([])
        runs[-1].append(event)
    return [run[::-1] for run in reversed(runs)]


def _visitor(context: Mapping[str, Any], /) -> Visitor:
    return visitor_of(context["request"])


def _may(context: Mapping[str, Any], right: str, /) -> bool:
    """Return whether to show something that needs a right; the guard still checks the action."""
    return visitor_of(context["request"]).may(Right(right), get_settings())


def _csrf_field(context: Mapping[str, Any], /) -> Markup:
    token = csrf_token_of(context["request"])
    return Markup('<input type="hidden" name="csrf_token" value="{}">').format(token)


def _page_path(context: Mapping[str, Any], /) -> str:
    """Return the path of the page, without its query, for a link from other sites."""
    return quote(context["request"].scope["path"], safe="/@")


def _registry_name(_: Mapping[str, Any], /) -> str:
    """Return the public host name of this registry, or the name of the program."""
    host = urlsplit(get_settings().public_url).hostname
    return host or "vskill-platform"


def _event_words(event: StateEvent) -> str:
    """Name the reviewer of an approval, even if an older release recorded AUTO_APPROVED."""
    if event.approved_by:
        return f"Approved by {event.approved_by}"
    return _STATES[event.to_state][0]
