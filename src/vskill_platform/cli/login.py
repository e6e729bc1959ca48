"""`login`, `logout`, `whoami` and `registries`: the registries you use, and your accounts."""

import platform
import sys
import webbrowser
from typing import Any

import click

from vskill_platform.cli.local_or_remote import find_registry, json_option, registry_option
from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json, wrong_usage
from vskill_platform.client.addresses import checked_url, is_confidential
from vskill_platform.client.credentials import (
    checked_name,
    forget_registry,
    forget_token,
    name_for,
    read_registries,
    read_token,
    remember_registry,
    resolve_registry,
    use_registry,
)
from vskill_platform.client.device_login import DEFAULT_SCOPES, request_code, wait_for_token
from vskill_platform.client.registry import ANY_OBJECT, Registry
from vskill_platform.client.shapes import Account
from vskill_platform.errors import ConfigError, InvalidInput, NotSignedIn, RegistryError

_ACCOUNT = "/api/v1/account"
_SCOPES = ("read", "submit", "manage", "review", "operate")


@click.command()
@click.argument("url")
@click.option("--token", metavar="TOKEN", help="Use this token; `-` reads it from standard input.")
@click.option(
    "--name",
    metavar="NAME",
    help="A name for the registry (default: its host, or the name it has).",
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(_SCOPES),
    help=f"Ask for this scope; repeat it for more (default: {', '.join(DEFAULT_SCOPES)}).",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@json_option
def login(
    *,
    url: str,
    token: str | None,
    name: str | None,
    scopes: tuple[str, ...],
    no_browser: bool,
    as_json: bool,
) -> None:
    """Sign in to a registry and make it the default.

    It prints a code, which you approve in a browser. The token is kept in the system's keyring, or
    in a file that only you can read.
    """
    with wrong_usage():
        address = checked_url(url)
        chosen = checked_name(name) if name else name_for(address)
    if not is_confidential(address):
        raise InvalidInput(f"{address} is not encrypted, so others could read the token; use https")
    with Registry(address) as anonymous:
        text = _given(token) or _ask_in_browser(anonymous, scopes or DEFAULT_SCOPES, no_browser)
    with Registry(address, text) as registry:
        who: Account = registry.get_json(_ACCOUNT, Account)
    if not who["name"]:
        raise NotSignedIn(f"{address} does not accept this token")
    place = remember_registry(chosen, address, text)
    if as_json:
        print_json({"registry": chosen, "url": address, "tokenPlace": place, **who})
        return
    where = "the system's keyring" if place == "keyring" else "a file that only you can read"
    echo(f"Signed in to {chosen} ({address}) as {who['name']}. The token is in {where}.")


def _given(token: str | None) -> str:
    if token == "-":  # noqa: S105 - standard input
        token = sys.stdin.readline().strip()
        if not token:
            raise InvalidInput("there is no token on standard input")
    return token or ""


def _ask_in_browser(registry: Registry, scopes: tuple[str, ...], no_browser: bool) -> str:
    label = f"vskill-platform on {platform.node() or 'an unnamed machine'}"
    code = request_code(registry, label=label, scopes=scopes)
    console = Console(stderr=True)
    console.print(
        f"Open [bold]{escape(code.verification_uri)}[/] and enter the code "
        f"[bold]{escape(code.user_code)}[/]",
        highlight=False,
        soft_wrap=True,
    )
    page = code.verification_uri_complete
    if page and not no_browser and sys.stdout.isatty():
        webbrowser.open(page)
    with console.status("waiting for your approval"):
        return wait_for_token(registry, code)


@click.command()
@registry_option
@json_option
def logout(*, registry: str | None, as_json: bool) -> None:
    """Revoke the token of a registry and delete it from this machine."""
    target = resolve_registry(registry)
    known = read_registries().registries
    if target is None or target.name not in known:
        raise ConfigError("you are not signed in; `registries` lists your registries")
    revoked = False
    text = read_token(target.name)
    if text:
        with Registry(target.url, text) as opened:
            revoked = _revoke(opened)
    forget_token(target.name)
    if as_json:
        print_json({"registry": target.name, "url": target.url, "revoked": revoked})
        return
    echo(f"Signed out of {target.name}.")
    if text and not revoked:
        echo(
            f"The token could not be revoked; revoke it at {target.url}/account if it may have "
            "been copied.",
            err=True,
        )


def _revoke(registry: Registry) -> bool:
    """Return whether the registry has revoked the token; signing out also works without that."""
    try:
        registry.delete_json(f"{_ACCOUNT}/token", ANY_OBJECT)
    except RegistryError:
        return False
    return True


@click.command()
@registry_option
@json_option
def whoami(*, registry: str | None, as_json: bool) -> None:
    """Show the registry in use and who you are signed in as.

    The exit code is 1 if you are not signed in.
    """
    target = find_registry(registry)
    if target is None:
        raise ConfigError(
            "you are not signed in to a registry, so commands use the database of this machine; "
            "sign in with `login URL`, or name a registry with --registry"
        )
    with target.open() as opened:
        who: Account = opened.get_json(_ACCOUNT, Account)
    if as_json:
        print_json({"registry": target.name, "url": target.url, **who})
    elif who["name"]:
        scopes = f", scopes {', '.join(who['scopes'])}" if who["scopes"] else ""
        echo(f"{who['name']} ({who['role']}{scopes}) on {target.name} ({target.url})")
        if who["namespaces"]:
            echo(f"namespaces: {', '.join(who['namespaces'])}")
    else:
        echo(f"Not signed in to {target.name}. Sign in with: vskill-platform login {target.url}")
    if not who["name"]:
        raise click.exceptions.Exit(1)


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def registries(context: click.Context, *, as_json: bool) -> None:
    """List your registries, choose the default, or remove one."""
    if not context.invoked_subcommand:
        _show(as_json=as_json)


@registries.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """List the registries; `*` marks the default."""
    _show(as_json=as_json)


@registries.command()
@click.argument("name", metavar="NAME_OR_URL")
@json_option
def use(*, name: str, as_json: bool) -> None:
    """Make a registry the default."""
    found = use_registry(name)
    _print({"registry": name, "url": found.url}, f"{name} ({found.url}) is the default.", as_json)


@registries.command()
@click.argument("name", metavar="NAME_OR_URL")
@json_option
def remove(*, name: str, as_json: bool) -> None:
    """Remove a registry and its token from this machine."""
    found = forget_registry(name)
    _print({"registry": name, "url": found.url}, f"{name} ({found.url}) is removed.", as_json)


def _print(record: dict[str, Any], words: str, as_json: bool) -> None:
    if as_json:
        print_json(record)
    else:
        echo(words)


def _show(*, as_json: bool) -> None:
    known = read_registries()
    rows = [
        {"name": name, "url": one.url, "token": one.token, "default": name == known.default}
        for name, one in sorted(known.registries.items())
    ]
    if as_json:
        print_json(rows)
    elif not rows:
        echo("No registries yet. Sign in to one with: vskill-platform login URL", err=True)
    else:
        show_table(
            ("", "name", "url", "token"),
            [
                ("*" if row["default"] else "", str(row["name"]), str(row["url"]),
                 str(row["token"]))
                for row in rows
            ],
            keys=("name", "url"),
        )  # fmt: skip
