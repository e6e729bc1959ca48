"""Describe a version in words: its verdict, and a list of checks.

There is one scale, from bad to good. The trust score appears only in the details and for programs.
"""

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.model.trust import SETTLED_AFTER, Evidence, TrustTier, derive_trust
from vskill_platform.model.verdict import Verdict
from vskill_platform.stores.mirror_store import MirroredSkill
from vskill_platform.stores.repo_health_store import RepoHealth, RepoStatus
from vskill_platform.web.html.numbers import ago_in_words

_REPOS: dict[RepoStatus, tuple[str, str]] = {
    RepoStatus.ONLINE: ("good", "Source is online"),
    RepoStatus.STALE: ("warn", "Source has had no commit for a year"),
    RepoStatus.GONE: ("bad", "Source is gone"),
    RepoStatus.UNKNOWN: ("", "Source was not checked recently"),
}
_ICONS = {"good": "check", "warn": "alert", "bad": "cross", "": "info"}


class Check(msgspec.Struct, frozen=True):
    #: good, warn, bad, or empty for a neutral fact.
    tone: str
    words: str

    @property
    def icon(self) -> str:
        return _ICONS[self.tone]


def verdict_in_words(evidence: Evidence) -> Check:
    """Return the verdict on a version as one short sentence."""
    if evidence.is_down:
        return Check("bad", "Blocked: do not install")
    if evidence.verdict is Verdict.BLOCK:
        return Check("bad", "Fails the current checks")
    if evidence.verdict is None:
        return Check("", "No report is stored")
    if evidence.verdict is Verdict.PASS:
        return Check("good", "Passed all checks")
    if evidence.is_reviewed:
        return Check("good", f"Approved by {evidence.approved_by} after review")
    return Check("warn", "Has findings that nobody reviewed")


def checklist(
    evidence: Evidence,
    health: RepoHealth | None,
    *,
    has_judge: bool,
    mirrored: MirroredSkill | None = None,
) -> tuple[Check, ...]:
    """Return each check and its result; without a judge, the judge is not mentioned.

    *health* is that of the source repository; None for uploads and mirrored skills.
    """
    return (
        _scanned(evidence),
        *([_judged(evidence)] if has_judge or evidence.agreement else []),
        Check("good", f"Approved by a reviewer: {evidence.approved_by}")
        if evidence.is_reviewed
        else Check("", "Not approved by a reviewer"),
        _mirrored(mirrored) if mirrored else _source(health),
        *([Check("good", "Source commit is known")] if evidence.has_provenance else []),
        _age(evidence),
        *(
            [Check("warn", f"{count_of(evidence.yanked, 'version')} yanked")]
            * bool(evidence.yanked)
        ),
    )


def _scanned(evidence: Evidence) -> Check:
    return {
        Verdict.PASS: Check("good", "Scanned: passed"),
        Verdict.REVIEW: Check("warn", "Scanned: some findings"),
        Verdict.BLOCK: Check("bad", "Scanned: fails the current checks"),
        None: Check("", "No scan report is stored for this content"),
    }[evidence.verdict]


def _judged(evidence: Evidence) -> Check:
    is_sure = derive_trust(evidence).tier in {TrustTier.JUDGED, TrustTier.CERTIFIED}
    if is_sure:
        return Check("good", "Judged: approved by the LLM judge")
    return Check("", "Not approved by the LLM judge")


def _mirrored(skill: MirroredSkill) -> Check:
    if skill.missing_since or skill.withdrawn_since:
        return Check("warn", f"No longer available at {skill.mirror}, from which it is mirrored")
    return Check("good", f"Mirrored from {skill.mirror}: its digests matched")


def _source(health: RepoHealth | None) -> Check:
    if health is None:
        return Check("", "Uploaded files: no source to compare with")
    tone, words = _REPOS[health.status]
    if health.has_moved and tone == "good":
        return Check("warn", "Source is online and has changed since")
    return Check(tone, words)


def _age(evidence: Evidence) -> Check:
    words = f"First published {ago_in_words(evidence.published_for.total_seconds())}"
    return Check("good" if evidence.published_for >= SETTLED_AFTER else "", words)
