"""`publish`: scan a skill here, send it to a registry, and follow it until it is published."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from vskill_platform.cli.empty_values import FilledPath
from vskill_platform.cli.lazy import load
from vskill_platform.cli.local_or_remote import (
    find_registry,
    json_option,
    registry_option,
)
from vskill_platform.errors import NotFound, RegistryError

_CLI = "vskill_platform.cli"
_TERMINAL = f"{_CLI}.output.terminal"
_MAX_FILES = 40
#: The verdict of a local scan that stops the upload.
_BLOCK = "block"


class PublishOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command."""

    path: Path
    namespace: str
    is_private: bool
    dry_run: bool
    no_scan: bool
    wait: bool
    as_json: bool


@click.command()
@click.argument("path", default=".", type=FilledPath())
@click.option("--namespace", default="", metavar="@NAME", help="Publish here (default: your own).")
@click.option("--private", "is_private", is_flag=True, help="Visible to its namespace only.")
@click.option("--dry-run", is_flag=True, help="Scan it and show what would be sent; send nothing.")
@click.option("--no-scan", is_flag=True, help="Send it without a scan on this machine.")
@click.option("--wait", is_flag=True, help="If it needs review, wait for the decision.")
@json_option
@registry_option
def publish(*, registry: str | None, **given: Any) -> None:
    """Scan a skill, upload it and follow it until it is published.

    PATH is the folder with the SKILL.md, or an archive; the current folder by default. The exit
    code is 0 only if it is published, 1 if it is refused or rejected, and 3 if it needs review.
    """
    options = PublishOptions(**given)
    if not options.path.exists():
        raise click.UsageError(f"{options.path} does not exist")
    if options.dry_run:
        _show_only(options)
        return
    target = find_registry(registry)
    if target is None:
        _publish_local(options)
        return
    if not target.token:
        target = _from_ci(target, options)
    with target.open() as opened:
        _publish_remote(opened, options)


def _from_ci(target: Any, options: PublishOptions) -> Any:
    """Sign in as a CI job, if this is one and the user names the namespace."""
    from vskill_platform.client.ci_token import (  # noqa: PLC0415 - after --help
        has_ci_token,
        sign_in_from_ci,
    )

    if not has_ci_token():
        return target
    if not options.namespace:
        load(f"{_TERMINAL}:echo")(
            "This CI job could sign in by itself, but no namespace is named; continuing without "
            "signing in. Use --namespace to publish as a trusted publisher.",
            err=True,
        )
        return target
    made = sign_in_from_ci(target, namespace=options.namespace)
    return msgspec.structs.replace(target, token=made["token"])


def _show_only(options: PublishOptions) -> None:
    """Scan it and show what would be sent, without asking any registry."""
    from vskill_platform.fetch.temporary_folders import make_workspace  # noqa: PLC0415 - after --help

    with make_workspace() as workspace:
        packed, folder = _pack(options, workspace)
        scanned = None if options.no_scan else _scan(packed, folder, options)
    if options.as_json:
        _print_json(options, {"dryRun": True, **_plan(packed, options.namespace), "scan": scanned})
    else:
        _show_plan(packed, f"{options.namespace or 'your namespace'} as {packed.name}", options)


def _publish_remote(registry: Any, options: PublishOptions) -> None:
    from vskill_platform.client.shapes import Account  # noqa: PLC0415 - after --help
    from vskill_platform.client.submissions import upload  # noqa: PLC0415 - as above
    from vskill_platform.fetch.temporary_folders import make_workspace  # noqa: PLC0415 - as above

    with make_workspace() as workspace:
        packed, folder = _pack(options, workspace)
        if not options.no_scan:
            _scan(packed, folder, options)
        who = registry.get_json("/api/v1/account", Account)
        namespace = options.namespace or (f"@{who['name']}" if who["name"] else "@local")
        if not options.as_json:
            _show_plan(packed, f"{registry.url} as {namespace}/{packed.name}", options)
            if not who["name"]:
                load(f"{_TERMINAL}:echo")(
                    "You are not signed in, so the submission is anonymous.", err=True
                )
        bar = load(f"{_CLI}.output.transfer_bar:transfer_bar")
        try:
            with bar("uploading", quiet=options.as_json) as on_progress:
                answer = upload(
                    registry,
                    packed,
                    namespace=options.namespace,
                    is_private=options.is_private,
                    on_progress=on_progress,
                )
        except RegistryError as error:
            if error.status:
                raise
            raise RegistryError(
                f"{error} Run the same command again: the same content is not submitted twice."
            ) from error
        code = _follow(registry, answer, options, folder)
    if code:
        raise click.exceptions.Exit(code)


def _pack(options: PublishOptions, workspace: Path) -> tuple[Any, Path]:
    """Return the packed skill, and the folder with exactly its files."""
    from vskill_platform.client.submissions import (  # noqa: PLC0415 - after --help
        MANIFEST,
        pack_folder,
        read_archive,
    )

    if not options.path.is_dir():
        folder = workspace / "unpacked"
        load("vskill_platform.fetch.archive:unpack")(options.path, folder)
        root: Path = load("vskill_platform.fetch.archive:root_of")(folder)
        return read_archive(options.path), root
    if not (options.path / MANIFEST).is_file():
        raise NotFound(
            f"there is no {MANIFEST} in {options.path.resolve()}; `publish` sends one skill, for a "
            "folder with several use: vskill-platform submit --all PATH"
        )
    copy = workspace / "copy"
    return pack_folder(options.path, copy), copy


def _scan(packed: Any, folder: Path, options: PublishOptions) -> str:
    """Scan exactly the files to send; stop here if a registry would reject them."""
    target = load("vskill_platform.scan.scan_many:ScanTarget")(
        path=str(options.path), folder=folder, folder_name=packed.name
    )
    (one,) = load("vskill_platform.scan.scan_many:scan_many")([target], jobs=1)
    if not options.as_json:
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
    _print_json(options, {"sent": False, "reason": reason, "findings": findings})
    load(f"{_TERMINAL}:echo")(
        f"Nothing was sent: {reason}. Fix it, or send it anyway with --no-scan.", err=True
    )
    raise click.exceptions.Exit(1)


def _plan(packed: Any, namespace: str) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "name": packed.name,
        "bytes": len(packed.content),
        "digest": packed.digest,
        "files": [{"path": file.path, "size": file.size} for file in packed.files],
        "leftOut": packed.left_out,
    }


def _show_plan(packed: Any, where: str, options: PublishOptions) -> None:
    echo = load(f"{_TERMINAL}:echo")
    count = load("vskill_platform.base.show_text:count_of")
    verb = "Would send" if options.dry_run else "Sending"
    what = count(len(packed.files), "file") if packed.files else packed.filename
    echo(f"{verb} to {where}: {what}, {packed.size:,} bytes", err=True)
    for file in packed.files[:_MAX_FILES]:
        echo(f"  {file.path} ({file.size:,} bytes)", err=True)
    if len(packed.files) > _MAX_FILES:
        echo(f"  and {count(len(packed.files) - _MAX_FILES, 'more file')}", err=True)
    for path in packed.left_out[:_MAX_FILES]:
        echo(f"  left out: {path}", err=True)


def _follow(registry: Any, answer: Any, options: PublishOptions, folder: Path) -> int:
    """Follow each submission to its end, print the result, and return the exit code."""
    from vskill_platform.client.responses import check_shape  # noqa: PLC0415 - after --help
    from vskill_platform.client.shapes import SubmittedSet  # noqa: PLC0415 - as above

    remote = f"{_CLI}.remote.submissions"
    watch, exit_code = load(f"{remote}:watch_one"), load(f"{remote}:exit_code")
    check_shape(answer, SubmittedSet)
    ended = [
        watch(registry, one["id"], quiet=options.as_json, through_review=options.wait)
        for one in answer["submissions"]
    ]
    if options.as_json:
        _print_json(options, {**answer, "submissions": ended})
    else:
        for one in ended:
            _show_end(registry, one, folder)
        for one in answer["skipped"]:
            load(f"{_TERMINAL}:echo")(f"not accepted: {one['path']}: {one['error']}", err=True)
    code: int = load(f"{remote}:worst")(exit_code(one["state"]) for one in ended)
    return code or int(bool(answer["skipped"]))


def _show_end(registry: Any, found: Any, folder: Path) -> None:
    segment = load("vskill_platform.client.addresses:segment")
    echo = load(f"{_TERMINAL}:echo")
    page = registry.page(f"/submissions/{segment(found['id'])}")
    slug = found["publishedSkillName"]
    if found["state"] == "PUBLISHED":
        echo(f"Published as {slug}: {registry.page(f'/skills/{slug}')}")
        return
    show_scan = load(f"{_CLI}.output.show_scan_report:show_scan")
    show_scan(found.get("scanResult"), found["skillName"], folder=folder)
    if found["state"] == "NEEDS_REVIEW":
        reason = found["reason"].removeprefix("needs review: ")
        echo(f"It needs review: {reason}", f"Follow it at {page}")
        echo("Use --wait to wait for the decision.", err=True)
    else:
        echo(f"Not published ({found['state']}): {found['reason']}", page)


def _publish_local(options: PublishOptions) -> None:
    """Scan it, submit it to the database of this machine, and follow it."""
    if options.namespace or options.is_private:
        raise click.UsageError("--namespace and --private need a registry; sign in with `login`")
    from vskill_platform.fetch.temporary_folders import make_workspace  # noqa: PLC0415 - as above

    with make_workspace() as workspace:
        packed, folder = _pack(options, workspace)
        if not options.no_scan:
            _scan(packed, folder, options)
    if not options.as_json:
        _show_plan(packed, "the database of this machine", options)
    load(f"{_CLI}.local.submit:submit")(
        source=str(options.path), path="", ref="", every=False, watch=True, as_json=options.as_json
    )


def _print_json(options: PublishOptions, value: Any) -> None:
    if options.as_json:
        load(f"{_TERMINAL}:print_json")(value)
