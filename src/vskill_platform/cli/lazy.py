"""Modules that are loaded when they are needed: a command pays for itself, not for the others."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


def load(place: str) -> Any:
    """Return what `module:name` names."""
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
