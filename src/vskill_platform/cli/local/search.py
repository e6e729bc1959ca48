"""`search` on this machine: published skills by their words, publisher, labels and capabilities."""

from collections.abc import Mapping

import click

from vskill_platform.base.settle import settle
from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.cli.search_filters import FilterValue, check_search, split_values
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill, capability_names
from vskill_platform.stores.skill_store import get_latest_version, list_skills


def search(*, words: tuple[str, ...], limit: int, as_json: bool, **filters: FilterValue) -> None:
    """Print skills that contain every word, those with it in their slug first."""
    wanted = " ".join(words).lower().split()
    query = check_search(words, filters)
    if "tier" in query:
        raise click.UsageError("--tier needs the search index: name a registry with --registry")
    can, cannot = (split_values(query.get(name, "")) for name in ("can", "cannot"))

    async def work() -> list[PublishedSkill]:
        found = [one for one in await list_skills() if not one.down and _matches(one, query)]
        found = [
            one
            for one in found
            if all(word in f"{one.slug} {one.description}".lower() for word in wanted)
        ]
        return await _able(found, can, cannot) if can or cannot else found

    found = run_command(work, read_only=True)
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


def _matches(skill: PublishedSkill, query: Mapping[str, str]) -> bool:
    namespace, tag, agent = (query.get(name, "") for name in ("namespace", "tag", "agent"))
    return (
        (not namespace or namespace_of_skill(skill).lower() == namespace.lower())
        and (not tag or tag.lower() in skill.tags)
        and (not agent or not skill.agents or agent.lower() in skill.agents)
    )


async def _able(
    skills: list[PublishedSkill], can: frozenset[str], cannot: frozenset[str]
) -> list[PublishedSkill]:
    """Return the skills with and without these; unknown capabilities match neither."""
    latest = await settle(get_latest_version, [skill.slug for skill in skills])
    found = []
    for skill, version in zip(skills, latest, strict=True):
        if isinstance(version, Exception):
            raise version
        if version is None or version.capabilities is None:
            continue
        able = set(capability_names(version.capabilities))
        if can <= able and not cannot & able:
            found.append(skill)
    return found
