"""`delete-account`: delete your own account on a registry."""

import sys

import click
import msgspec

from vskill_platform.cli.local_or_remote import json_option, registry_option
from vskill_platform.cli.output.show_account_deletion import show_account_deletion
from vskill_platform.cli.output.terminal import is_interactive, print_json
from vskill_platform.client.credentials import (
    Target,
    forget_token,
    read_registries,
    resolve_registry,
)
from vskill_platform.client.shapes import AccountDeletion, OwnAccountDeletion
from vskill_platform.errors import ConfigError, NotAllowed

_PATH = "/api/v1/account"


@click.command("delete-account")
@click.option("--dry-run", is_flag=True, help="Only show what would happen.")
@click.option("--confirm", "name", metavar="NAME", help="Your name, to confirm without a question.")
@click.option("--password-stdin", is_flag=True, help="Read your password from standard input.")
@click.option("--code", metavar="CODE", help="A code of your second factor.")
@registry_option
@json_option
def delete_account(
    *,
    dry_run: bool,
    name: str | None,
    password_stdin: bool,
    code: str | None,
    registry: str | None,
    as_json: bool,
) -> None:
    """Delete your account on a registry.

    Deletes your tokens, sessions, addresses and links. Published skills stay, and your name is
    reserved. It takes your password and a code, if you have a second factor.
    """
    target = resolve_registry(registry)
    if target is None:
        raise ConfigError("name a registry, or sign in to one with `vskill-platform login URL`")
    with target.open() as opened:
        found: OwnAccountDeletion = opened.get_json(f"{_PATH}/deletion", OwnAccountDeletion)
        if dry_run:
            _show(found, target, is_done=False, as_json=as_json)
            return
        if found.refused:
            raise NotAllowed(found.refused)
        password = _password_from_stdin() if password_stdin else ""
        if not as_json and not name:
            _show(found, target, is_done=False, as_json=False)
        body = {
            "confirm": name or _ask(f"To delete it, type {found.name}"),
            "password": password or (_ask("Password", hide=True) if found.needs_password else ""),
            "code": code or (_ask("Code of your second factor") if found.needs_code else ""),
        }
        done: AccountDeletion = opened.post_json(f"{_PATH}/delete", body, AccountDeletion)
    if target.name in read_registries().registries:
        forget_token(target.name)
    _show(done, target, is_done=True, as_json=as_json)


def _password_from_stdin() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _ask(question: str, *, hide: bool = False) -> str:
    if not is_interactive():
        raise NotAllowed(
            "without a terminal to confirm, nothing was deleted; use --confirm NAME, "
            "--password-stdin and --code CODE"
        )
    given: str = click.prompt(question, hide_input=hide, err=True)
    return given


def _show(found: AccountDeletion, target: Target, *, is_done: bool, as_json: bool) -> None:
    if as_json:
        print_json({"registry": target.name, "url": target.url, **msgspec.to_builtins(found)})
        return
    place = target.url if target.name == target.url else f"{target.name} ({target.url})"
    show_account_deletion(found, is_done=is_done, where=f" on {place}")
