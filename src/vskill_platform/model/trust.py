"""The trust score of a skill: computed only here, with its reasons as text."""

from datetime import timedelta
from enum import StrEnum

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.model.verdict import Verdict

#: After this time, many users have seen the skill.
SETTLED_AFTER = timedelta(days=90)
#: With less confidence, an approval of the judge does not count.
SURE = 0.5

_CHECKED, _CHECKED_WITH_DOUBTS, _JUDGED, _REVIEWED = 30, 15, 30, 20
_PROVENANCE, _SETTLED, _NEVER_YANKED = 10, 5, 5


class TrustTier(StrEnum):
    """From lowest to highest; each tier requires those before it."""

    BLOCKED = "T0"
    UNVERIFIED = "T1"
    SCANNED = "T2"
    JUDGED = "T3"
    CERTIFIED = "T4"


_MEANINGS = {
    TrustTier.BLOCKED: "taken down or blocked; do not install",
    TrustTier.UNVERIFIED: "no available version has passed a check",
    TrustTier.SCANNED: "the content passed the scan, or a reviewer approved it",
    TrustTier.JUDGED: "approved by the judge, and by the scan or a reviewer",
    TrustTier.CERTIFIED: "approved by the judge and a reviewer; the source commit is known",
}


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the trust score is derived from. More evidence never lowers the score."""

    #: On the blocklist, or taken down.
    is_down: bool = False
    #: The verdict of tier 1 on exactly this content; None if there is none.
    verdict: Verdict | None = None
    #: The judge's confidence that it can be published; 0 if the judge did not say so.
    agreement: float = 0.0
    #: The reviewer who approved exactly this content, if any.
    approved_by: str | None = None
    #: Whether the commit and repo are known.
    has_provenance: bool = False
    published_for: timedelta = timedelta(0)
    #: How many of its versions were yanked.
    yanked: int = 0

    @property
    def is_reviewed(self) -> bool:
        return self.approved_by is not None


class TrustScore(msgspec.Struct, frozen=True, kw_only=True):
    tier: TrustTier
    #: From 0 to 100.
    score: int
    #: The meaning of the tier, then the points for and against the skill.
    words: tuple[str, ...]


def tier_meaning(tier: TrustTier) -> str:
    return _MEANINGS[tier]


def derive_trust(evidence: Evidence) -> TrustScore:
    """Compute the trust score and its reasons; a pure function of the evidence."""
    tier = _tier(evidence)
    parts = [(_MEANINGS[tier], 0), *_parts(evidence)]
    score = 0 if tier is TrustTier.BLOCKED else sum(points for _, points in parts)
    words = tuple(f"{words} (+{points})" if points else words for words, points in parts)
    return TrustScore(tier=tier, score=score, words=words)


def _tier(evidence: Evidence) -> TrustTier:
    if evidence.is_down:
        return TrustTier.BLOCKED
    passed = evidence.verdict is Verdict.PASS
    is_cleared = evidence.verdict is Verdict.REVIEW and evidence.is_reviewed
    if not (passed or is_cleared):
        return TrustTier.UNVERIFIED
    if evidence.agreement < SURE:
        return TrustTier.SCANNED
    is_certified = evidence.is_reviewed and evidence.has_provenance
    return TrustTier.CERTIFIED if is_certified else TrustTier.JUDGED


def _parts(evidence: Evidence) -> list[tuple[str, int]]:
    """Return each part of the score, as text and points."""
    scan = {
        Verdict.PASS: ("it passed the scan", _CHECKED),
        Verdict.REVIEW: ("the scan found problems that need review", _CHECKED_WITH_DOUBTS),
        Verdict.BLOCK: ("it fails the current scan", 0),
        None: ("this content has not been scanned", 0),
    }
    judged = round(_JUDGED * evidence.agreement)
    is_settled = evidence.published_for >= SETTLED_AFTER
    never_yanked = ("no version was ever yanked", _NEVER_YANKED)
    yanked = (f"{count_of(evidence.yanked, 'version')} yanked", 0)
    return [
        scan[evidence.verdict],
        (f"approved by the judge ({evidence.agreement:.0%} confidence)", judged)
        if evidence.agreement
        else ("not approved by the judge", 0),
        (f"approved by {evidence.approved_by}", _REVIEWED)
        if evidence.is_reviewed
        else ("not approved by a reviewer", 0),
        ("its source commit is known", _PROVENANCE)
        if evidence.has_provenance
        else ("its source commit is not known", 0),
        (f"published for more than {SETTLED_AFTER.days} days", _SETTLED)
        if is_settled
        else (f"published for {count_of(evidence.published_for.days, 'day')}", 0),
        yanked if evidence.yanked else never_yanked,
    ]
