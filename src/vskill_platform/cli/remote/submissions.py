"""`submit`, `status`, `submissions`, `retry`, `withdraw` and `discover` on a registry."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
from rich.table import Table as Grid

from vskill_platform.base.clock import SystemClock
from vskill_platform.base.show_text import count_of
from vskill_platform.cli.local_or_remote import EXIT_NOT_DONE
from vskill_platform.cli.output.show_scan_report import show_scan
from vskill_platform.cli.output.tables import Cell, show_table
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json
from vskill_platform.cli.output.transfer_bar import transfer_bar
from vskill_platform.client.addresses import segment
from vskill_platform.client.registry import ANY_OBJECT, Registry
from vskill_platform.client.responses import add_page, check_shape
from vskill_platform.client.shapes import (
    Changed,
    Discovered,
    Submission,
    Submissions,
    Submitted,
    SubmittedSet,
)
from vskill_platform.client.submissions import (
    follow,
    get_submission,
    pack_folder,
    read_archive,
    upload,
)
from vskill_platform.errors import NotFound, RegistryError
from vskill_platform.fetch.temporary_folders import make_workspace

_SUBMISSIONS = "/api/v1/submissions"
_COLOURS = {"PUBLISHED": "green", "TIER1_FAILED": "red", "REJECTED": "red", "BLOCKED": "red",
            "DEQUEUED": "red"}  # fmt: skip
_MAX_PAGE = 100


def submit(  # noqa: PLR0913 - options come as parameters
    registry: Registry,
    *,
    source: str,
    path: str,
    ref: str,
    every: bool,
    watch: bool,
    as_json: bool,
) -> None:
    """Upload a folder or an archive, or submit a repo."""
    place = Path(source).expanduser()
    if "://" not in source and place.exists():
        if ref:
            raise click.UsageError("--ref is for repos; this is a local path")
        response = _upload(registry, place / path if path else place, quiet=as_json)
    else:
        response = _submit_repo(registry, source, path=path, ref=ref, every=every)
    found = response["submissions"]
    if not as_json:
        _show_response(registry, response)
    if watch:
        ended = [watch_one(registry, one["id"], quiet=as_json) for one in found]
        code = worst(exit_code(one["state"]) for one in ended)
        response["submissions"] = ended if as_json else found
    else:
        code = int(any(one.get("blocked") for one in found))
    if as_json:
        print_json(response)
    if code or response["skipped"]:
        raise click.exceptions.Exit(code or 1)


def _upload(registry: Registry, place: Path, *, quiet: bool) -> Any:
    with make_workspace() as workspace:
        packed = pack_folder(place, workspace / "copy") if place.is_dir() else read_archive(place)
    with transfer_bar("uploading", quiet=quiet) as on_progress:
        return check_shape(upload(registry, packed, on_progress=on_progress), SubmittedSet)


def _submit_repo(
    registry: Registry, source: str, *, path: str, ref: str, every: bool
) -> dict[str, Any]:
    body: dict[str, Any] = {"repoUrl": source, "skillPath": path, "ref": ref}
    if every:
        look = {"repoUrl": source, "path": path, "ref": ref}
        found = _discover(registry, look)["skills"]
        if not found:
            raise NotFound(f"there is no SKILL.md in {source}")
        body["skills"] = [
            {"path": f"{path}/{skill['path']}".strip("/"), "name": skill["name"]} for skill in found
        ]
    response: dict[str, Any] = registry.post_json(_SUBMISSIONS, body, ANY_OBJECT)
    if "submissions" in response:
        return check_shape(response, SubmittedSet)  # type: ignore[no-any-return]  # as it is
    one = check_shape(response, Submitted)
    return {"submissions": [one], "count": 1, "skipped": [], "repoUrl": source, "setId": ""}


def _show_response(registry: Registry, response: Any) -> None:
    for one in response["submissions"]:
        words = _result(one)
        Console().print(
            f"{words}: [bold]{escape(one['id'])}[/] {mark(one['state'])} "
            f"{escape(one['skillName'])}",
            highlight=False,
        )
        if one.get("reason"):
            echo(one["reason"])
        echo(registry.page(f"/submissions/{segment(one['id'])}"))
    for one in response["skipped"]:
        echo(f"not submitted: {one['path'] or '(root)'}: {one['error']}", err=True)


def _result(one: Any) -> str:
    words = {
        "blocked": "Blocked",
        "alreadyVerified": "Already verified, nothing has changed",
        "duplicate": "Already in progress",
        "requeued": "Submitted again",
    }
    return next((text for flag, text in words.items() if one.get(flag)), "Submitted")


def status(registry: Registry, *, submission_id: str, watch: bool, as_json: bool) -> None:
    if watch:
        found = watch_one(registry, submission_id, quiet=as_json)
    else:
        found = check_shape(get_submission(registry, submission_id), Submission)
    if as_json:
        print_json(found)
    else:
        show_detail(registry, found)
    if watch and (code := exit_code(found["state"])):
        raise click.exceptions.Exit(code)


def watch_one(
    registry: Registry, submission_id: str, *, quiet: bool, through_review: bool = False
) -> Any:
    """Follow a submission until it is finished and print each state; return its last state."""
    console = Console(stderr=True, quiet=quiet)
    hint = (
        f"The submission is {submission_id}; follow it with: vskill-platform status "
        f"{submission_id} --watch --registry {registry.url}"
    )
    found: Any = None
    with console.status("waiting") as spinner:
        try:
            for found in follow(registry, submission_id, through_review=through_review):
                console.print(f"{mark(found['state'])} {escape(found['reason'])}", highlight=False)
                spinner.update(str(found["state"]).lower().replace("_", " "))
        except RegistryError as error:
            raise RegistryError(f"{error} {hint}", status=error.status, code=error.code) from error
        except KeyboardInterrupt:
            echo(f"The registry continues to process it. {hint}", err=True)
            raise
    return check_shape(found, Submission)


def list_submissions(
    registry: Registry, *, limit: int, after: str | None, set_id: str | None, as_json: bool
) -> None:
    size = min(limit, _MAX_PAGE)
    response: Submissions = registry.get_json(
        _SUBMISSIONS, Submissions, limit=size, cursor=after, set=set_id
    )
    rows = response["submissions"]
    while len(rows) < limit and (cursor := response.get("nextCursor")):
        more = registry.get_json(
            _SUBMISSIONS,
            Submissions,
            limit=min(limit - len(rows), _MAX_PAGE),
            cursor=cursor,
            set=set_id,
        )
        add_page(response, more, "submissions")
    if as_json:
        print_json(response)
        return
    if not rows:
        echo("No submissions yet. Publish a skill with: vskill-platform publish PATH", err=True)
        return
    show_table(
        ("id", "state", "updated", "skill"),
        [
            (one["id"], Cell(one["state"], _COLOURS.get(one["state"], "yellow")),
             _age(one["updatedAt"]), one["publishedSkillName"] or one["skillName"])
            for one in rows
        ],
        keys=("id", "state"),
    )  # fmt: skip
    if following := response.get("nextCursor"):
        echo(
            f"{count_of(response['total'], 'submission')} in all; more: vskill-platform "
            f"submissions --limit {limit} --after {following}",
            err=True,
        )


def retry(registry: Registry, *, submission_id: str, as_json: bool) -> None:
    path = f"{_SUBMISSIONS}/{segment(submission_id)}/retry"
    _changed(registry.post_json(path, None, Changed), as_json=as_json)


def withdraw(registry: Registry, *, submission_id: str, reason: str, as_json: bool) -> None:
    path = f"{_SUBMISSIONS}/{segment(submission_id)}/withdraw"
    _changed(registry.post_json(path, {"reason": reason}, Changed), as_json=as_json)


def _changed(response: Changed, *, as_json: bool) -> None:
    if as_json:
        print_json(response)
    else:
        Console().print(f"{escape(response['id'])} {mark(response['state'])}", highlight=False)


def _discover(registry: Registry, body: dict[str, str]) -> Discovered:
    found: Discovered = registry.post_json(f"{_SUBMISSIONS}/discover", body, Discovered)
    return found


def discover(registry: Registry, *, source: str, path: str, ref: str, as_json: bool) -> None:
    response = _discover(registry, {"repoUrl": source, "path": path, "ref": ref})
    found = response["skills"]
    if as_json:
        print_json(response)
    elif not found:
        raise NotFound(f"there is no SKILL.md in {source}")
    else:
        show_table(
            ("name", "path", "manifest", "description"),
            [
                (one["name"], one["path"] or "(root)",
                 Cell("valid", "green") if one["isFine"] else Cell("invalid", "red"),
                 one["description"] if one["isFine"] else " ".join(one.get("problems", [])))
                for one in found
            ],
        )  # fmt: skip
    if not found or not all(one["isFine"] for one in found):
        raise click.exceptions.Exit(1)


def show_detail(registry: Registry, found: Submission) -> None:
    console = Console()
    grid = Grid.grid(padding=(0, 2))
    rows = {
        "id": escape(found["id"]),
        "skill": escape(found["skillName"]),
        "source": escape(found["repoUrl"] or "upload"),
        "path": escape(found["skillPath"] or "(root)"),
        "state": mark(found["state"]),
        "reason": escape(found["reason"]),
        "published as": escape(found["publishedSkillName"] or "-"),
        "submitted": escape(f"{_moment(found['createdAt'])} UTC by {found['submitter']}"),
        "page": escape(registry.page(f"/submissions/{segment(found['id'])}")),
    }
    if found["position"]:
        rows["position"] = f"{found['position']} in the queue"
    for name, value in rows.items():
        grid.add_row(f"[dim]{name}[/]", value)
    console.print(grid)
    for event in found["stateHistory"]:
        console.print(
            f"[dim]{escape(_moment(event['at']))}[/] {mark(event['toState'])} "
            f"{escape(event['reason'])} [dim]{escape(event['actor'])}[/]",
            highlight=False,
        )
    show_scan(found.get("scanResult"), found["skillName"])


def mark(state: str) -> str:
    return f"[{_COLOURS.get(state, 'yellow')}]{escape(state)}[/]"


def exit_code(state: str) -> int:
    """Return 0 if it is published, 1 if it never will be, 3 if it is not finished."""
    if state == "PUBLISHED":
        return 0
    return 1 if state in _COLOURS else EXIT_NOT_DONE


def worst(codes: Any) -> int:
    found = set(codes)
    return 1 if 1 in found else max(found, default=0)


def _read_moment(text: str) -> datetime:
    found: datetime = check_shape(text, datetime)
    return found


def _moment(text: str) -> str:
    return f"{_read_moment(text):%Y-%m-%d %H:%M:%S}"


def _age(text: str) -> str:
    passed = max(SystemClock().now() - _read_moment(text), timedelta(0))
    seconds = int(passed.total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return f"{seconds}s ago"
