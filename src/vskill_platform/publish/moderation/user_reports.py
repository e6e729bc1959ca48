"""Reports by users: about a skill or about the registry, stored until staff close them."""

from datetime import timedelta

import msgspec

from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import InvalidInput, InvalidTransition, NotFound, TooMany
from vskill_platform.model.rights import ANONYMOUS
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.mail_address_store import mail_to_user
from vskill_platform.stores.user_report_store import (
    ReportKind,
    UserReport,
    count_open_anonymous,
    count_open_by,
    get_reports_mark,
    get_user_report,
    new_report_id,
    write_reports_mark,
    write_user_report,
)

#: The maximum number of a user's open reports, so that they don't hide those of others.
MAX_OPEN = 50
#: The same for visitors without an account: in one network, and in total.
MAX_OPEN_ANONYMOUS, MAX_ALL_ANONYMOUS = 5, 200
_RETRY_AFTER = timedelta(hours=1)


async def report_skill(slug: str, *, version: str = "", reason: str, actor: str) -> UserReport:
    """Store a report about a skill or one of its versions for staff, with no other effect."""
    report = _new(ReportKind.SKILL, slug, reason, actor)
    report = msgspec.structs.replace(report, version=version)
    return await _store(report, f"{slug} {version}".strip(), action="report")


async def report_problem(subject: str, *, reason: str, actor: str) -> UserReport:
    """Store a report about the registry; *subject* is the page with the problem, if any."""
    report = _new(ReportKind.PROBLEM, subject, reason, actor)
    return await _store(report, subject or report.id, action="report problem")


async def close_report(report_id: str, *, answer: str, actor: str) -> UserReport:
    """Close a report; its author can see the answer."""
    if not answer.strip():
        raise InvalidInput("say how the report was handled; its author sees it")

    async def plan() -> PlannedChange[UserReport]:
        stored = await get_user_report(report_id)
        if stored is None:
            raise NotFound(f"there is no report {report_id!r}")
        if not stored.record.is_open:
            raise InvalidTransition(f"{stored.record.closed_by} has already closed this report")
        closed = msgspec.structs.replace(
            stored.record, closed_by=actor, closed_at=get_now(), answer=answer.strip()
        )
        operations = [
            write_user_report(closed, expected=stored.revision),
            write_audit("report close", report_id, actor=actor, reason=answer.strip()),
            *await mail_to_user("report_answer", closed.by, _mail_fields(closed)),
        ]
        return PlannedChange(operations=operations, result=closed)

    return await change(f"the report {report_id}", plan)


def _mail_fields(closed: UserReport) -> dict[str, str]:
    return {
        "subject": f"{closed.subject} {closed.version}".strip() or "the registry",
        "reason": closed.reason,
        "answer": closed.answer,
        "by": closed.closed_by,
    }


def _new(kind: ReportKind, subject: str, reason: str, actor: str) -> UserReport:
    now = get_now()
    return UserReport(
        id=new_report_id(now), kind=kind, subject=subject, reason=reason, by=actor, at=now
    )


async def _store(report: UserReport, about: str, *, action: str) -> UserReport:
    audit = write_audit(action, about, actor=report.by, reason=report.reason, outcome=report.id)

    async def plan() -> PlannedChange[UserReport]:
        mark = await get_reports_mark(report.by)  # before counting, to detect concurrent reports
        await _check_maximum(report.by)
        counted = write_reports_mark(report, expected=mark)
        operations = [counted, write_user_report(report, expected=ABSENT), audit]
        return PlannedChange(operations=operations, result=report)

    return await change(f"the reports of {report.by}", plan)


async def _check_maximum(actor: str) -> None:
    is_anonymous = actor.startswith(ANONYMOUS)
    most = MAX_OPEN_ANONYMOUS if is_anonymous else MAX_OPEN
    if await count_open_by(actor, limit=most) >= most:
        whose = "your network has" if is_anonymous else "you have"
        raise TooMany(
            f"{whose} {most} open reports; wait until some of them are handled",
            retry_after=_RETRY_AFTER,
        )
    if is_anonymous and await count_open_anonymous(limit=MAX_ALL_ANONYMOUS) >= MAX_ALL_ANONYMOUS:
        raise TooMany(
            "visitors without an account have too many open reports; sign in to report it",
            retry_after=_RETRY_AFTER,
        )
