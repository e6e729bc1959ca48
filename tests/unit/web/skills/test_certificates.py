"""The trust terms of the original client claim no more than is true."""

from vskill_platform.model.trust import TrustTier
from vskill_platform.web.skills.shapes import cert_method, cert_tier


def test_every_tier_has_a_word_and_the_method_that_it_rests_on() -> None:
    words = {
        tier: (
            cert_tier(tier),
            cert_method(tier, is_reviewed=False),
            cert_method(tier, is_reviewed=True),
        )
        for tier in TrustTier
    }

    assert words == {
        TrustTier.BLOCKED: ("BLOCKED", "", ""),
        TrustTier.UNVERIFIED: ("UNVERIFIED", "", ""),
        TrustTier.SCANNED: ("SCANNED", "AUTOMATED_SCAN", "MANUAL_REVIEW"),
        TrustTier.JUDGED: ("VERIFIED", "LLM_JUDGE", "MANUAL_REVIEW"),
        TrustTier.CERTIFIED: ("CERTIFIED", "AUTOMATED_SCAN", "MANUAL_REVIEW"),
    }
