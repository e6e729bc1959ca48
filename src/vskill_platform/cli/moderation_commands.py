"""`reviews` and `block`, for a registry or for this machine."""

from collections.abc import Callable
from typing import Any

import click

from vskill_platform.cli.local_or_remote import RegistryOption, json_option, local_or_remote
from vskill_platform.cli.user_commands import reason_option

_id = click.argument("submission_id", metavar="ID")
_digest = click.option(
    "--digest",
    metavar="DIGEST",
    help="The digest you reviewed, as `reviews show` prints it. Without it, the content is "
    "shown and you are asked to confirm.",
)
_reason = click.option(
    "--reason", required=True, metavar="TEXT", help="Reason, kept in the history."
)
_yes = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@local_or_remote("local.reviews:list_all", "remote.reviews:list_all")
def _list_reviews() -> None:
    """List submissions that need review."""


@click.group(invoke_without_command=True)
@click.option(
    "--registry", type=RegistryOption(), metavar="NAME_OR_URL", help="The registry to use."
)
@json_option
@click.pass_context
def reviews(context: click.Context, *, registry: str | None, as_json: bool) -> None:
    """List and decide on submissions that need review."""
    if not context.invoked_subcommand:
        _list_reviews(registry=registry, as_json=as_json)


@reviews.command("list")
@json_option
@local_or_remote("local.reviews:list_all", "remote.reviews:list_all")
def list_reviews() -> None:
    """List submissions that need review, longest waiting first."""


@reviews.command()
@_id
@json_option
@local_or_remote("local.reviews:show", "remote.reviews:show")
def show() -> None:
    """Show a submission that needs review.

    It shows the history, findings and files, and the changes since the published version.
    """


@reviews.command()
@_id
@_reason
@_digest
@_yes
@json_option
@local_or_remote("local.reviews:approve_one", "remote.reviews:approve_one")
def approve() -> None:
    """Publish exactly the checked files.

    It fails if the current rules reject them.
    """


@reviews.command()
@_id
@_reason
@_digest
@_yes
@json_option
@local_or_remote("local.reviews:reject_one", "remote.reviews:reject_one")
def reject() -> None:
    """Reject it; the submitter sees the reason."""


@reviews.command()
@_id
@click.option(
    "--reason", default="check again", metavar="TEXT", help="Reason, kept in the history."
)
@json_option
@local_or_remote("local.reviews:recheck_one", "remote.reviews:recheck_one")
def recheck() -> None:
    """Run the whole pipeline again.

    It uses the current content of the source.
    """


@click.group()
def block() -> None:
    """Add, remove, list or check blocks."""


def _subject_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name what a block is about."""
    options = (
        click.option("--digest", help="Exactly this content, from any source."),
        click.option("--source", help="A git URL, owner/repo, folder, or @namespace/name."),
        click.option("--path", default="", help="Only this folder of the source."),
        click.option("--name", help="Only the skill of this name in the source."),
        click.option("--publisher", help="All skills of a publisher: git.example/ada, @local."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@block.command()
@_subject_options
@reason_option
@json_option
@local_or_remote("local.blocklist:add", "remote.blocks:add")
def add() -> None:
    """Block content, a source or a publisher.

    Matching skills are taken down at once, and matching submissions end as blocked.
    """


@block.command()
@_subject_options
@reason_option
@json_option
@local_or_remote("local.blocklist:remove", "remote.blocks:remove")
def remove() -> None:
    """Remove a block.

    Submissions that it ended are queued and checked again.
    """


@block.command("list")
@json_option
@local_or_remote("local.blocklist:list_all", "remote.blocks:list_all")
def list_blocks() -> None:
    """List all blocks, newest first."""


@block.command()
@_subject_options
@json_option
@local_or_remote("local.blocklist:check", "remote.blocks:check")
def check() -> None:
    """Check whether something is blocked.

    The exit code is 1 if it is.
    """
