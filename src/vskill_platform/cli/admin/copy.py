"""`admin copy`: move a registry to another database."""

import click
import uvloop

from vskill_platform.cli.admin.check_archives import check_archives
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.cli.output.transfer_bar import item_bar
from vskill_platform.cli.run_command import current_settings
from vskill_platform.engines.open_engine import copy_database
from vskill_platform.secret_settings import DatabaseUrl, read_secret_file, show_url

_SECRET_FILE = "@"  # noqa: S105 - the prefix of a file name


@click.command()
@click.option("--from", "source", required=True, metavar="URL", help="The database to copy.")
@click.option("--to", "target", required=True, metavar="URL", help="An empty database.")
@json_option
def copy(*, source: str, target: str, as_json: bool) -> None:
    """Copy a registry to another database, such as from SQLite to PostgreSQL.

    Records, queued messages and dead letters are copied as of one moment and then compared by
    digest. Stop the platform first: later writes to the source are not in the copy. To continue
    a copy that was interrupted, run it again.

    URL is like sqlite:///skills.db or postgresql://user:password@host/database, or file:///FILE for
    a backup of PostgreSQL. @FILE reads it from a file, so that no password appears in the list of
    processes.
    """
    settings = current_settings()
    where, place = _read_url(source), _read_url(target)
    with item_bar("copying", quiet=as_json) as on_progress:
        done = uvloop.run(copy_database(where, place, on_progress=on_progress))
    if as_json:
        print_json(done)
        check_archives(settings, database_url=place, quiet=True)
        return
    echo(
        f"Copied {done.records:,} records, {done.messages:,} messages and {done.dead_letters:,} "
        f"dead letters to {show_url(place)}.",
        f"Both have {done.digest}.",
        "The copy has the state from when it was started. The search index is rebuilt at the "
        "next start.",
    )
    check_archives(settings, database_url=place)


def _read_url(text: str) -> DatabaseUrl:
    if text.startswith(_SECRET_FILE):
        return DatabaseUrl(read_secret_file("the URL", text.removeprefix(_SECRET_FILE)))
    return DatabaseUrl(text)
