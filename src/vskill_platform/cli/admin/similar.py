"""`similar`: published skills with similar instructions or a similar name."""

from pathlib import Path

import click
import msgspec
from rich.table import Column, Table

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.errors import NotFound
from vskill_platform.model.lookalike import compare_names
from vskill_platform.model.similarity import similarity
from vskill_platform.publish.versions.compare_skill import (
    ComparedSkill,
    find_similar,
    find_similar_names,
)
from vskill_platform.scan.read.manifest import check_manifest
from vskill_platform.scan.sketch_skill import sketch_skill
from vskill_platform.stores.similarity_store import SimilarityRecord, get_similarity_record
from vskill_platform.stores.skill_store import resolve_slug


class Similar(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    publisher: str
    since: str
    #: The common share of the instructions, and of the scripts.
    instructions: float
    scripts: float
    #: In which way its name is similar; empty if it is not.
    name: str


@click.command()
@click.argument("slug_or_path")
@json_option
def similar(*, slug_or_path: str, as_json: bool) -> None:
    """List similar published skills.

    SLUG_OR_PATH is a published skill or a local folder.
    """
    submitted = _measure(Path(slug_or_path).expanduser())

    async def work() -> list[Similar]:
        compared = submitted or await _published(slug_or_path)
        found = {item.slug: item for item in await find_similar(compared)}
        found |= {item.slug: item for item in await find_similar_names(compared)}
        rows = [_compare(compared, item) for item in found.values()]
        return sorted(rows, key=lambda row: (-row.instructions, row.slug))

    rows = run_command(work, read_only=True)
    if as_json:
        print_json(rows)
    elif not rows:
        echo("No similar skill is published.", err=True)
    else:
        _show(rows)


def _measure(folder: Path) -> ComparedSkill | None:
    if not folder.is_dir():
        return None
    manifest, _ = check_manifest(folder, None)
    return ComparedSkill(
        slug="",
        name=manifest.name if manifest else folder.resolve().name,
        publisher="",
        sketch=sketch_skill(folder, {}),
    )


async def _published(slug: str) -> ComparedSkill:
    found = await get_similarity_record(await resolve_slug(slug))
    if found is None:
        raise NotFound(f"{slug!r} is neither a folder nor the slug of a published skill")
    return ComparedSkill(
        slug=found.slug, name=found.name, publisher=found.publisher, sketch=found.sketch
    )


def _compare(compared: ComparedSkill, other: SimilarityRecord) -> Similar:
    ours, theirs = compared.sketch, other.sketch
    return Similar(
        slug=other.slug,
        publisher=other.publisher,
        since=f"{other.since:%Y-%m-%d}",
        instructions=round(similarity(ours.instructions, theirs.instructions), 3),
        scripts=round(similarity(ours.scripts, theirs.scripts), 3),
        name=compare_names(compared.name, other.name) or "",
    )


def _show(rows: list[Similar]) -> None:
    table = Table(
        Column("skill", overflow="fold"),
        "publisher",
        "since",
        Column("instructions", justify="right"),
        Column("scripts", justify="right"),
        "name",
    )
    for row in rows:
        parts = (f"{row.instructions:.0%}", f"{row.scripts:.0%}")
        table.add_row(escape(row.slug), escape(row.publisher), row.since, *parts, row.name)
    Console().print(table)
