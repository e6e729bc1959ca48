"""`admin`: looking after the database."""

import click

from vskill_platform.cli.session import json_option, run_command
from vskill_platform.cli.terminal import echo, print_json
from vskill_platform.engines.ports import Compacted
from vskill_platform.stores.db import bound_env


@click.group()
def admin() -> None:
    """Look after the database."""


@admin.command()
@json_option
def vacuum(*, as_json: bool) -> None:
    """Give the space of deleted records back to the disk.

    The platform may run: it goes on reading, and its writes wait or are answered with 503. It takes
    about a second for 100 MB, and free space of twice what is left.
    """

    async def work() -> Compacted:
        return await bound_env().engine.compact()

    done = run_command(work)
    if as_json:
        print_json(done)
    else:
        echo(f"{done.before_bytes:,} bytes before, {done.after_bytes:,} bytes now.")
