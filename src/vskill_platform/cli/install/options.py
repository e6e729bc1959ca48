"""The shared options of the commands about installed skills, and what they select."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from vskill_platform.cli.empty_values import FilledPath
from vskill_platform.cli.lazy import load
from vskill_platform.cli.output.terminal import wrong_usage
from vskill_platform.client.agents import Agents
from vskill_platform.client.install_folders import (
    InstallScope,
    SkillsFolder,
    find_scope,
    skills_folders,
)
from vskill_platform.client.lock_file import LockedSkill, read_lock
from vskill_platform.client.replace_folders import (
    exclusive,
    needs_recovery,
    sweep_leftovers,
)
from vskill_platform.errors import ConfigError

ClickCommand = TypeVar("ClickCommand", bound=Callable[..., Any])

#: The user's environment, read at each access.
ENVIRON: Mapping[str, str] = os.environ


def _known_agents(
    _ctx: click.Context, _option: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse the name of an agent that is not in the table."""
    with wrong_usage():
        Agents(ENVIRON, Path.home()).named(names)
    return names


force_option = click.option(
    "--force", is_flag=True, help="Replace or delete local changes and skills of other publishers."
)
offline_option = click.option(
    "--offline", is_flag=True, help="Do not contact the registry; use what is on this machine."
)
agent_option = click.option(
    "--agent", "agents", multiple=True, metavar="NAME", callback=_known_agents,
    help="Install for this agent, such as claude-code (default: all that are found).",
)  # fmt: skip


removed_agent_option = click.option(
    "--agent", "agents", multiple=True, metavar="NAME", callback=_known_agents,
    help="Remove it for this agent only (default: for all).",
)  # fmt: skip


def scope_options(command: ClickCommand) -> ClickCommand:
    """Add the options that choose where skills are installed."""
    for option in (
        click.option(
            "--dir", "folder", metavar="DIR",
            type=FilledPath(file_okay=False),
            help="Use this skills folder, with its own lock file.",
        ),
        click.option("--user", is_flag=True, help="Use the folders for all your projects."),
        click.option("--project", is_flag=True, help="Use the folders of this project (default)."),
    ):  # fmt: skip
        command = option(command)
    return command


def chosen_scope(*, user: bool, project: bool, folder: Path | None) -> InstallScope:
    return find_scope(user=user, project=project, folder=folder, environ=ENVIRON)


def chosen_folders(scope: InstallScope, agents: tuple[str, ...]) -> list[SkillsFolder]:
    return skills_folders(scope, agents, environ=ENVIRON)


def installed_in(scope: InstallScope) -> dict[str, LockedSkill]:
    """Return the installed skills, after cleaning up after a killed run."""
    if needs_recovery(scope):
        with exclusive(scope):
            pass
    locked = read_lock(scope)
    places = [place for skill in locked.values() for place in skill.places(scope)]
    sweep_leftovers(scope, {place.parent for place in places})
    return locked


def chosen_target(option: str | None) -> Any:
    """Return the registry that a command asks; there must be one."""
    found = find_target(option)
    if found is None:
        raise no_registry()
    return found


def no_registry() -> ConfigError:
    return ConfigError(
        "there is no registry to use. Sign in to one with `vskill-platform login URL`, or name one "
        "with --registry or VSKILL_REGISTRY"
    )


def find_target(option: str | None) -> Any:
    return load("vskill_platform.client.credentials:resolve_registry")(option, ENVIRON)
