"""`reports` on this machine: complaints of users about skills."""

import getpass
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from vskill_platform.cli.remote.reports import show_report, show_reports, split_version
from vskill_platform.cli.run_command import run_command
from vskill_platform.publish.moderation.user_reports import close_report, report_skill
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.stores.skill_store import resolve_slug
from vskill_platform.stores.user_report_store import (
    ReportKind,
    UserReport,
    list_open_reports,
    list_reports_by,
    list_user_reports,
)
from vskill_platform.web.registry.reports import report_item

_MAX_ROWS = 100


def add(*, skill: str, reason: str, as_json: bool) -> None:
    slug, version = split_version(skill)

    async def work() -> UserReport:
        found = await find_version(await resolve_slug(slug), version or None)
        return await report_skill(
            found.skill.slug, version=version, reason=reason, actor=getpass.getuser()
        )

    show_report(_item(run_command(work)), as_json=as_json, under="report")


def list_all(*, status: str, problems: bool, as_json: bool) -> None:
    kind = ReportKind.PROBLEM if problems else ReportKind.SKILL
    lists: dict[str, Callable[[], Awaitable[list[UserReport]]]] = {
        "mine": lambda: list_reports_by(getpass.getuser(), limit=_MAX_ROWS),
        "open": lambda: list_open_reports(kind, limit=_MAX_ROWS),
        "all": _list_newest,
    }
    found = run_command(lists[status], read_only=True)
    show_reports({"reports": [_item(one) for one in found]}, as_json=as_json)


def close(*, report_id: str, answer: str, as_json: bool) -> None:
    async def work() -> UserReport:
        return await close_report(report_id, answer=answer, actor=getpass.getuser())

    show_report(_item(run_command(work)), as_json=as_json)


async def _list_newest() -> list[UserReport]:
    return (await list_user_reports(limit=_MAX_ROWS)).reports


def _item(one: UserReport) -> Any:
    """Return a report as the API describes it."""
    return msgspec.to_builtins(report_item(one))
