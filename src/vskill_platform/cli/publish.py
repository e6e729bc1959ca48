"""`publish`: scan a skill here, send it to a registry, and follow it until it is published."""

import sys
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click
import msgspec

from vskill_platform.cli.lazy import load
from vskill_platform.cli.local_or_remote import (
    find_registry,
    json_option,
    registry_option,
)
from vskill_platform.errors import NotFound, RegistryError

_CLI = "vskill_platform.cli"
_MAX_FILES = 40
#: A scan whose score is lower is rejected; `scan` says the same.
_BLOCK = "block"


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command."""

    path: Path
    namespace: str
    is_private: bool
    dry_run: bool
    no_scan: bool
    wait: bool
    as_json: bool


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path))
@click.option("--namespace", default="", metavar="@NAME", help="Publish here (default: your own).")
@click.option("--private", "is_private", is_flag=True, help="Visible to its namespace only.")
@click.option("--dry-run", is_flag=True, help="Scan it and show what would be sent; send nothing.")
@click.option("--no-scan", is_flag=True, help="Send it without a scan on this machine.")
@click.option("--wait", is_flag=True, help="If it needs review, wait for the decision.")
@json_option
@registry_option
def publish(*, registry: str | None, **options: Any) -> None:
    """Scan a skill, upload it and follow it until it is published.

    PATH is the folder with the SKILL.md, or an archive; the current folder by default. The exit
    code is 0 only if it is published, 1 if it is refused or rejected, and 3 if it needs review.
    """
    wishes = Wishes(**options)
    if not wishes.path.exists():
        raise NotFound(f"{wishes.path} does not exist")
    if wishes.dry_run:
        _show_only(wishes)
        return
    target = find_registry(registry)
    if target is None:
        _publish_local(wishes)
        return
    if not target.token:
        target, wishes = _from_ci(target, wishes)
    with target.open() as opened:
        _publish_remote(opened, wishes)


def _from_ci(target: Any, wishes: Wishes) -> tuple[Any, Wishes]:
    """Sign in as the CI job that this is, if it is one; the registry may choose the namespace."""
    from vskill_platform.client.ci_token import (  # noqa: PLC0415 - after --help
        has_ci_token,
        sign_in_from_ci,
    )

    if not has_ci_token():
        return target, wishes
    echo = load(f"{_CLI}.terminal:echo")
    try:
        made = sign_in_from_ci(target, namespace=wishes.namespace)
    except RegistryError as error:
        if wishes.namespace or error.status != HTTPStatus.UNAUTHORIZED:
            raise
        # The job may have its token for something else, and the registry may take anonymous skills.
        echo(f"Continuing without signing in as a trusted publisher: {error}", err=True)
        return target, wishes
    if not wishes.namespace:
        echo(f"Only {made['namespace']} trusts this repository: publishing there.", err=True)
    signed_in = msgspec.structs.replace(target, token=made["token"])
    return signed_in, msgspec.structs.replace(wishes, namespace=made["namespace"])


def _show_only(wishes: Wishes) -> None:
    """Scan it and show what would be sent, without asking any registry."""
    from vskill_platform.fetch.private_folder import make_workspace  # noqa: PLC0415 - after --help

    with make_workspace() as workspace:
        parcel, folder = _pack(wishes, workspace)
        scanned = None if wishes.no_scan else _scan(parcel, folder, wishes)
    if wishes.as_json:
        _print_json(wishes, {"dryRun": True, **_plan(parcel, wishes.namespace), "scan": scanned})
    else:
        _show_plan(parcel, f"{wishes.namespace or 'your namespace'} as {parcel.name}", wishes)


def _publish_remote(registry: Any, wishes: Wishes) -> None:
    from vskill_platform.client.shapes import Account  # noqa: PLC0415 - after --help
    from vskill_platform.client.submissions import upload  # noqa: PLC0415 - as above
    from vskill_platform.fetch.private_folder import make_workspace  # noqa: PLC0415 - as above

    with make_workspace() as workspace:
        parcel, folder = _pack(wishes, workspace)
        if not wishes.no_scan:
            _scan(parcel, folder, wishes)
        who = registry.get_json("/api/v1/account", Account)
        namespace = wishes.namespace or (f"@{who['name']}" if who["name"] else "@local")
        if not wishes.as_json:
            _show_plan(parcel, f"{registry.url} as {namespace}/{parcel.name}", wishes)
        bar = load(f"{_CLI}.transfer_bar:transfer_bar")
        try:
            with bar("uploading", quiet=wishes.as_json) as on_progress:
                answer = upload(
                    registry,
                    parcel,
                    namespace=wishes.namespace,
                    is_private=wishes.is_private,
                    on_progress=on_progress,
                )
        except RegistryError as error:
            if error.status:
                raise
            raise RegistryError(
                f"{error} Run the same command again: the same content is not submitted twice."
            ) from error
        code = _follow(registry, answer, wishes, folder)
    if code:
        raise click.exceptions.Exit(code)


def _pack(wishes: Wishes, workspace: Path) -> tuple[Any, Path]:
    """Return what is sent, and the folder with exactly these files."""
    from vskill_platform.client.submissions import (  # noqa: PLC0415 - after --help
        MANIFEST,
        pack_folder,
        read_archive,
    )

    if not wishes.path.is_dir():
        folder = workspace / "unpacked"
        load("vskill_platform.fetch.archive:unpack")(wishes.path, folder)
        root: Path = load("vskill_platform.fetch.archive:root_of")(folder)
        return read_archive(wishes.path), root
    if not (wishes.path / MANIFEST).is_file():
        raise NotFound(
            f"there is no {MANIFEST} in {wishes.path}. `publish` sends one skill; for a folder "
            "with several use: vskill-platform submit --all PATH"
        )
    copy = workspace / "copy"
    return pack_folder(wishes.path, copy), copy


def _scan(parcel: Any, folder: Path, wishes: Wishes) -> str:
    """Scan exactly what would be sent; stop here if a registry would reject it."""
    target = load("vskill_platform.scan.scan_many:Target")(
        path=str(wishes.path), folder=folder, folder_name=parcel.name
    )
    (one,) = load("vskill_platform.scan.scan_many:scan_many")([target], jobs=1)
    if not wishes.as_json:
        load("vskill_platform.scan.reports.report_text:write_text")([one], sys.stdout)
        sys.stdout.flush()
    if one.result is None:
        reason = f"it could not be scanned: {one.error}"
    elif load("vskill_platform.model.failure:failures_in")(one.result.findings):
        reason = "its SKILL.md or its files are not valid"
    elif one.result.verdict == _BLOCK:
        reason = "the scan found something that a registry rejects"
    else:
        return str(one.result.verdict)
    findings = one.result.findings if one.result else ()
    _print_json(wishes, {"sent": False, "reason": reason, "findings": findings})
    load(f"{_CLI}.terminal:echo")(
        f"Nothing was sent: {reason}. Fix it, or send it anyway with --no-scan.", err=True
    )
    raise click.exceptions.Exit(1)


def _plan(parcel: Any, namespace: str) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "name": parcel.name,
        "bytes": len(parcel.content),
        "digest": parcel.digest,
        "files": [{"path": file.path, "size": file.size} for file in parcel.files],
        "leftOut": parcel.left_out,
    }


def _show_plan(parcel: Any, where: str, wishes: Wishes) -> None:
    echo = load(f"{_CLI}.terminal:echo")
    count = load("vskill_platform.base.show_text:count_of")
    verb = "Would send" if wishes.dry_run else "Sending"
    what = count(len(parcel.files), "file") if parcel.files else parcel.filename
    echo(f"{verb} to {where}: {what}, {parcel.size:,} bytes", err=True)
    for file in parcel.files[:_MAX_FILES]:
        echo(f"  {file.path} ({file.size:,} bytes)", err=True)
    if len(parcel.files) > _MAX_FILES:
        echo(f"  and {count(len(parcel.files) - _MAX_FILES, 'more file')}", err=True)
    for path in parcel.left_out[:_MAX_FILES]:
        echo(f"  left out: {path}", err=True)


def _follow(registry: Any, answer: Any, wishes: Wishes, folder: Path) -> int:
    """Follow each submission to its end, print the result, and return the exit code."""
    from vskill_platform.client.answers import check_shape  # noqa: PLC0415 - after --help
    from vskill_platform.client.shapes import SubmittedSet  # noqa: PLC0415 - as above

    remote = f"{_CLI}.remote_submissions"
    watch, exit_code = load(f"{remote}:watch_one"), load(f"{remote}:exit_code")
    check_shape(answer, SubmittedSet)
    ended = [
        watch(registry, one["id"], quiet=wishes.as_json, through_review=wishes.wait)
        for one in answer["submissions"]
    ]
    if wishes.as_json:
        _print_json(wishes, {**answer, "submissions": ended})
    else:
        for one in ended:
            _show_end(registry, one, folder)
        for one in answer["skipped"]:
            load(f"{_CLI}.terminal:echo")(f"not accepted: {one['path']}: {one['error']}", err=True)
    code: int = load(f"{remote}:worst")(exit_code(one["state"]) for one in ended)
    return code or int(bool(answer["skipped"]))


def _show_end(registry: Any, found: Any, folder: Path) -> None:
    segment = load("vskill_platform.client.addresses:segment")
    echo = load(f"{_CLI}.terminal:echo")
    page = registry.page(f"/submissions/{segment(found['id'])}")
    slug = found["publishedSkillName"]
    if found["state"] == "PUBLISHED":
        echo(f"Published as {slug}: {registry.page(f'/skills/{slug}')}")
        return
    show_scan = load(f"{_CLI}.remote_reports:show_scan")
    show_scan(found.get("scanResult"), found["skillName"], folder=folder)
    if found["state"] == "NEEDS_REVIEW":
        reason = found["reason"].removeprefix("needs review: ")
        echo(f"It needs review: {reason}", f"Follow it at {page}")
        echo("Use --wait to wait for the decision.", err=True)
    else:
        echo(f"Not published ({found['state']}): {found['reason']}", page)


def _publish_local(wishes: Wishes) -> None:
    """Scan it, then put it into the database of this machine and follow it there."""
    if wishes.namespace or wishes.is_private:
        raise click.UsageError("--namespace and --private need a registry; sign in with `login`")
    from vskill_platform.fetch.private_folder import make_workspace  # noqa: PLC0415 - as above

    with make_workspace() as workspace:
        parcel, folder = _pack(wishes, workspace)
        if not wishes.no_scan:
            _scan(parcel, folder, wishes)
    if not wishes.as_json:
        _show_plan(parcel, "the database of this machine", wishes)
    load(f"{_CLI}.submit:submit")(
        source=str(wishes.path), path="", ref="", every=False, watch=True, as_json=wishes.as_json
    )


def _print_json(wishes: Wishes, value: Any) -> None:
    if wishes.as_json:
        load(f"{_CLI}.terminal:print_json")(value)
