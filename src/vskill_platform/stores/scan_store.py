"""What the checks found, one report a submission: always the latest."""

from collections.abc import Sequence

import msgspec

from vskill_platform.engines.ports import NEVER, Operation, Put
from vskill_platform.model.judgement import Opinion
from vskill_platform.model.verdict import Report, Verdict
from vskill_platform.stores.records import encode, get_record, read_found

_SCAN = "scan:"


class _JudgementMark(msgspec.Struct, frozen=True):
    opinion: Opinion
    confidence: float


class ReportMark(msgspec.Struct, frozen=True):
    """What of a report lists and trust need; its findings are left unread."""

    verdict: Verdict
    digest: str | None
    score: int = 0
    judgement: _JudgementMark | None = None


_MARK = msgspec.json.Decoder(ReportMark)


def submission_of_report_key(key: str) -> str | None:
    """Return the id of the submission whose report has this key; None for other records."""
    return key[len(_SCAN) :] if key.startswith(_SCAN) else None


async def get_report(submission_id: str) -> Report | None:
    stored = await get_record(_SCAN + submission_id, Report)
    return stored.record if stored else None


async def read_report_marks(submission_ids: Sequence[str]) -> dict[str, ReportMark]:
    """Return the mark of the report of each submission that has one, all read at once."""
    keys = [_SCAN + submission_id for submission_id in submission_ids]
    found = await read_found(keys, lambda _, value: _MARK.decode(value))
    return {key[len(_SCAN) :]: mark for key, mark in found.items()}


def write_report(report: Report) -> Operation:
    return Put(_SCAN + report.submission_id, encode(report), due=NEVER)
