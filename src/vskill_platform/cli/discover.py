"""`discover`: the skills in a repo, a folder or an archive."""

import click
import uvloop
from rich.table import Table

from vskill_platform.cli.run_command import current_settings, json_option
from vskill_platform.cli.submit_all import no_skills
from vskill_platform.cli.terminal import Console, escape, print_json
from vskill_platform.fetch.reach import reach_of
from vskill_platform.intake.discover import FoundSkill, discovered
from vskill_platform.intake.read_source import read_source


@click.command()
@click.argument("source")
@click.option("--path", default="", metavar="DIR", help="Search only this folder.")
@click.option("--ref", default="", metavar="REF", help="A branch or tag of the repo.")
@json_option
@click.pass_context
def discover(context: click.Context, *, source: str, path: str, ref: str, as_json: bool) -> None:
    """List the skills in a source.

    SOURCE is a git repo, a folder or an archive; nothing is submitted. The exit code is 1 if there
    is no skill, or if one has an unusable manifest.
    """
    settings = current_settings()
    place = read_source(source, settings=settings, path=path, ref=ref)

    async def look() -> tuple[FoundSkill, ...]:
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
        context.exit(1)


def _show(skills: tuple[FoundSkill, ...]) -> None:
    table = Table("name", "path", "manifest", "description")
    for skill in skills:
        fine = "[green]fine[/]" if skill.is_fine else "[red]unusable[/]"
        said = skill.description if skill.is_fine else " ".join(skill.problems)
        table.add_row(escape(skill.name), escape(skill.path) or "(root)", fine, escape(said))
    Console().print(table)
