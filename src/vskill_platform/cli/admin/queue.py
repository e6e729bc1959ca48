"""`queue`, `stuck`, `pause` and `resume`: operating the queue."""

import getpass
from datetime import timedelta

import click
from rich.table import Column, Table

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.show import age, short_duration, state_mark
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.intake.pause_queue import MAX_PAUSE, pause_queue, resume_queue
from vskill_platform.queue.health import Health, check_health
from vskill_platform.setting_values import format_duration, parse_duration
from vskill_platform.stores.db import get_now, get_queue
from vskill_platform.stores.submission_store import get_stuck_submissions


class Duration(click.ParamType[timedelta]):
    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        if isinstance(value, timedelta):
            return value
        try:
            duration = parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not timedelta(0) < duration <= MAX_PAUSE:
            self.fail(
                f"a pause lasts more than 0s and at most {format_duration(MAX_PAUSE)}", param, ctx
            )
        return duration


@click.command()
@json_option
def queue(*, as_json: bool) -> None:
    """Show the queue, waiting reviews and problems."""

    async def work() -> None:
        health = await check_health()
        if as_json:
            print_json(health)
        else:
            _show_health(health)

    run_command(work, read_only=True)


def _show_health(health: Health) -> None:
    now, stats, waiting = get_now(), health.queue, health.reviews
    oldest = f", the oldest for {age(waiting.oldest, now)}" if waiting.oldest else ""
    rows = {
        "queued": str(stats.ready),
        "running": str(stats.leased),
        "scheduled": str(stats.delayed),
        "dead letters": str(stats.dead),
        "background": f"{health.background_pending} rescans and indexing waiting",
        "needs review": f"{waiting.shown}{oldest}",
        "workers": ", ".join(worker.node for worker in health.workers) or "none",
        "paused until": f"{stats.paused_until:%Y-%m-%d %H:%M} UTC" if stats.paused_until else "-",
        "problems": "; ".join(health.problems) or "none",
    }
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        table.add_row(f"[dim]{name}[/]", escape(value))
    Console().print(table)


@click.command()
@json_option
def stuck(*, as_json: bool) -> None:
    """List stuck submissions; `admin tick` requeues them."""

    async def work() -> None:
        found = await get_stuck_submissions(get_now())
        if as_json:
            print_json(found)
            return
        if not found:
            echo("Nothing is stuck.", err=True)
            return
        table = Table(Column("id", no_wrap=True), "skill", "state", "for", "source")
        for submission in found:
            table.add_row(
                submission.id,
                escape(submission.skill_name),
                state_mark(submission.state),
                short_duration(submission.stuck_for),
                escape(submission.repo_url),
            )
        Console().print(table)

    run_command(work, read_only=True)


@click.command()
@click.option("--for", "duration", type=Duration(), default="1h", show_default=True,
              help="How long, such as 10m or 1h30m.")  # fmt: skip
@click.option("--reason", default="", help="Reason, kept in the audit log.")
@json_option
def pause(*, duration: timedelta, reason: str, as_json: bool) -> None:
    """Pause the queue for a while. Running checks continue, and the pause ends by itself."""

    async def work() -> None:
        await pause_queue(duration, actor=getpass.getuser(), reason=reason)
        await _show_pause(as_json=as_json)

    run_command(work)


@click.command()
@json_option
def resume(*, as_json: bool) -> None:
    """End a pause."""

    async def work() -> bool:
        return await resume_queue(actor=getpass.getuser())

    was_paused = run_command(work)
    if as_json:
        print_json({"paused_until": None, "was_paused": was_paused})
    else:
        echo("The queue is running again." if was_paused else "The queue was not paused.")


async def _show_pause(*, as_json: bool) -> None:
    until = (await get_queue().stats()).paused_until
    if as_json:
        print_json({"paused_until": until})
    else:
        echo(f"Paused until {until:%Y-%m-%d %H:%M:%S} UTC." if until else "Not paused.")
