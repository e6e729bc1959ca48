"""`admin mirrors`: registries that this one mirrors, and the skills that came from them."""

import getpass

import click
from rich.table import Table

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.errors import InvalidInput, MirrorRefused, NotFound, SourceError
from vskill_platform.fetch.mirrors.fetch_mirrored import get_mirror, is_offline
from vskill_platform.intake.mirror_skill import compare, find_mirror_target
from vskill_platform.intake.mirror_version import fetch_now
from vskill_platform.mirror_settings import Mirror
from vskill_platform.model.mirror import mirrored_slug
from vskill_platform.setting_values import format_duration
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.mirror_store import (
    MirroredSkill,
    MirrorStatus,
    get_mirrored,
    list_mirrored,
)

#: Statuses that an operator should know about.
_BAD = frozenset({MirrorStatus.FAILING, MirrorStatus.MISSING, MirrorStatus.WITHDRAWN})


@click.group()
def mirrors() -> None:
    """Mirror other registries."""


@mirrors.command("list")
@json_option
def list_mirrors(*, as_json: bool) -> None:
    """List the mirrors and the skills that came from them."""

    async def work() -> tuple[list[dict[str, object]], list[MirroredSkill]]:
        return [_describe(one) for one in bound_env().mirrors], await _list_all()

    described, skills = run_command(work, read_only=True)
    if as_json:
        print_json({"mirrors": described, "skills": [_with_status(one) for one in skills]})
        return
    if not described:
        echo("No mirrors: VSKILL_MIRRORS is not set.", err=True)
    else:
        table = Table("mirror", "kind", "url", "minimum age", "state")
        for one in described:
            state = "offline" if one["offline"] else "online"
            cells = (one["name"], one["kind"], one["url"], one["min_age"], state)
            table.add_row(*(escape(str(cell)) for cell in cells))
        Console().print(table)
    _show(skills)


@mirrors.command("check")
@click.argument("name", default="")
@json_option
@click.pass_context
def check_mirror(context: click.Context, *, name: str, as_json: bool) -> None:
    """Check mirrors for new versions now.

    It compares the skills of the mirror NAME, or of all mirrors, with the other registries, and
    submits new versions. The exit code is 1 if a skill is missing or withdrawn there, or could not
    be compared.
    """

    async def work() -> list[MirroredSkill]:
        if name:
            _find(name)
        for skill in await _list_all():
            if not name or skill.mirror == name:
                await _compare(skill.slug)
        return [one for one in await _list_all() if not name or one.mirror == name]

    skills = run_command(work)
    if as_json:
        print_json([_with_status(one) for one in skills])
    else:
        _show(skills)
    if any(one.status in _BAD for one in skills):
        context.exit(1)


@mirrors.command("fetch")
@click.argument("name")
@click.argument("skill")
@click.argument("version", default="")
@json_option
def fetch_skill(*, name: str, skill: str, version: str, as_json: bool) -> None:
    """Fetch a skill from a mirror.

    It is fetched even if it was refused or deleted before. NAME is the mirror. SKILL is the skill's
    name there, such as acme/demo, or its slug here. VERSION is the latest by default. A worker
    checks it next.
    """

    async def work() -> dict[str, str]:
        slug = _slug(_find(name), skill)
        submission = await fetch_now(slug, version, by=getpass.getuser())
        return {"slug": slug, "submission": submission.id, "state": submission.state}

    done = run_command(work)
    if as_json:
        print_json(done)
    else:
        echo(f"{done['slug']}: submission {done['submission']} is {done['state']}")


def _slug(mirror: Mirror, text: str) -> str:
    if text.startswith(f"@{mirror.name}_"):
        find_mirror_target(text)
        return text
    return mirrored_slug(mirror, text)


async def _compare(slug: str) -> None:
    known = await get_mirrored(slug)
    if known is None:
        return
    try:
        await compare(find_mirror_target(slug), known, by=getpass.getuser())
    except (NotFound, MirrorRefused, SourceError) as error:  # the record also contains the error
        echo(f"{slug}: {error}", err=True)


async def _list_all() -> list[MirroredSkill]:
    page = await list_mirrored()
    found = list(page.skills)
    while page.cursor:
        page = await list_mirrored(after=page.cursor)
        found += page.skills
    return found


def _find(name: str) -> Mirror:
    found = get_mirror(name)
    if found is None:
        known = ", ".join(one.name for one in bound_env().mirrors) or "none"
        raise InvalidInput(f"{name!r} is not a mirror in the settings; there are: {known}")
    return found


def _describe(one: Mirror) -> dict[str, object]:
    return {
        "name": one.name,
        "kind": one.kind,
        "url": one.url,
        "allow": one.allow,
        "deny": one.deny,
        "min_age": format_duration(one.min_age),
        "offline": is_offline(one),
    }


def _with_status(one: MirroredSkill) -> dict[str, object]:
    return {
        "slug": one.slug,
        "mirror": one.mirror,
        "name": one.name,
        "version": one.version,
        "status": one.status,
        "problem": one.problem,
        "checked_at": one.checked_at,
    }


def _show(skills: list[MirroredSkill]) -> None:
    if not skills:
        echo("No mirrored skills.", err=True)
        return
    table = Table("skill", "there", "version", "status", "problem")
    for one in skills:
        cells = (one.slug, one.name, one.version, one.status, one.problem)
        table.add_row(*(escape(str(cell)) or "-" for cell in cells))
    Console().print(table)
