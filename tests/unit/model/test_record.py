"""Stored reasons have a maximum length, in every record."""

from tests.cases import all_cases
from tests.clocks import NOON
from vskill_platform.model.block import Block, digest_subject
from vskill_platform.model.record import MAX_REASON, Reasoned, cut_reason
from vskill_platform.model.skill import TakenDown, Yank
from vskill_platform.model.submission import Cause
from vskill_platform.publish.moderation.review_skill import ReviewDecision
from vskill_platform.stores.audit_store import AuditRecord

LONG = "because " * 1000


@all_cases(
    "kept",
    [
        Cause(trigger="withdraw", actor="ada", reason=LONG),
        AuditRecord(at=NOON, actor="ada", action="withdraw", subject="sub_1", reason=LONG),
        Block(subject=digest_subject("ab" * 32), reason=LONG, by="rae", at=NOON),
        Yank(number=1, reason=LONG, by="ada", at=NOON),
        TakenDown(reason=LONG, by="rae", at=NOON),
        ReviewDecision(submission_id="sub_1", reviewer="rae", reason=LONG, seen=""),
    ],
    ids=lambda kept: type(kept).__name__,
)
def test_a_reason_that_is_kept_is_cut(kept: Reasoned) -> None:
    assert len(kept.reason) == MAX_REASON
    assert kept.reason.startswith("because")
    assert kept.reason.endswith(" …")


def test_a_reason_that_fits_stays_as_it_is() -> None:
    fits = "x" * MAX_REASON

    assert cut_reason(fits) == Cause(trigger="check", actor="node", reason=fits).reason == fits
