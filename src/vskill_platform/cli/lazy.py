"""Load the modules of a command when it is called, so that each command starts fast."""

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from vskill_platform.base.show_text import show_lines
from vskill_platform.cli.empty_values import refuse_empty_values

#: Commands by the heading of their part of the help; each is `module:name`.
Sections = Mapping[str, Mapping[str, str]]


#: The names of our commands in other package managers.
_ELSEWHERE = {
    "uninstall": "remove",
    "rm": "remove",
    "upgrade": "update",
    "add": "install",
    "i": "install",
    "ci": "install",
    "find": "search",
    "show": "info",
    "view": "info",
    "ls": "list",
    "auth": "login",
}


def load(place: str) -> Any:
    """Return the object that `module:name` names."""
    module, name = place.split(":")
    return getattr(import_module(module), name)


class LazyGroup(click.Group):
    """A group that knows the modules of its commands, and loads the one that is called.

    Commands in *hidden* work, but the help does not show them.
    """

    def __init__(
        self,
        *arguments: Any,
        sections: Sections,
        hidden: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._sections = sections
        self._places = {
            name: place for section in sections.values() for name, place in section.items()
        }
        self._hidden = dict(hidden or {})

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        place = self._places.get(cmd_name) or self._hidden.get(cmd_name)
        command: click.Command | None = load(place) if place else None
        if command:
            refuse_empty_values(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = self._find_near(args[0])
            if not near:
                raise
            meant = " or ".join(f"'{name}'" for name in near)
            raise click.UsageError(
                f"{error.format_message()} Did you mean {meant}?", ctx
            ) from error

    def _find_near(self, typed: str) -> list[str]:
        if (same := _ELSEWHERE.get(typed)) and same in self._places:
            return [same]
        return difflib.get_close_matches(typed, [*self._places, *self._hidden], n=3)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        texts = load("vskill_platform.cli.short_help:SHORT_HELP")
        for heading, places in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, texts[place]) for name, place in places.items()])

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _quiet_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _quiet_errors():
            return super().invoke(ctx)


@contextmanager
def _quiet_errors() -> Iterator[None]:
    """Escape control characters in the arguments and file names that click's messages quote."""
    try:
        yield
    except click.ClickException as error:
        message = error.format_message()
        quiet = show_lines(message)
        if quiet == message:
            raise
        if isinstance(error, click.UsageError):
            raise click.UsageError(quiet, error.ctx) from error
        raise click.ClickException(quiet) from error
