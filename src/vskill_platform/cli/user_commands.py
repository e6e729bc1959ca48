"""Commands about submissions and published skills, for a registry or for this machine."""

from pathlib import Path
from typing import Any

import click

from vskill_platform.cli.lazy import load
from vskill_platform.cli.local_or_remote import (
    json_option,
    local_or_remote,
    names_registry,
    registry_option,
    run_remote,
)

_id = click.argument("submission_id", metavar="ID")
_slug = click.argument("slug")
_version = click.argument("version")
reason_option = click.option(
    "--reason", required=True, metavar="TEXT", help="Reason, kept in the audit log."
)


@click.command()
@click.argument("source")
@click.option("--path", default="", metavar="DIR", help="The path of the skill in the source.")
@click.option("--ref", default="", metavar="REF", help="A branch or tag of the repo.")
@click.option("--all", "every", is_flag=True, help="Submit every skill in the source.")
@click.option("--watch", is_flag=True, help="Wait until it is published or rejected.")
@json_option
@local_or_remote("local.submit:submit", "remote.submissions:submit")
def submit() -> None:
    """Submit a skill, or all skills of a repo.

    SOURCE is a git URL, owner/repo, a folder or an archive (.zip, .tar.gz, .tgz). The exit code is
    1 if it is blocked; with --watch it is 0 only if everything was published.
    """


@click.command()
@_id
@click.option("--watch", is_flag=True, help="Follow it until it is finished.")
@json_option
@local_or_remote("local.submissions:status", "remote.submissions:status")
def status() -> None:
    """Show a submission, its history and findings."""


@click.command()
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="List this many at most.",
)
@click.option("--after", help="Continue after this cursor (printed below a full page).")
@click.option("--set", "set_id", metavar="ID", help="Only the submissions of this set.")
@json_option
@local_or_remote("local.submissions:list_submissions", "remote.submissions:list_submissions")
def submissions() -> None:
    """List submissions, newest first."""


@click.command()
@_id
@json_option
@local_or_remote("local.retry_commands:retry", "remote.submissions:retry")
def retry() -> None:
    """Retry a finished submission.

    It is checked with the current content of its source.
    """


@click.command()
@_id
@click.option("--reason", required=True, metavar="TEXT", help="Reason, kept in the history.")
@json_option
@local_or_remote("local.retry_commands:withdraw", "remote.submissions:withdraw")
def withdraw() -> None:
    """Withdraw a submission; it can be submitted again."""


@click.command()
@click.argument("repo", required=False, default="")
@click.option("--ref", default="", metavar="REF", help="Follow only this branch or tag.")
@click.option("--list", "is_list", is_flag=True, help="List the repositories that you follow.")
@click.option("--stop", is_flag=True, help="Stop following it.")
@json_option
@local_or_remote("local.follow:follow", "remote.skills:follow")
def follow() -> None:
    """Submit new commits and version tags of a repo automatically.

    REPO is owner/repo or a git URL. A new commit of its default branch is submitted in your name if
    it changes a skill. New tags such as v1.2.0 and new skills of the repo are also submitted.
    """


@click.command()
@click.argument("words", nargs=-1)
@click.option("--can", multiple=True, metavar="CAPABILITY", help="Only skills that can do this.")
@click.option(
    "--cannot",
    multiple=True,
    metavar="CAPABILITY",
    help="Only skills that cannot: network, secrets, shell, files or installs.",
)
@click.option("--tier", default="", metavar="TIER", help="Only skills of this tier, such as T2.")
@click.option("--namespace", default="", help="Only skills of this publisher.")
@click.option("--tag", default="", help="Only skills with this tag.")
@click.option("--agent", default="", help="Only skills that work with this agent.")
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="List this many at most.",
)
@json_option
@local_or_remote("local.search:search", "remote.skills:search")
def search() -> None:
    """Search for published skills.

    WORDS can be left out if there is a filter. With the database of this machine it reads every
    skill, without the search index of `serve`: all words must be in the slug or the description, as
    they are written.
    """


@click.command()
@_slug
@json_option
@local_or_remote("local.versions:versions", "remote.skills:versions")
def versions() -> None:
    """List the versions of a skill.

    It shows which versions are available, and the trust score.
    """


@click.command()
@_slug
@click.argument("old", metavar="[A]", required=False)
@click.argument("new", metavar="[B]", required=False)
@json_option
@local_or_remote("local.versions:diff", "remote.skills:diff")
def diff() -> None:
    """Show the changes between two versions.

    It shows files, lines and capabilities that changed from version A to B. By default B is the
    latest version and A the one before.
    """


@click.command()
@_slug
@_version
@reason_option
@json_option
@local_or_remote("local.versions:yank", "remote.skills:yank")
def yank() -> None:
    """Yank a version.

    It is no longer the latest, but still installable by exact version.
    """


@click.command()
@_slug
@_version
@reason_option
@json_option
@local_or_remote("local.versions:unyank", "remote.skills:unyank")
def unyank() -> None:
    """Make a yanked version available again."""


@click.command()
@_slug
@click.argument("visibility", type=click.Choice(["public", "private"]))
@reason_option
@json_option
@local_or_remote("local.versions:set_visibility", "remote.skills:set_visibility")
def visibility() -> None:
    """Make a skill public, or private to its namespace."""


_one_version = click.option(
    "--version", metavar="VERSION", help="Only this version; by default the whole skill."
)


@click.command()
@_slug
@_one_version
@click.option("--message", required=True, metavar="TEXT", help="Shown to everyone who finds it.")
@click.option("--use", default="", metavar="SLUG", help="The skill to use instead.")
@json_option
@local_or_remote("local.versions:deprecate", "remote.skills:deprecate")
def deprecate() -> None:
    """Deprecate a skill or a version.

    It stays available, but searches list it last, and a warning shows the message.
    """


@click.command()
@_slug
@_one_version
@json_option
@local_or_remote("local.versions:undeprecate", "remote.skills:undeprecate")
def undeprecate() -> None:
    """End the deprecation of a skill or a version."""


@click.command()
@_slug
@_one_version
@click.option("--namespace", "is_namespace", is_flag=True, help="SLUG is a namespace.")
@click.option("--reason", default="", metavar="TEXT", help="Reason, which stays visible.")
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@local_or_remote("local.delete_skill:delete", "remote.delete:delete")
def delete() -> None:
    """Delete a skill, a version or a namespace.

    Its files and reports are deleted; nobody else can use its name and version numbers. Owners can
    delete private skills, skills that were never installed, and what is at most 72 hours old.
    """


_why = click.option("--reason", default="", metavar="TEXT", help="Reason, kept in the audit log.")


@click.command()
@_slug
@click.argument("name")
@_why
@json_option
@local_or_remote("local.transfers:rename", "remote.transfers:rename")
def rename() -> None:
    """Rename a skill within its namespace.

    Its old slug leads to the new one, and nobody else can take it.
    """


@click.command()
@click.argument("subject")
@click.argument("to")
@click.option("--namespace", "is_namespace", is_flag=True, help="SUBJECT is a namespace.")
@_why
@json_option
@local_or_remote("local.transfers:transfer", "remote.transfers:transfer")
def transfer() -> None:
    """Transfer a skill to a namespace, or a namespace to a user.

    An owner of the namespace, or the user, has to accept it, unless you own both or are an admin.
    """


@click.command()
@click.option("--accept", metavar="ID", help="Accept this transfer.")
@click.option("--end", metavar="ID", help="Decline it, or withdraw your own.")
@json_option
@local_or_remote("local.transfers:transfers", "remote.transfers:transfers")
def transfers() -> None:
    """List, accept or end transfers."""


@click.command()
@click.argument("source")
@click.option("--path", default="", metavar="DIR", help="Search only this folder.")
@click.option("--ref", default="", metavar="REF", help="A branch or tag of the repo.")
@json_option
@registry_option
def discover(*, source: str, registry: str | None, **options: Any) -> None:
    """List the skills in a source.

    SOURCE is a git repo, a folder or an archive; nothing is submitted. With --registry, the
    registry reads the repo. The exit code is 1 if there is no skill, or if one has an invalid
    manifest.
    """
    is_here = "://" not in source and Path(source).expanduser().exists()
    if names_registry(registry) and not is_here:
        run_remote("remote.submissions:discover", registry, source=source, **options)
    else:
        load("vskill_platform.cli.local.discover:discover")(source=source, **options)
