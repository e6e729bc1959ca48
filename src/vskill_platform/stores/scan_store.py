"""What the checks found: the latest report of each submission, and those of what was published.

A submission goes on when its source changes. What was found in an update that did not pass says
nothing about the version that is on offer, so that keeps its own.
"""

from collections.abc import Collection, Sequence

import msgspec

from vskill_platform.engines.ports import NEVER, Delete, Operation, Put
from vskill_platform.model.judgement import Opinion
from vskill_platform.model.verdict import Report, Verdict
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, encode, get_record, read_found

_SCAN = "scan:"
_PUBLISHED = "published-scan:"


class _JudgementMark(msgspec.Struct, frozen=True):
    opinion: Opinion
    confidence: float


class ReportMark(msgspec.Struct, frozen=True):
    """What of a report lists and trust need; its findings are left unread."""

    verdict: Verdict
    digest: str | None
    score: int | None = None
    scanner: str = ""
    judgement: _JudgementMark | None = None


_MARK = msgspec.json.Decoder(ReportMark)


def submission_of_report_key(key: str) -> str | None:
    """Return the id of the submission whose report has this key; None for other records."""
    return key[len(_SCAN) :] if key.startswith(_SCAN) else None


async def get_report(submission_id: str) -> Report | None:
    stored = await get_record(_SCAN + submission_id, Report)
    return stored.record if stored else None


async def get_report_on(submission_id: str, digest: str) -> Report | None:
    """Return what was found in exactly this content: of late, or when it was published."""
    stored = await get_stored_report_on(submission_id, digest)
    return stored.record if stored else None


async def get_stored_report_on(submission_id: str, digest: str) -> Stored[Report] | None:
    latest = await get_record(_SCAN + submission_id, Report)
    if latest and latest.record.digest == digest:
        return latest
    return await get_record(_published_key(submission_id, digest), Report)


async def read_report_marks_on(
    contents: Collection[tuple[str, str]],
) -> dict[tuple[str, str], ReportMark]:
    """Return the same of many, each a submission and a digest, all read at once."""
    latest = await read_report_marks(list({submission_id for submission_id, _ in contents}))
    known = {
        (submission_id, digest): latest[submission_id]
        for submission_id, digest in contents
        if submission_id in latest and latest[submission_id].digest == digest
    }
    others = {_published_key(*one): one for one in contents if one not in known}
    found = await read_found(list(others), lambda _, value: _MARK.decode(value))
    return known | {others[key]: mark for key, mark in found.items()}


async def read_report_marks(submission_ids: Sequence[str]) -> dict[str, ReportMark]:
    """Return the mark of the report of each submission that has one, all read at once."""
    keys = [_SCAN + submission_id for submission_id in submission_ids]
    found = await read_found(keys, lambda _, value: _MARK.decode(value))
    return {key[len(_SCAN) :]: mark for key, mark in found.items()}


def write_report(report: Report) -> Operation:
    return Put(_SCAN + report.submission_id, encode(report), due=NEVER)


def write_report_of_published(report: Report) -> list[Operation]:
    """Write the report by which content is published; it is kept as long as the version."""
    key = _published_key(report.submission_id, report.digest or "")
    return [write_report(report), Put(key, encode(report), due=NEVER)]


async def has_published_report(submission_id: str) -> bool:
    """Tell whether anything was ever published by this submission."""
    return bool((await get_kv().list_keys(f"{_PUBLISHED}{submission_id}:", limit=1)).keys)


def delete_report(submission_id: str) -> Operation:
    """Remove the latest report; those of published versions stay."""
    return Delete(_SCAN + submission_id)


def _published_key(submission_id: str, digest: str) -> str:
    return f"{_PUBLISHED}{submission_id}:{digest}"
