"""`list`, `outdated` and `verify`: installed skills, and what has changed since."""

import sys
from contextlib import ExitStack
from typing import Any

import click

from vskill_platform.cli.install.options import (
    ENVIRON,
    chosen_scope,
    find_target,
    installed_in,
    offline_option,
    scope_options,
)
from vskill_platform.cli.lazy import load
from vskill_platform.cli.local_or_remote import json_option, registry_option
from vskill_platform.cli.output.tables import Cell, show_table
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.client.compare_folder import FolderState, compare_folder
from vskill_platform.client.install_folders import InstallScope
from vskill_platform.client.lock_file import LockedSkill
from vskill_platform.errors import NotFound, VskillError

_PLANS = "vskill_platform.client.plan_installs"
_SHOW = "vskill_platform.cli.install.show"


@click.command("list")
@scope_options
@json_option
def list_installed(*, as_json: bool, **where: Any) -> None:
    """List the installed skills."""
    scope = chosen_scope(**where)
    skills = installed_in(scope)
    states = {slug: _states(scope, skill) for slug, skill in skills.items()}
    if as_json:
        rows = [
            {**load(f"{_SHOW}:json_of_skill")(scope, skill), "state": _in_short(states[slug])}
            for slug, skill in sorted(skills.items())
        ]
        print_json({"scope": scope.kind, "lockFile": str(scope.lock), "skills": rows})
        return
    if not skills and sys.stdout.isatty():
        echo(f"No skills are installed here ({scope.lock} lists none).")
        return
    show_table(
        ["skill", "version", "state", "folders"],
        [
            [slug, skill.version, _cell(_in_short(states[slug])), _folders(skill)]
            for slug, skill in sorted(skills.items())
        ],
        keys=["skill", "version"],
    )


@click.command()
@scope_options
@registry_option
@json_option
def outdated(*, registry: str | None, as_json: bool, **where: Any) -> None:
    """List installed skills that have newer versions.

    `wanted` is the newest version in the range you asked for; `update` installs it.
    """
    scope = chosen_scope(**where)
    skills = list(installed_in(scope).values())
    with load(f"{_SHOW}:waiting")("asking for newer versions", quiet=as_json):
        found = _ask(skills, registry, "check_outdated")
    errors = [one for one in found if isinstance(one, VskillError)]
    rows = [one for one in found if not isinstance(one, VskillError) and one.is_outdated]
    if as_json:
        print_json(
            {
                "results": [
                    {
                        "slug": one.slug, "installed": one.version, "range": one.range,
                        "wanted": one.wanted, "latest": one.latest, "reason": one.reason,
                        **({"deprecated": one.deprecated} if one.deprecated else {}),
                        "updateAvailable": one.wanted not in {None, one.version},
                    }
                    for one in rows
                ],
                "errors": [str(error) for error in errors],
            }
        )  # fmt: skip
    elif rows:
        show_table(
            ["skill", "installed", "wanted", "latest", "note"],
            [
                [
                    one.slug,
                    one.version,
                    one.wanted or "-",
                    one.latest or "-",
                    "; ".join(filter(None, (one.reason, one.deprecated))),
                ]
                for one in rows
            ],
            keys=["skill", "installed", "wanted", "latest"],
        )
    elif not errors and sys.stdout.isatty():
        echo("Everything is up to date.")
    _end_with(errors)


@click.command()
@scope_options
@offline_option
@registry_option
@json_option
def verify(*, registry: str | None, offline: bool, as_json: bool, **where: Any) -> None:
    """Check installed skills for changes and blocks.

    Compares them with the lock file and asks the registry. Reports files that were changed, added
    or removed, and versions that have been blocked, yanked or taken down since. The exit code is 1
    if there is anything to report, or if the registry does not answer; --offline checks only files.
    """
    scope = chosen_scope(**where)
    skills = sorted(installed_in(scope).values(), key=lambda skill: skill.slug)
    if not scope.lock.exists():  # in CI, a wrong folder must not look clean
        raise NotFound(f"there is nothing to verify: {scope.lock} does not exist")
    rows = [row for skill in skills for row in _differences(scope, skill)]
    with load(f"{_SHOW}:waiting")("asking the registry", quiet=as_json):
        found = [] if offline else _ask(skills, registry, "check_installed")
    errors = [one for one in found if isinstance(one, VskillError)]
    rows += [
        (skill, str(one.state), one.reason, "")
        for skill, one in zip(skills, found, strict=False)
        if not isinstance(one, VskillError) and one.state != "available"
    ]
    if as_json:
        problems = [
            {
                "slug": skill.slug,
                "version": skill.version,
                "kind": kind,
                "reason": why,
                "path": path,
            }
            for skill, kind, why, path in rows
        ]
        print_json(
            {
                "checked": len(skills), "registryAsked": not offline, "problems": problems,
                "errors": [str(error) for error in errors],
            }
        )  # fmt: skip
    else:
        _show_problems(rows, len(skills), is_offline=offline, has_errors=bool(errors))
    _end_with(errors)
    if rows:
        sys.exit(1)


def _differences(
    scope: InstallScope, skill: LockedSkill
) -> list[tuple[LockedSkill, str, str, str]]:
    found = []
    for place, state in zip(skill.places(scope), _states(scope, skill), strict=True):
        if state.is_absent:
            found.append((skill, "missing", "the folder is missing", str(place)))
        for kind in ("changed", "missing", "extra"):
            found += [(skill, kind, kind, str(place / path)) for path in getattr(state, kind)]
    return found


def _show_problems(
    rows: list[tuple[LockedSkill, str, str, str]], total: int, *, is_offline: bool, has_errors: bool
) -> None:
    if rows:
        show_table(
            ["skill", "version", "problem", "details"],
            [
                [skill.slug, skill.version, Cell(kind, "red"), path or why]
                for skill, kind, why, path in rows
            ],
            keys=["skill", "version", "problem"],
        )
    elif not total:
        echo("No skills are installed here, so there is nothing to verify.", err=True)
    elif not has_errors:
        asked = "the registry was not asked" if is_offline else "none is blocked or yanked"
        skills = f"{total} skill{'s' if total != 1 else ''}"
        echo(f"{skills} verified: the files are those of the lock file; {asked}.", err=True)


def _ask(skills: list[LockedSkill], option: str | None, function: str) -> list[Any]:
    """Ask the registry of each skill; return a response or an error for each."""
    if not skills:
        return []
    with ExitStack() as stack:
        target = find_target(option)
        chosen = stack.enter_context(target.open()) if target else None
        registries = load(f"{_PLANS}:OpenRegistries")(chosen, stack, ENVIRON)
        ask, settle = load(f"{_PLANS}:{function}"), load(f"{_PLANS}:settle_all")
        opened = registries.of_each(skills)

        def ask_one(skill: LockedSkill) -> Any:
            registry = opened[skill.slug]
            if isinstance(registry, VskillError):
                raise registry
            return ask(registry, skill)

        found: list[Any] = settle(ask_one, skills)
        return found


def _end_with(errors: list[VskillError]) -> None:
    for text in dict.fromkeys(str(error) for error in errors):
        echo(f"vskill-platform: {text}", err=True)
    if errors:
        sys.exit(1)


def _states(scope: InstallScope, skill: LockedSkill) -> list[FolderState]:
    return [compare_folder(place, skill.files) for place in skill.places(scope)]


def _in_short(states: list[FolderState]) -> str:
    if any(state.is_absent for state in states):
        return "missing"
    return "ok" if all(state.is_clean for state in states) else "changed"


def _cell(state: str) -> Cell:
    return Cell(state, "" if state == "ok" else "red")


def _folders(skill: LockedSkill) -> str:
    return ", ".join(folder.path or "." for folder in skill.folders)
