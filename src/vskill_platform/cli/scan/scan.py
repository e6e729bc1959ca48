"""`scan`: the checks of the registry, without a registry."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TextIO

import click
import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from vskill_platform.base.clock import SystemClock
from vskill_platform.base.process_limits import check_memory_limit
from vskill_platform.base.safe_stderr import guard_stdout
from vskill_platform.cli.empty_values import FilledPath
from vskill_platform.cli.lazy import load
from vskill_platform.cli.output.terminal import Console, wrong_usage
from vskill_platform.cli.scan.targets import find_targets, scan_in_place
from vskill_platform.errors import ConfigError, VskillError
from vskill_platform.fetch.temporary_folders import make_workspace
from vskill_platform.scan.scan_many import Scanned, ScanTarget, scan_many

_WRITERS = {
    "text": "vskill_platform.scan.reports.report_text:write_text",
    "json": "vskill_platform.scan.reports.report_json:write_json",
    "jsonl": "vskill_platform.scan.reports.report_json:write_jsonl",
    "sarif": "vskill_platform.scan.reports.report_sarif:write_sarif",
    "html": "vskill_platform.scan.reports.report_html:write_html",
}
#: Verdicts that each value of `--fail-on` fails on.
_FAILING = {
    None: frozenset(),
    "review": frozenset({"review", "block"}),
    "block": frozenset({"block"}),
}
#: Fewer targets finish before a progress bar could be read.
_MANY = 20
EXIT_FOUND, EXIT_NOT_VERIFIED = 1, 3


class _Tally(msgspec.Struct):
    """The counts so far."""

    verdicts: set[str] = msgspec.field(default_factory=set)
    broken: int = 0

    def watch(self, scanned: Iterable[Scanned]) -> Iterator[Scanned]:
        for one in scanned:
            if one.result:
                self.verdicts.add(one.result.verdict)
            else:
                self.broken += 1
            yield one


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--recursive", "-r", is_flag=True, help="Scan every folder below PATH with a SKILL.md."
)
@click.option("--format", "form", type=click.Choice(list(_WRITERS)), default="text",
              show_default=True, help="Report format.")  # fmt: skip
@click.option("--output", "-o", metavar="FILE", type=FilledPath(dir_okay=False),
              help="Write the report to this file.")  # fmt: skip
@click.option("--fail-on", type=click.Choice(["review", "block"]),
              help="Exit with code 1 if a verdict is this bad or worse.")  # fmt: skip
@click.option("--policy", "policy_file", metavar="FILE", type=FilledPath(),
              help="Apply the suppressions of this policy.")  # fmt: skip
@click.option("--explain", metavar="RULE", help="Explain a rule; `all` lists all rules.")
@click.option("--jobs", "-j", type=click.IntRange(1, 256), default=os.cpu_count() or 1, metavar="N",
              help="Number of processes (default: one per processor).")  # fmt: skip
@click.pass_context
def scan(  # noqa: PLR0913 - one for each option
    context: click.Context,
    *,
    paths: tuple[str, ...],
    recursive: bool,
    form: str,
    output: Path | None,
    fail_on: str | None,
    policy_file: Path | None,
    explain: str | None,
    jobs: int,
) -> None:
    """Scan skills for security problems.

    PATH is a folder, an archive (.zip, .tar.gz, .tgz) or a git URL. No part of a skill is ever run,
    and no database is needed. The exit code is 0 if no verdict is as bad as --fail-on, 1 if one is,
    2 for wrong usage, and 3 if something could not be scanned, and so is not verified.
    """
    if explain:
        _explain(explain)
        return
    if not paths:
        raise click.UsageError("Give at least one PATH: a folder, an archive or a git URL.")
    try:
        check_memory_limit()
    except ConfigError as error:
        load("vskill_platform.cli.output.terminal:echo")(f"vskill-platform: {error}", err=True)
        context.exit(EXIT_NOT_VERIFIED)
    under_policy = _policy(policy_file) if policy_file else iter
    tally = _Tally()
    with _not_verified_after_errors(context), make_workspace() as workspace:
        targets = _targets(paths, recursive=recursive, workspace=workspace, jobs=jobs)
        in_place = partial(scan_in_place, workspace=workspace)
        scanned = tally.watch(under_policy(scan_many(targets, jobs=jobs, scan=in_place)))
        if _has_room_for_a_bar(len(targets), output):
            scanned = load("vskill_platform.cli.scan.scan:with_progress")(scanned, len(targets))
        _write(form, scanned, output)
    if tally.verdicts & _FAILING[fail_on]:
        context.exit(EXIT_FOUND)
    if tally.broken:
        context.exit(EXIT_NOT_VERIFIED)


@contextmanager
def _not_verified_after_errors(context: click.Context) -> Iterator[None]:
    """End with the exit code of an unfinished scan; 1 would mean a finding."""
    try:
        yield
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        load("vskill_platform.cli.output.terminal:echo")("", "Aborted!", err=True)
        context.exit(EXIT_NOT_VERIFIED)
    except (VskillError, OSError) as error:
        described = load("vskill_platform.cli.output.errors:describe_error")(error)
        if described is None:
            raise
        load("vskill_platform.cli.output.terminal:echo")(f"vskill-platform: {described}", err=True)
        context.exit(EXIT_NOT_VERIFIED)


def _write(form: str, scanned: Iterable[Scanned], output: Path | None) -> None:
    opened = _open(output) if output else nullcontext(guard_stdout())
    with load("vskill_platform.cli.output.terminal:output_errors")(), opened as out:
        load(_WRITERS[form])(scanned, out)
        out.flush()


def _explain(rule: str) -> None:
    text = load("vskill_platform.scan.rules.explain:explain")(rule)
    if text is None:
        raise click.UsageError(f"There is no rule {rule!r}; `--explain all` lists them.")
    load("vskill_platform.cli.output.terminal:echo")(*text.split("\n"))


def _policy(file: Path) -> Callable[[Iterable[Scanned]], Iterator[Scanned]]:
    with wrong_usage(ConfigError):
        policy = load("vskill_platform.scan.apply_policy:load_policy")(file)
    apply = load("vskill_platform.scan.apply_policy:apply_policy_to_each")
    return partial(apply, policy=policy, today=SystemClock().now().date())


def _targets(
    paths: tuple[str, ...], *, recursive: bool, workspace: Path, jobs: int
) -> list[ScanTarget]:
    with wrong_usage():
        return find_targets(paths, recursive=recursive, workspace=workspace, jobs=jobs)


def _open(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror}") from error


def _has_room_for_a_bar(count: int, output: Path | None) -> bool:
    """Return whether a progress bar would be visible and not in the middle of the report."""
    return (
        count >= _MANY and sys.stderr.isatty() and (output is not None or not sys.stdout.isatty())
    )


_BETWEEN_SECONDS = 0.1


def with_progress(scanned: Iterable[Scanned], total: int) -> Iterator[Scanned]:
    """Yield all items and move the bar, which has no thread, so that workers can be forked."""
    progress = Progress(
        TextColumn("scanning"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    with progress:
        task = progress.add_task("", total=total)
        shown_at = 0.0
        for one in scanned:
            progress.advance(task)
            if time.monotonic() - shown_at > _BETWEEN_SECONDS:
                progress.refresh()
                shown_at = time.monotonic()
            yield one
