"""`reports` on a registry: complaints of users about skills."""

from typing import Any

from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.client.addresses import segment
from vskill_platform.client.case_shapes import UserReport, UserReportCreated, UserReports
from vskill_platform.client.registry import Registry

_REPORTS = "/api/v1/reports"


def add(registry: Registry, *, skill: str, reason: str, as_json: bool) -> None:
    slug, version = split_version(skill)
    body = {"slug": slug, "version": version, "reason": reason}
    made: UserReportCreated = registry.post_json(_REPORTS, body, UserReportCreated)
    show_report(made["report"], as_json=as_json, under="report")


def list_all(registry: Registry, *, status: str, problems: bool, as_json: bool) -> None:
    found: UserReports
    if status == "mine":
        found = registry.get_json(f"{_REPORTS}/mine", UserReports)
    else:
        kind = "problem" if problems else "skill"
        found = registry.get_json(_REPORTS, UserReports, status=status, kind=kind)
    show_reports(found, as_json=as_json)


def close(registry: Registry, *, report_id: str, answer: str, as_json: bool) -> None:
    path = f"{_REPORTS}/{segment(report_id)}/close"
    closed: UserReport = registry.post_json(path, {"answer": answer}, UserReport)
    show_report(closed, as_json=as_json)


def split_version(skill: str) -> tuple[str, str]:
    """Return slug and version; the slug of an upload also starts with @."""
    slug, _, version = skill.rpartition("@")
    return (slug, version) if slug else (skill, "")


def show_report(report: UserReport, *, as_json: bool, under: str = "") -> None:
    """Print one report; in JSON it is in the field *under*, if given, as in the API."""
    if as_json:
        print_json({under: report} if under else report)
        return
    echo(f"{report['id']}: {report['status']}")


def show_reports(found: UserReports, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    show_table(
        ("id", "created (UTC)", "user", "target", "reason", "status", "answer"),
        [_row(one) for one in found["reports"]],
        keys=("id",),
    )


def _row(one: UserReport) -> tuple[Any, ...]:
    target = f"{one['subject']} {one['version']}".strip() or "the registry"
    at = one["createdAt"][:16].replace("T", " ")
    return one["id"], at, one["by"], target, one["reason"], one["status"], one["answer"] or ""
