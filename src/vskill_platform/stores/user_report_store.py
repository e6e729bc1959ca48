"""Reports by users about a skill or about the registry, open and closed."""

import secrets
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Operation, Put
from vskill_platform.model.record import Reasoned, Record
from vskill_platform.model.rights import ANONYMOUS
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, decode, encode, get_record, read_each

_REPORT = "user-report:"
#: Prefixes of the marks that find the reports of a user, and the open reports.
_BY_USER = "user-report-by "
_OPEN = "user-report-open "
#: Ends the mark of open reports by visitors without an account.
_ANONYMOUS = "anonymous"
#: Changes with every report of a user.
_MARK = "user-reports-mark:"
#: How long a closed report is kept; an open one is kept until it is closed.
KEPT_FOR = timedelta(days=365)


class ReportKind(StrEnum):
    SKILL = "skill"
    #: About the registry itself.
    PROBLEM = "problem"


class UserReport(Reasoned, Record, frozen=True, kw_only=True):
    #: Sorts by time.
    id: str
    kind: ReportKind
    #: The slug of the skill, or the page with the problem; may be empty.
    subject: str
    #: The version of the skill; empty if the report names none.
    version: str = ""
    reason: str
    by: str
    at: datetime
    #: Who closed it, when and why; empty and None while it is open.
    closed_by: str = ""
    closed_at: datetime | None = None
    answer: str = ""

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


class UserReportPage(msgspec.Struct, frozen=True):
    reports: list[UserReport]
    cursor: str | None


def new_report_id(now: datetime) -> str:
    return f"rep_{_micros(now):014x}{secrets.token_hex(5)}"


async def get_user_report(report_id: str) -> Stored[UserReport] | None:
    return await get_record(_REPORT + report_id, UserReport)


async def list_user_reports(*, after: str | None = None, limit: int = 50) -> UserReportPage:
    """Return a page of reports, newest first."""
    page = await get_kv().list_keys(_REPORT, after=after, limit=limit, newest_first=True)
    return UserReportPage(await _read(page.keys), page.cursor)


async def list_open_reports(kind: ReportKind, *, limit: int) -> list[UserReport]:
    """Return the open reports of a kind, newest first."""
    return await _marked(_OPEN + kind, limit)


async def list_reports_by(user_name: str, *, limit: int) -> list[UserReport]:
    """Return the reports of a user, newest first."""
    return await _marked(_BY_USER + user_name, limit)


async def count_open_by(user_name: str, *, limit: int) -> int:
    """Return how many open reports a user has, counted up to *limit*."""
    (keys,) = await get_kv().find_marked([_OPEN + _BY_USER + user_name], limit=limit)
    return len(keys)


async def count_open_anonymous(*, limit: int) -> int:
    """Return how many open reports visitors without an account have, counted up to *limit*."""
    (keys,) = await get_kv().find_marked([_OPEN + _ANONYMOUS], limit=limit)
    return len(keys)


async def get_reports_mark(user_name: str) -> int:
    """Return the revision of the record that every new report of a user writes."""
    stored = await get_record(_MARK + user_name, str)
    return stored.revision if stored else ABSENT


def write_reports_mark(report: UserReport, *, expected: int) -> Operation:
    """Make a commit fail if this user reported something meanwhile, to enforce the maximum."""
    return Put(_MARK + report.by, encode(report.id), expected=expected, due=NEVER)


def write_user_report(report: UserReport, *, expected: int) -> Operation:
    opened = [_OPEN + report.kind, _OPEN + _BY_USER + report.by] if report.is_open else []
    if opened and report.by.startswith(ANONYMOUS):
        opened.append(_OPEN + _ANONYMOUS)
    return Put(
        _REPORT + report.id,
        encode(report),
        expected=expected,
        due=NEVER,
        expires_at=report.closed_at + KEPT_FOR if report.closed_at else None,
        marks=(_BY_USER + report.by, *opened),
        rank=_micros(report.at),
    )


async def _marked(word: str, limit: int) -> list[UserReport]:
    (keys,) = await get_kv().find_marked([word], limit=limit, last_first=True)
    return await _read(keys)


async def _read(keys: list[str]) -> list[UserReport]:
    return await read_each(keys, lambda key, value: decode(key, value, UserReport))


def _micros(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000)
