"""`search` on this machine: published skills by the words of their name and description."""

from vskill_platform.cli.run_command import run_command
from vskill_platform.cli.tables import show_table
from vskill_platform.cli.terminal import echo, print_json
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.stores.skill_store import list_skills


def search(*, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Print skills that contain every word, those with it in their slug first."""
    wanted = " ".join(words).lower().split()

    async def work() -> list[PublishedSkill]:
        return [skill for skill in await list_skills() if not skill.down]

    found = [
        skill
        for skill in run_command(work, read_only=True)
        if all(word in f"{skill.slug} {skill.description}".lower() for word in wanted)
    ]
    in_slug = {skill.slug: sum(word in skill.slug.lower() for word in wanted) for skill in found}
    found.sort(key=lambda skill: (-in_slug[skill.slug], skill.slug))
    if as_json:
        print_json({"skills": found[:limit]})
    elif not found:
        echo("Nothing found.", err=True)
    else:
        show_table(
            ("skill", "version", "description"),
            [(one.slug, one.version or "yanked", one.description) for one in found[:limit]],
            keys=("skill", "version"),
        )
