"""`trusted-publishers` and `ci-token`: publish from CI without a stored token."""

from typing import Any

import click

from vskill_platform.cli.local_or_remote import json_option, registry_option, run_remote

_REMOTE = "trusted_publishers"
_ISSUERS = {
    "github": "https://token.actions.githubusercontent.com",
    "gitlab": "https://gitlab.com",
}
_PATH = "/api/v1/trusted-publishers"


@click.group("trusted-publishers")
def trusted_publishers() -> None:
    """Let the CI of a repository publish without a stored token."""


@trusted_publishers.command("list")
@click.argument("namespace")
@json_option
@registry_option
def list_command(*, namespace: str, as_json: bool, registry: str | None) -> None:
    """List the trusted publishers of a namespace."""
    run_remote(f"{_REMOTE}:show_all", registry, namespace=namespace, as_json=as_json)


@trusted_publishers.command()
@click.argument("namespace")
@click.argument("repository")
@click.option(
    "--ci",
    default="github",
    show_default=True,
    metavar="github|gitlab|URL",
    help="The CI system, or the URL of your own GitLab or GitHub Enterprise issuer.",
)
@click.option("--workflow", default="", metavar="FILE", help="Only jobs of this file.")
@click.option("--environment", default="", metavar="NAME", help="Only jobs in this environment.")
@click.option("--ref", default="", metavar="REF", help="Only this ref, such as refs/heads/main.")
@json_option
@registry_option
def add(*, registry: str | None, **options: Any) -> None:
    """Let the CI jobs of a repository publish to your namespace.

    REPOSITORY is owner/repo, or the path of the project at GitLab.
    """
    run_remote(f"{_REMOTE}:add_one", registry, **options)


@trusted_publishers.command()
@click.argument("publisher_id", metavar="ID")
@json_option
@registry_option
def remove(*, publisher_id: str, as_json: bool, registry: str | None) -> None:
    """Remove a trusted publisher."""
    run_remote(f"{_REMOTE}:remove_one", registry, publisher_id=publisher_id, as_json=as_json)


@click.command("ci-token")
@click.option("--namespace", required=True, metavar="NAME", help="The namespace it is valid for.")
@json_option
@registry_option
def ci_token(*, namespace: str, as_json: bool, registry: str | None) -> None:
    """Print a token for this CI job, valid for 15 minutes.

    `publish` gets one by itself. Use this for other commands, and for several in one job.
    """
    from vskill_platform.cli.output.terminal import echo, print_json  # noqa: PLC0415 - after --help
    from vskill_platform.client.ci_token import sign_in_from_ci  # noqa: PLC0415 - as above
    from vskill_platform.client.credentials import resolve_registry  # noqa: PLC0415 - as above
    from vskill_platform.errors import ConfigError  # noqa: PLC0415 - as above

    target = resolve_registry(registry)
    if target is None:
        raise ConfigError("name a registry with --registry or VSKILL_REGISTRY")
    made = sign_in_from_ci(target, namespace=namespace)
    if as_json:
        print_json(made)
    else:
        echo(made["token"])


def show_all(registry: Any, *, namespace: str, as_json: bool) -> None:
    from vskill_platform.client.shapes import TrustedPublishers  # noqa: PLC0415 - after --help

    answer = registry.get_json(_PATH, TrustedPublishers, namespace=namespace)
    show_publishers(answer, namespace=namespace, as_json=as_json)


def show_publishers(answer: Any, *, namespace: str, as_json: bool) -> None:
    from vskill_platform.cli.output.tables import show_table  # noqa: PLC0415 - after --help
    from vskill_platform.cli.output.terminal import echo, print_json  # noqa: PLC0415 - as above

    if as_json:
        print_json(answer)
    elif not answer["publishers"]:
        echo(f"No trusted publishers for {namespace}.", err=True)
    else:
        show_table(
            ("id", "repository", "workflow", "environment", "ref", "last used"),
            [
                (one["id"], one["repository"], one["workflow"] or "any",
                 one["environment"] or "any", one["ref"] or "any", one["lastUsedAt"] or "never")
                for one in answer["publishers"]
            ],
            keys=("id",),
        )  # fmt: skip


def add_one(
    registry: Any, *, namespace: str, repository: str, ci: str, as_json: bool, **only: str
) -> None:
    from vskill_platform.client.shapes import TrustedPublisherItem  # noqa: PLC0415 - after --help

    body = {"namespace": namespace, "repository": repository, "issuer": issuer_of(ci), **only}
    show_added(registry.post_json(_PATH, body, TrustedPublisherItem), as_json=as_json)


def issuer_of(ci: str) -> str:
    return _ISSUERS.get(ci, ci)


def show_added(made: Any, *, as_json: bool) -> None:
    from vskill_platform.cli.output.terminal import echo, print_json  # noqa: PLC0415 - after --help

    if as_json:
        print_json(made)
    else:
        echo(f"{made['id']}: jobs of {made['repository']} can publish to {made['namespace']}.")


def remove_one(registry: Any, *, publisher_id: str, as_json: bool) -> None:
    from vskill_platform.cli.output.terminal import echo, print_json  # noqa: PLC0415 - after --help
    from vskill_platform.client.addresses import segment  # noqa: PLC0415 - as above
    from vskill_platform.client.registry import ANY_OBJECT  # noqa: PLC0415 - as above

    answer = registry.delete_json(f"{_PATH}/{segment(publisher_id)}", ANY_OBJECT)
    if as_json:
        print_json(answer)
    else:
        echo(f"Removed {publisher_id}.")
