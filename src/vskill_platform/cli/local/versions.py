"""`versions`, `diff`, `yank`, `unyank`, `deprecate` and `undeprecate` on this machine."""

import getpass
from collections.abc import Awaitable, Callable

from rich.table import Column, Table

from vskill_platform.cli.output.terminal import Console, echo, echo_patch_line, escape, print_json
from vskill_platform.cli.remote.skills import show_deprecation, show_status, show_visibility
from vskill_platform.cli.run_command import run_command
from vskill_platform.model.skill import PublishedSkill, group_by_capability
from vskill_platform.publish.moderation.deprecate import deprecate as deprecate_skill
from vskill_platform.publish.moderation.deprecate import undeprecate as undeprecate_skill
from vskill_platform.publish.moderation.yank_version import Yanked, unyank_version, yank_version
from vskill_platform.publish.versions.diff_versions import FileChange, VersionDiff, patch_of
from vskill_platform.publish.versions.find_version import (
    SkillVersions,
    VersionRow,
    VersionStatus,
    diff_of_skill,
    list_versions,
)
from vskill_platform.publish.versions.set_visibility import set_visibility as change_visibility

_COLOURS = {
    VersionStatus.LATEST: "green",
    VersionStatus.AVAILABLE: "default",
    VersionStatus.YANKED: "yellow",
    VersionStatus.BLOCKED: "red",
    VersionStatus.TAKEN_DOWN: "red",
}
_LINE_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def versions(*, slug: str, as_json: bool) -> None:
    """List the versions of a skill.

    It shows which versions are available, and the trust score.
    """

    async def work() -> SkillVersions:
        return await list_versions(slug)

    found = run_command(work, read_only=True)
    if as_json:
        print_json(found)
    else:
        _show_versions(found)


def diff(*, slug: str, old: str | None, new: str | None, as_json: bool) -> None:
    """Show the changes between two versions.

    It shows files, lines and capabilities that changed from version A to B. By default B is the
    latest version and A the one before.
    """

    async def work() -> VersionDiff:
        return await diff_of_skill(slug, old, new, with_blocked=True)

    found = run_command(work, read_only=True)
    if as_json:
        print_json(found)
    else:
        _show_diff(found)


def yank(*, slug: str, version: str, reason: str, as_json: bool) -> None:
    """Yank a version.

    It is no longer the latest, but still installable by exact version.
    """

    async def work() -> Yanked:
        return await yank_version(
            slug, version, reason=reason, actor=getpass.getuser(), is_by_staff=True
        )

    _change("yanked", work, as_json=as_json)


def unyank(*, slug: str, version: str, reason: str, as_json: bool) -> None:
    """Make a yanked version available again."""

    async def work() -> Yanked:
        return await unyank_version(
            slug, version, reason=reason, actor=getpass.getuser(), is_by_staff=True
        )

    _change("available", work, as_json=as_json)


def set_visibility(*, slug: str, visibility: str, reason: str, as_json: bool) -> None:
    """Make a skill public, or private to its namespace."""

    async def work() -> PublishedSkill:
        return await change_visibility(
            slug, is_private=visibility == "private", actor=getpass.getuser(), reason=reason
        )

    found = run_command(work)
    show_visibility(found.slug, is_private=found.is_private, as_json=as_json)


def deprecate(*, slug: str, version: str | None, message: str, use: str, as_json: bool) -> None:
    """Deprecate a skill or a version."""

    async def work() -> PublishedSkill:
        actor = getpass.getuser()
        return await deprecate_skill(slug, version, message=message, use=use, actor=actor)

    found = run_command(work)
    show_deprecation(found, found.slug, version, is_on=True, as_json=as_json)


def undeprecate(*, slug: str, version: str | None, as_json: bool) -> None:
    """End the deprecation of a skill or a version."""

    async def work() -> PublishedSkill:
        return await undeprecate_skill(slug, version, actor=getpass.getuser())

    found = run_command(work)
    show_deprecation(found, found.slug, version, is_on=False, as_json=as_json)


def _change(what: str, work: Callable[[], Awaitable[Yanked]], *, as_json: bool) -> None:
    done = run_command(work)
    if as_json:
        print_json(done)
        return
    again = "" if done.is_changed else "already "
    latest = done.skill.version
    then = f"The latest is {latest}." if latest else "No version can be installed by default."
    echo(f"{done.skill.slug} {done.version} is {again}{what}. {then}")


def _show_versions(found: SkillVersions) -> None:
    console = Console()
    skill, trust = found.skill, found.trust
    console.print(f"[bold]{escape(skill.slug)}[/] from {escape(skill.repo_url)}", highlight=False)
    table = Table(
        Column("version", no_wrap=True), "", "published (UTC)", "files", "digest", "reason"
    )
    for row in found.versions:
        version, colour = row.version, _COLOURS[row.status]
        table.add_row(
            version.version,
            f"[{colour}]{show_status(row.status)}[/]",
            f"{version.published_at:%Y-%m-%d %H:%M}",
            str(len(version.files)),
            version.digest,
            escape(_note(row)),
        )
    console.print(table)
    if not skill.version and not skill.down:
        console.print("All versions are yanked. No version can be installed by default.")
    console.print(f"Trust: [bold]{trust.tier}[/], {trust.score} of 100", highlight=False)
    for words in trust.words:
        console.print(f"  {escape(words)}", highlight=False)


def _note(row: VersionRow) -> str:
    deprecated = f"deprecated: {row.deprecation.words}" if row.deprecation else ""
    notes = [text for text in (row.reason, deprecated) if text]
    return "; ".join(notes) or (f"approved by {row.approved_by}" if row.approved_by else "")


def _show_diff(found: VersionDiff) -> None:
    console = Console()
    console.print(f"[bold]{escape(found.slug)} {found.old} → {found.new}[/]", highlight=False)
    if not found.files:
        console.print("The files are the same.")
    for change in found.files:
        _show_change(console, change)
    if found.gained is None:
        console.print("Their capabilities are unknown: an older release published them.")
    elif found.gained:
        console.print("[bold red]New capabilities:[/]")
        for kind, values in group_by_capability(found.gained).items():
            console.print(f"  {kind}: {escape(', '.join(values))}", highlight=False)
    else:
        console.print("No new capabilities.")


def _show_change(console: Console, change: FileChange) -> None:
    colour = {"added": "green", "removed": "red"}.get(change.kind, "yellow")
    note = f" [dim]({escape(change.note)})[/]" if change.note else ""
    console.print(f"[{colour}]{change.kind}[/] [bold]{escape(change.path)}[/]{note}")
    # Not printed by the console, which would wrap long lines, so that the patch could not be
    # applied.
    for line in patch_of(change).split("\n")[:-1]:
        echo_patch_line(line, colour=_LINE_COLOURS.get(line[:1]), dim=line[:1] == " ")
