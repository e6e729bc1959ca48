"""Print installed skills, and what an installation would change."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from vskill_platform.base.show_text import show
from vskill_platform.cli.output.terminal import Console, confirm, echo, is_interactive
from vskill_platform.client.install_folders import InstallScope
from vskill_platform.client.install_skills import Planned
from vskill_platform.client.lock_file import LockedSkill
from vskill_platform.errors import NotAllowed
from vskill_platform.model.skill import group_by_capability

#: How many values of one capability are shown, and how many characters of a value.
_MAX_SHOWN = 8
_MAX_CHARACTERS = 200


@contextmanager
def waiting(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal that the command waits for a registry."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(text):
        yield


def warn(text: str) -> None:
    echo(f"warning: {text}", err=True)


def confirm_plans(
    scope: InstallScope, plans: Sequence[Planned], *, yes: bool, as_json: bool
) -> None:
    """Show what each skill can do, and ask; without a terminal, refuse skills with warnings."""
    todo = [plan for plan in plans if not plan.is_current]
    for plan in todo:
        if not as_json:
            _show_plan(scope, plan)
        if plan.release and plan.release.deprecated:
            # Only a warning without a question, so that a pipeline does not stop.
            warn(f"{plan.skill.slug}: {plan.release.deprecated.words}")
        for warning in plan.warnings:
            warn(f"{plan.skill.slug}: {warning}")
    if yes or not any(_needs_answer(plan) for plan in todo):
        return
    if is_interactive() and not as_json:
        confirm("Continue?")
        return
    doubtful = [plan for plan in todo if plan.warnings or _gains(plan)]
    if doubtful:
        reasons = "; ".join(f"{plan.skill.slug}: {_why(plan)}" for plan in doubtful)
        raise NotAllowed(
            f"without a terminal to confirm, nothing was changed ({reasons}); use --yes"
        )


def _needs_answer(plan: Planned) -> bool:
    return plan.is_first or bool(plan.warnings) or _gains(plan)


def _gains(plan: Planned) -> bool:
    """Return whether an update adds capabilities, or may add some."""
    return plan.before is not None and plan.gained != {}


def _why(plan: Planned) -> str:
    reasons = list(plan.warnings)
    if _gains(plan):
        known = plan.gained is not None
        reasons.append("new capabilities" if known else "its new capabilities are not known")
    return ", ".join(reasons)


def _show_plan(scope: InstallScope, plan: Planned) -> None:
    skill, release = plan.skill, plan.release
    before = f"{plan.before.version} → " if plan.before and plan.has_new_content else ""
    echo(f"{skill.slug} {before}{skill.version}", err=True)
    if release:
        files = f"{len(skill.files)} file{'s' if len(skill.files) != 1 else ''}"
        echo(f"  {release.description}"[:200], err=True)
        echo(
            f"  published by {release.author}; {files}; trust {release.trust_tier} "
            f"({release.cert_tier.lower()}, {release.trust_score} of 100); scan verdict: "
            f"{release.verdict or 'no longer stored'}",
            err=True,
        )
        if plan.is_first:
            _show_capabilities(release.capabilities)
        elif plan.has_new_content:
            _show_capabilities(plan.gained, are_new=True)
    places = ", ".join(place_names(scope, skill))
    echo(f"  into {places}", err=True)


def _show_capabilities(found: Mapping[str, Sequence[str]] | None, *, are_new: bool = False) -> None:
    for line in capability_lines(found, are_new=are_new):
        echo(f"  {line}", err=True)


def capability_lines(
    found: Mapping[str, Sequence[str]] | None, *, are_new: bool = False
) -> list[str]:
    title = "new capabilities" if are_new else "capabilities"
    if found is None:
        return [f"{title}: not known, an older release published it"]
    if not found:
        return ["no new capabilities" if are_new else "capabilities: none found"]
    lines = []
    for name, values in group_by_capability(found).items():
        shown = ", ".join(show(value, limit=_MAX_CHARACTERS) for value in values[:_MAX_SHOWN])
        more = f" and {len(values) - _MAX_SHOWN} more" if len(values) > _MAX_SHOWN else ""
        lines.append(f"{title}: {name} {shown}{more}")
    return lines


def show_done(scope: InstallScope, plans: Sequence[Planned]) -> None:
    for plan in plans:
        skill = plan.skill
        places = ", ".join(place_names(scope, skill))
        if plan.is_current:
            echo(f"{skill.slug} {skill.version} is up to date")
        elif plan.before and plan.before.version != skill.version:
            echo(f"Updated {skill.slug} {plan.before.version} → {skill.version} in {places}")
        else:
            echo(f"Installed {skill.slug} {skill.version} into {places}")


def status_of(plan: Planned) -> str:
    if plan.is_current:
        return "unchanged"
    return "updated" if plan.before and plan.has_new_content else "installed"


def json_of_plan(scope: InstallScope, plan: Planned) -> dict[str, Any]:
    release = plan.release
    hints = {
        "author": release.author,
        "certTier": release.cert_tier,
        "trustTier": release.trust_tier,
        "trustScore": release.trust_score,
        "verdict": release.verdict,
        "capabilities": release.capabilities,
        "yanked": release.yanked,
        "deprecated": release.deprecated.message if release.deprecated else None,
    } if release else {}  # fmt: skip
    return {
        **json_of_skill(scope, plan.skill),
        "status": status_of(plan),
        "previousVersion": plan.before.version if plan.before else None,
        "gained": plan.gained,
        "warnings": plan.warnings,
        **hints,
    }


def json_of_skill(scope: InstallScope, skill: LockedSkill) -> dict[str, Any]:
    return {
        "slug": skill.slug,
        "name": skill.name,
        "version": skill.version,
        "range": skill.range,
        "registry": skill.registry,
        "archiveSha256": skill.archive_sha256,
        "contentHash": skill.content_hash,
        "fileCount": len(skill.files),
        "agents": agents_of(skill),
        "paths": [str(place) for place in skill.places(scope)],
    }


def agents_of(skill: LockedSkill) -> list[str]:
    return sorted({agent for folder in skill.folders for agent in folder.agents})


def place_names(scope: InstallScope, skill: LockedSkill) -> list[str]:
    """Return the folders of a skill as named in the lock file."""
    if scope.kind == "folder":
        return [str(place) for place in skill.places(scope)]
    return [f"{folder.path}/{skill.name}" for folder in skill.folders]
