"""What the checks found, one report a submission: always the latest."""

from vskill_platform.engines.ports import NEVER, Operation, Put
from vskill_platform.model.verdict import Report
from vskill_platform.stores.records import encode, get_record

_SCAN = "scan:"


async def get_report(submission_id: str) -> Report | None:
    stored = await get_record(_SCAN + submission_id, Report)
    return stored.record if stored else None


def write_report(report: Report) -> Operation:
    return Put(_SCAN + report.submission_id, encode(report), due=NEVER)
