"""`discover` on this machine: the skills in a repo, a folder or an archive."""

import click
import uvloop
from rich.table import Table

from vskill_platform.cli.local.submit_all import no_skills
from vskill_platform.cli.output.terminal import Console, escape, print_json
from vskill_platform.cli.run_command import current_settings
from vskill_platform.fetch.allowed_sources import reach_of
from vskill_platform.intake.discover import DiscoveredSkill, discovered
from vskill_platform.intake.read_source import read_source


def discover(*, source: str, path: str, ref: str, as_json: bool) -> None:
    settings = current_settings()
    place = read_source(source, settings=settings, path=path, ref=ref)

    async def look() -> tuple[DiscoveredSkill, ...]:
        async with discovered(place, reach_of(settings)) as discovery:
            return discovery.skills

    skills = uvloop.run(look())
    if as_json:
        print_json(skills)
    elif not skills:
        raise no_skills(source)
    else:
        _show(skills)
    if not all(skill.is_fine for skill in skills) or not skills:
        raise click.exceptions.Exit(1)


def _show(skills: tuple[DiscoveredSkill, ...]) -> None:
    table = Table("name", "path", "manifest", "description")
    for skill in skills:
        fine = "[green]valid[/]" if skill.is_fine else "[red]invalid[/]"
        text = skill.description if skill.is_fine else " ".join(skill.problems)
        table.add_row(escape(skill.name), escape(skill.path) or "(root)", fine, escape(text))
    Console().print(table)
