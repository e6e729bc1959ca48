"""`admin vacuum`: return space to the disk."""

import click

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.engines.ports import Compacted
from vskill_platform.stores.db import bound_env


@click.command()
@json_option
def vacuum(*, as_json: bool) -> None:
    """Return the space of deleted records to the disk.

    You can run it while the platform runs: reads continue, and writes wait or get a 503 for about
    a second per 100 MB. It needs free disk space of twice the size of the remaining data.
    """

    async def work() -> Compacted:
        return await bound_env().engine.compact()

    done = run_command(work)
    if as_json:
        print_json(done)
    else:
        echo(f"{done.before_bytes:,} bytes before, {done.after_bytes:,} bytes now.")
