"""Reports: the latest of each submission, and those of published versions.

A changed source continues its submission. If that update fails, its findings do not apply to the
published version, which keeps its own report.
"""

from collections.abc import Collection, Sequence

import msgspec

from vskill_platform.engines.operations import NEVER, Delete, Operation, Put
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
    """The part of a report that lists and trust scores need, without its findings."""

    verdict: Verdict
    digest: str | None
    score: int | None = None
    scanner: str = ""
    judgement: _JudgementMark | None = None


_MARK = msgspec.json.Decoder(ReportMark)


def submission_of_report_key(key: str) -> str | None:
    """Return the submission id in the key of a report; None for other records."""
    return key[len(_SCAN) :] if key.startswith(_SCAN) else None


async def get_report(submission_id: str) -> Report | None:
    stored = await get_record(_SCAN + submission_id, Report)
    return stored.record if stored else None


async def get_report_on(submission_id: str, digest: str) -> Report | None:
    """Return the report on exactly this content: the latest one, or that of its publication."""
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
    """Return marks for pairs of submission and digest, read at once."""
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
    """Return the mark of each submission's report, read at once."""
    keys = [_SCAN + submission_id for submission_id in submission_ids]
    found = await read_found(keys, lambda _, value: _MARK.decode(value))
    return {key[len(_SCAN) :]: mark for key, mark in found.items()}


def write_report(report: Report) -> Operation:
    return Put(_SCAN + report.submission_id, encode(report), due=NEVER)


def write_report_of_published(report: Report) -> list[Operation]:
    """Store the report of a published version; it is kept as long as the version."""
    key = _published_key(report.submission_id, report.digest or "")
    return [write_report(report), Put(key, encode(report), due=NEVER)]


async def has_published_report(submission_id: str) -> bool:
    """Return whether a version was ever published from this submission."""
    return bool((await get_kv().list_keys(f"{_PUBLISHED}{submission_id}:", limit=1)).keys)


def delete_report(submission_id: str) -> Operation:
    """Delete the latest report, but not those of published versions."""
    return Delete(_SCAN + submission_id)


async def delete_report_on(submission_id: str, digest: str) -> list[Operation]:
    """Return the operations that delete the reports on this content."""
    latest = await get_record(_SCAN + submission_id, Report)
    is_latest = latest is not None and latest.record.digest == digest
    return [
        Delete(_published_key(submission_id, digest)),
        *([Delete(_SCAN + submission_id)] if is_latest else []),
    ]


def _published_key(submission_id: str, digest: str) -> str:
    return f"{_PUBLISHED}{submission_id}:{digest}"
