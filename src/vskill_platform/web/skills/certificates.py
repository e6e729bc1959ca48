"""How far a skill can be trusted, in the words of the original's clients."""

from vskill_platform.model.trust import TrustTier

#: The first two are no words of the original: it had none for what it did not certify.
_TIERS = {
    TrustTier.BLOCKED: "BLOCKED",
    TrustTier.UNVERIFIED: "UNVERIFIED",
    TrustTier.SCANNED: "SCANNED",
    TrustTier.JUDGED: "VERIFIED",
    TrustTier.CERTIFIED: "CERTIFIED",
}


def cert_tier(tier: TrustTier) -> str:
    return _TIERS[tier]


def cert_method(tier: TrustTier, *, is_reviewed: bool) -> str:
    """Say by what it got its tier; empty if by nothing."""
    if tier in {TrustTier.BLOCKED, TrustTier.UNVERIFIED}:
        return ""
    if is_reviewed:
        return "MANUAL_REVIEW"
    return "LLM_JUDGE" if tier is TrustTier.JUDGED else "AUTOMATED_SCAN"
