"""`reviews` on a registry."""

from typing import Any

import click

from vskill_platform.cli.output.show_scan_report import show_scan
from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import (
    Console,
    confirm,
    echo,
    escape,
    is_interactive,
    print_json,
)
from vskill_platform.cli.remote.submissions import mark
from vskill_platform.client.addresses import segment
from vskill_platform.client.moderation_shapes import DecisionResult, ReviewCase, Reviews
from vskill_platform.client.registry import Registry
from vskill_platform.errors import InvalidInput
from vskill_platform.model.skill import group_by_capability

_REVIEWS = "/api/v1/reviews"
_MAX_FILES = 50


def list_all(registry: Registry, *, as_json: bool) -> None:
    response: Reviews = registry.get_json(_REVIEWS, Reviews)
    if as_json:
        print_json(response)
        return
    if not response["reviews"]:
        echo("Nothing needs review.", err=True)
        return
    show_table(
        ("id", "skill", "by", "since (UTC)", "reason"),
        [
            (one["id"], one["skillName"], one["submitter"], one["since"][:16].replace("T", " "),
             one["rule"] or one["decided"])
            for one in response["reviews"]
        ],
        keys=("id",),
    )  # fmt: skip
    echo("Show one with: vskill-platform reviews show ID", err=True)


def show(registry: Registry, *, submission_id: str, as_json: bool) -> None:
    case: ReviewCase = registry.get_json(f"{_REVIEWS}/{segment(submission_id)}", ReviewCase)
    if as_json:
        print_json(case)
    else:
        _show_case(case)


def approve_one(registry: Registry, **options: Any) -> None:
    _decide(registry, "approve", **options)


def reject_one(registry: Registry, **options: Any) -> None:
    _decide(registry, "reject", **options)


def recheck_one(registry: Registry, *, submission_id: str, reason: str, as_json: bool) -> None:
    _rule(registry, "recheck", submission_id, {"reason": reason}, as_json=as_json)


def _decide(  # noqa: PLR0913 - options come as parameters
    registry: Registry,
    ruling: str,
    *,
    submission_id: str,
    reason: str,
    digest: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    if digest is None:
        digest = _confirm(registry, ruling, submission_id, yes=yes, as_json=as_json)
    _rule(registry, ruling, submission_id, {"reason": reason, "digest": digest}, as_json=as_json)


def _confirm(
    registry: Registry, ruling: str, submission_id: str, *, yes: bool, as_json: bool
) -> str:
    """Show the submission and ask for confirmation; return the digest of what was shown."""
    case: ReviewCase = registry.get_json(f"{_REVIEWS}/{segment(submission_id)}", ReviewCase)
    if case["state"] != "NEEDS_REVIEW":
        raise InvalidInput(f"{submission_id} does not need review; it is {case['state']}")
    if not as_json:
        _show_case(case)
    verb = ruling.capitalize()
    if not yes and (as_json or not is_interactive()):
        raise click.UsageError(
            f"{verb} needs confirmation, and there is no terminal to ask. Look at it "
            f"with `reviews show {submission_id}`, then pass its --digest, or pass --yes"
        )
    if not yes:
        confirm(f"{verb}?")
    return case["digest"]


def _rule(
    registry: Registry, ruling: str, submission_id: str, body: dict[str, Any], *, as_json: bool
) -> None:
    path = f"{_REVIEWS}/{segment(submission_id)}/{ruling}"
    response: DecisionResult = registry.post_json(path, body, DecisionResult)
    if as_json:
        print_json(response)
    else:
        Console().print(
            f"{escape(response['id'])} {mark(response['state'])}: {escape(response['reason'])}",
            highlight=False,
        )


def _show_case(case: ReviewCase) -> None:
    console = Console()
    rows = {
        "id": case["id"],
        "skill": case["skillName"],
        "state": case["state"],
        "source": f"{case['repoUrl']} {case['skillPath']}".strip(),
        "by": case["submitter"],
        "digest": case["digest"],
        "published": case["published"] or "-",
    }
    for name, value in rows.items():
        console.print(f"[dim]{name}[/] {escape(value)}", highlight=False, soft_wrap=True)
    show_scan(case["report"], case["skillName"])
    for kind, values in group_by_capability(case["gained"]).items():
        console.print(f"[dim]can now[/] {escape(kind)}: {escape(', '.join(values))}")
    for file in case["files"][:_MAX_FILES]:
        console.print(f"[dim]file[/] {escape(file['path'])} ({file['size']:,} bytes)")
    if len(case["files"]) > _MAX_FILES:
        echo(f"and {len(case['files']) - _MAX_FILES} more files")
