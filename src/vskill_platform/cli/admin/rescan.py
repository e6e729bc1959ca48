"""`rescan`: check published skills with the current rules and policy."""

import dataclasses
import getpass

import click
import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column, Table

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import (
    Console,
    confirm,
    escape,
    is_interactive,
    print_json,
    yes_option,
)
from vskill_platform.cli.run_command import run_command
from vskill_platform.cron.schedule import RESCAN, run_job_now
from vskill_platform.errors import NotFound, ScanError
from vskill_platform.publish.rescans.apply_rescan import Consequence, apply_rescan
from vskill_platform.publish.rescans.rescan_requests import (
    get_open_rescan_request,
    write_rescan_request,
)
from vskill_platform.publish.rescans.rescan_skills import (
    RescanRun,
    list_changed,
    list_due_skills,
    rescan_skills,
)
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit
from vskill_platform.stores.rescan_store import Rescan

#: How many skills one round checks, so that a round ends well before its lease.
A_ROUND = 1_000
_COLUMNS = (TextColumn("rescanning"), BarColumn(), MofNCompleteColumn())


class Rescanned(msgspec.Struct, frozen=True, kw_only=True):
    run: RescanRun
    #: Skills whose verdict would change.
    changed: tuple[Rescan, ...]
    #: Slugs that were taken down.
    applied: tuple[str, ...] = ()


@click.command()
@click.option(
    "--report",
    is_flag=True,
    help="Check only skills not yet checked with the current rules and policy.",
)
@click.option(
    "--apply",
    "consequence",
    is_flag=False,
    flag_value=Consequence.REVIEW.value,
    default=None,
    type=click.Choice([item.value for item in Consequence]),
    help="Take down skills with a worse result: until a review, or permanently (reject).",
)
@click.option("--skill", "slugs", multiple=True, metavar="SLUG", help="Apply only to this skill.")
@yes_option
@json_option
@click.pass_context
def rescan(
    context: click.Context,
    *,
    report: bool,
    consequence: str | None,
    slugs: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Rescan all published skills.

    It scans the stored archives and shows which verdicts would change. With --report and --apply,
    skills that were already checked with the current rules and policy are skipped. The exit code is
    1 if something could not be checked.
    """
    if report and consequence:
        raise click.UsageError("give --report or --apply, not both")
    if slugs and not consequence:
        raise click.UsageError("--skill needs --apply")

    async def work() -> Rescanned:
        run = await _rescan_all(quiet=as_json, is_whole=not (report or consequence))
        return Rescanned(run=run, changed=tuple(await list_changed()))

    done = run_command(work, with_policy=True)
    if not as_json:
        _show(done)
    if consequence:
        done = _apply(done, Consequence(consequence), slugs, ask=not yes and not as_json)
    if as_json:
        print_json(done)
    else:
        _show_applied(done, has_applied=consequence is not None)
    if done.run.failed:
        context.exit(1)


async def _rescan_all(*, quiet: bool, is_whole: bool) -> RescanRun:
    """Rescan in rounds, each under the lease of the cron job, until no skill is left."""
    total = RescanRun()
    with Progress(*_COLUMNS, console=Console(stderr=True, quiet=quiet), transient=True) as bar:
        task = bar.add_task("", total=None)

        async def one_round() -> str:
            nonlocal total, is_whole
            if is_whole:
                await _want_all()
                is_whole = False
            due = await list_due_skills()
            bar.update(task, total=total.checked + len(due))
            run = await rescan_skills(due, limit=A_ROUND, on_progress=lambda: bar.advance(task))
            total = RescanRun(
                checked=total.checked + run.checked,
                worse=total.worse + run.worse,
                failed=run.failed,
                left=run.left,
            )
            return run.in_words()

        while True:
            before = total
            ended = await run_job_now(dataclasses.replace(RESCAN, run=one_round))
            if ended.is_failure:
                raise ScanError(f"the rescan failed: {ended.outcome}")
            if not total.left or total.checked == before.checked:
                return total


async def _want_all() -> None:
    """Request a full rescan; an earlier request that was interrupted continues."""
    if await get_open_rescan_request() is None:
        actor = getpass.getuser()
        audit = write_audit(RESCAN.name, "all", actor=actor, reason="")
        await commit([write_rescan_request(actor), audit])


def _apply(
    done: Rescanned, consequence: Consequence, slugs: tuple[str, ...], *, ask: bool
) -> Rescanned:
    worse = {item.slug: item for item in done.changed if item.is_worse}
    if unknown := sorted(set(slugs) - set(worse)):
        raise NotFound(
            f"{', '.join(unknown)} has no worse verdict; `rescan --report` lists skills that do"
        )
    wanted = [item for slug, item in worse.items() if not slugs or slug in slugs]
    if wanted and ask and is_interactive():
        confirm(f"Take down {len(wanted)} ({consequence})?")

    async def work() -> tuple[str, ...]:
        actor = getpass.getuser()
        applied = [one.slug for one in wanted if await apply_rescan(one, consequence, actor=actor)]
        return tuple(applied)

    return msgspec.structs.replace(done, applied=run_command(work, with_policy=True))


def _show(done: Rescanned) -> None:
    console = Console()
    failed = f", {done.run.failed} could not be checked (see the log)" if done.run.failed else ""
    console.print(f"{done.run.checked} rescanned{failed}.", highlight=False)
    if not done.changed:
        console.print("No verdict has changed.")
        return
    table = Table(Column("skill", overflow="fold"), "version", "verdict", "reason")
    for item in done.changed:
        colour = "red" if item.is_worse else "green"
        table.add_row(
            escape(item.slug),
            item.version,
            f"{item.old} → [{colour}]{item.new}[/]",
            escape(_because(item)),
        )
    console.print(table)


def _show_applied(done: Rescanned, *, has_applied: bool) -> None:
    console = Console()
    if not done.changed:
        return
    if has_applied:
        for slug in done.applied:
            console.print(f"Taken down: {escape(slug)}", highlight=False)
        if not done.applied:
            console.print("Nothing was taken down.")
    elif any(item.is_worse for item in done.changed):
        console.print("Nothing was taken down. To do so: vskill-platform rescan --apply")


def _because(item: Rescan) -> str:
    finding = item.finding
    if finding is None:
        return item.clause
    place = ":".join(str(part) for part in (finding.file, finding.line) if part is not None)
    return " ".join(part for part in (finding.rule, place, finding.message) if part)
