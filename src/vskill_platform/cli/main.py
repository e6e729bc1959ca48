"""The command `vskill-platform`: every subcommand in one table, every error in one sentence."""

import sys

import click

from vskill_platform import __version__
from vskill_platform.cli.config import config
from vskill_platform.cli.dead_letters import dead_letters
from vskill_platform.cli.queue import pause, resume, stuck
from vskill_platform.cli.serve import serve
from vskill_platform.cli.submissions import list_submissions, status
from vskill_platform.cli.submit import submit
from vskill_platform.cli.work import tick, work
from vskill_platform.errors import VskillError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="vskill-platform")
def cli() -> None:
    """Run and use a verified registry of agent skills."""


for command in (
    serve, submit, status, list_submissions, work, tick, stuck, dead_letters, pause, resume, config,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    try:
        cli()
    except VskillError as error:
        click.echo(f"vskill-platform: {error}", err=True)
        sys.exit(1)
