"""Where a command goes: to a registry over HTTP, or to the database of this machine."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from vskill_platform.cli.lazy import load
from vskill_platform.errors import ConfigError, InvalidInput

#: Repeated here, because loading the settings takes a while; a test compares them.
DATABASE_VARIABLE = "VSKILL_DATABASE_URL"
DEFAULT_DATABASE = "vskill-platform.db"
REGISTRY_VARIABLE = "VSKILL_REGISTRY"
#: The exit code if nothing is published yet: it needs review, or was not followed to its end.
EXIT_NOT_DONE = 3
_HERE = "vskill_platform.cli"
_ADDRESSES = "vskill_platform.client.addresses"


class RegistryOption(click.ParamType[str]):
    """The name of a registry, or its URL."""

    name = "registry"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        text = str(value).strip()
        if load(f"{_ADDRESSES}:is_address")(text):
            try:
                load(f"{_ADDRESSES}:checked_url")(text)
            except InvalidInput as error:
                self.fail(str(error), param, ctx)
        return text


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
registry_option = click.option(
    "--registry",
    type=RegistryOption(),
    metavar="NAME_OR_URL",
    help=f"The registry to use (default: {REGISTRY_VARIABLE}, else that of your last login).",
)


def local_or_remote(local: str, remote: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run *local* with the options of the command, or *remote* with the registry and the options.

    Both are `module:function` in this folder. The decorated function only contains the help text.
    """

    def decorate(described: Callable[..., Any]) -> Callable[..., Any]:
        def run(*, registry: str | None, **options: Any) -> None:
            target = find_registry(registry)
            if target is None:
                load(f"{_HERE}.{local}")(**options)
                return
            with target.open() as opened:
                load(f"{_HERE}.{remote}")(opened, **options)

        run.__name__, run.__doc__ = described.__name__, described.__doc__
        return registry_option(run)

    return decorate


def find_registry(option: str | None) -> Any:
    """Return the `Target` that a command goes to; None for the database of this machine.

    In this order: the option, VSKILL_REGISTRY, VSKILL_DATABASE_URL, the registry that the user
    signed in to, the default database if it is in the current folder.
    """
    if not option and uses_named_database():
        return None
    found = load("vskill_platform.client.credentials:resolve_registry")(option)
    if found is not None or Path(DEFAULT_DATABASE).exists():
        return found
    raise ConfigError(
        "there is no registry to use. Sign in to one with `vskill-platform login URL`, name "
        f"one with --registry or {REGISTRY_VARIABLE}, or start one on this machine with "
        "`vskill-platform serve`"
    )


def run_remote(remote: str, option: str | None, **options: Any) -> None:
    """Run `module:function` with a registry; raise if there is none."""
    target = load("vskill_platform.client.credentials:resolve_registry")(option)
    if target is None:
        raise ConfigError("name a registry, or sign in to one with `vskill-platform login URL`")
    with target.open() as opened:
        load(f"{_HERE}.{remote}")(opened, **options)


def names_registry(option: str | None) -> bool:
    """Return whether the user names a registry for this command."""
    return bool(option or os.environ.get(REGISTRY_VARIABLE))


def uses_named_database() -> bool:
    """Return whether the environment names a database but no registry."""
    environ = os.environ
    named = environ.get(DATABASE_VARIABLE) or environ.get(f"{DATABASE_VARIABLE}_FILE")
    return bool(named) and not environ.get(REGISTRY_VARIABLE)
