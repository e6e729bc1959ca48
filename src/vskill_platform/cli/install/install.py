"""`install`, `update` and `remove`: skills in the folders of agents.

client/install_skills.py decides what they may overwrite.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import click

from vskill_platform.cli.install.options import (
    agent_option,
    chosen_folders,
    chosen_scope,
    force_option,
    offline_option,
    removed_agent_option,
    scope_options,
)
from vskill_platform.cli.install.run import InstallRun
from vskill_platform.cli.install.show import (
    confirm_plans,
    json_of_plan,
    json_of_skill,
    place_names,
    show_done,
    waiting,
    warn,
)
from vskill_platform.cli.local_or_remote import json_option, registry_option
from vskill_platform.cli.output.terminal import echo, print_json, wrong_usage, yes_option
from vskill_platform.client.install_folders import InstallScope
from vskill_platform.client.install_skills import Planned, remove_skills
from vskill_platform.client.version_range import split_wanted
from vskill_platform.errors import VskillError

_names = click.argument("names", metavar="[NAME[@RANGE]]…", nargs=-1)


@click.command()
@_names
@click.option("--frozen", is_flag=True, help="Install exactly the lock file, never change it.")
@agent_option
@scope_options
@yes_option
@force_option
@offline_option
@registry_option
@json_option
def install(  # noqa: PLR0913 - each is an option
    *, names: tuple[str, ...], agents: tuple[str, ...], registry: str | None, as_json: bool,
    frozen: bool, yes: bool, force: bool, offline: bool, **where: Any,
) -> None:  # fmt: skip
    """Install skills into the folders of your agents.

    NAME is a slug, or a name that only one skill has. RANGE is a version or a range as in npm:
    1.2.3, ^1.2, ~1.2.3, ">=1 <3", 1.x or latest. Without a name, the versions in the lock file
    are installed.
    """
    if frozen and (names or agents):
        raise click.UsageError(
            "--frozen installs exactly the lock file; give no names and no agents"
        )
    with wrong_usage():
        wanted = [split_wanted(name) for name in names]
    scope = chosen_scope(**where)
    with ExitStack() as stack:
        run = InstallRun(scope, stack, registry, is_offline=offline, force=force, quiet=as_json)
        if names:
            with waiting("asking the registry", quiet=as_json):
                plans = run.plan_named(wanted, agents)
            confirm_plans(scope, plans, yes=yes, as_json=as_json)
        else:
            with waiting("checking the lock file", quiet=as_json):
                plans = run.plan_locked(agents)
        run.apply(plans, keep_lock=frozen)
    _report(scope, plans, as_json=as_json)
    if names and not as_json and not any(one.agents for one in plans[0].skill.folders):
        _say_where(scope, plans)


@click.command()
@click.argument("names", metavar="[NAME]…", nargs=-1)
@scope_options
@yes_option
@force_option
@registry_option
@json_option
def update(
    *, names: tuple[str, ...], registry: str | None, as_json: bool, yes: bool, force: bool,
    **where: Any,
) -> None:  # fmt: skip
    """Update installed skills within their ranges.

    Installs the newest version in the range that you asked for, after it has shown the capabilities
    that this version adds. To leave the range, install the skill again: install NAME@RANGE.
    """
    scope = chosen_scope(**where)
    with ExitStack() as stack:
        run = InstallRun(scope, stack, registry, force=force, quiet=as_json)
        with waiting("asking for newer versions", quiet=as_json):
            plans, errors = run.plan_updates(names)
        if names and errors:
            raise errors[0]
        confirm_plans(scope, plans, yes=yes, as_json=as_json)
        run.apply(plans)
    _report(scope, plans, as_json=as_json, errors=errors)
    if errors:
        sys.exit(1)


@click.command()
@click.argument("names", metavar="NAME…", nargs=-1, required=True)
@scope_options
@removed_agent_option
@force_option
@json_option
def remove(
    *, names: tuple[str, ...], agents: tuple[str, ...], force: bool, as_json: bool, **where: Any
) -> None:
    """Remove installed skills."""
    scope = chosen_scope(**where)
    folders = chosen_folders(scope, agents) if agents else None
    removed = remove_skills(scope, names, folders=folders, force=force)
    if as_json:
        print_json({"removed": [json_of_skill(scope, skill) for skill in removed]})
        return
    for skill in removed:
        echo(f"Removed {skill.slug} {skill.version} from {', '.join(place_names(scope, skill))}")


def _report(
    scope: InstallScope,
    plans: Sequence[Planned],
    *,
    as_json: bool,
    errors: Sequence[VskillError] = (),
) -> None:
    if as_json:
        skills = [json_of_plan(scope, plan) for plan in plans]
        failed = {"errors": [str(error) for error in errors]} if errors else {}
        print_json({"scope": scope.kind, "lockFile": str(scope.lock), "skills": skills, **failed})
        return
    show_done(scope, plans)
    for text in dict.fromkeys(str(error) for error in errors):
        warn(text)


def _say_where(scope: InstallScope, plans: Sequence[Planned]) -> None:
    if scope.kind != "folder":
        folder = plans[0].skill.folders[0].path
        echo(
            f"No agent was found on this machine, so it is in {folder}, which many agents read. "
            "Choose with --agent or --dir.",
            err=True,
        )
