"""Load the modules of a command when it is called, so that each command starts fast."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from vskill_platform.base.show_text import show_lines


def load(place: str) -> Any:
    """Return the object that `module:name` names."""
    module, name = place.split(":")
    return getattr(import_module(module), name)


class LazyGroup(click.Group):
    """A group that knows where its commands are, and loads the one that is called."""

    def __init__(self, *arguments: Any, places: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        place = self._places.get(cmd_name)
        command: click.Command | None = load(place) if place else None
        return command

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _quiet_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _quiet_errors():
            return super().invoke(ctx)


@contextmanager
def _quiet_errors() -> Iterator[None]:
    """Escape control characters in arguments and file names that click's messages quote."""
    try:
        yield
    except click.ClickException as error:
        said = error.format_message()
        quiet = show_lines(said)
        if quiet == said:
            raise
        if isinstance(error, click.UsageError):
            raise click.UsageError(quiet, error.ctx) from error
        raise click.ClickException(quiet) from error
