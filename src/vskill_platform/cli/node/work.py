"""`work` and `tick`: only a worker, or the due cron jobs once."""

import click

from vskill_platform.base.metrics import serve_metrics
from vskill_platform.base.systemd import report_alive
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.node.run_parts import run_parts
from vskill_platform.cli.node.stop_signals import stop_on_signals
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.cli.run_command import run_command, run_worker
from vskill_platform.cron.nodes import beat
from vskill_platform.cron.schedule import run_cron, run_due_jobs
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.cron_store import CronRun
from vskill_platform.stores.db import bound_env


@click.command()
@click.option("--drain", is_flag=True, help="Exit when the queue is empty.")
@click.option("--cron", is_flag=True, help="Also run the scheduled jobs.")
def work(*, drain: bool, cron: bool) -> None:
    """Process the queue until stopped with Ctrl-C.

    Any number of workers can share the jobs of --cron: each job runs on one of them at a time.
    """
    if drain and cron:
        raise click.UsageError(
            "--drain exits when the queue is empty, --cron never exits; choose one"
        )

    async def run(env: WorkerEnv) -> None:
        stop = stop_on_signals(env.settings.stop_grace)
        if env.settings.metrics_port:
            serve_metrics(env.settings.metrics_port, env.settings.host)
        parts = [Worker(env).run(stop, drain=drain)]
        if cron:
            parts.append(run_cron(env, stop))
        roles = ["worker", "cron"] if cron else ["worker"]
        await run_parts(*parts, meanwhile=[beat(env, roles), report_alive()])

    run_worker(run)


@click.command()
@json_option
@click.pass_context
def tick(context: click.Context, *, as_json: bool) -> None:
    """Run the due cron jobs once.

    Use it with an external scheduler. The exit code is 1 if a job failed.
    """

    async def run() -> list[CronRun]:
        return await run_due_jobs(bound_env())

    runs = run_command(run, with_policy=True)
    if as_json:
        print_json(runs)
    elif not runs:
        echo("Nothing is due.")
    else:
        for done in runs:
            echo(f"{done.job}: {'FAILED: ' if done.is_failure else ''}{done.outcome}")
    if any(done.is_failure for done in runs):
        context.exit(1)
