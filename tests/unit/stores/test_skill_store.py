"""Published skills: concurrent reads, aliases left out, slugs that change (seeds US-002)."""

import hashlib
from typing import Any

import msgspec
import pytest

from tests.casts import a_published_skill
from tests.clocks import NOON
from tests.probes import ProbingEngine
from vskill_platform.engines.operations import ABSENT, Put
from vskill_platform.errors import EngineError
from vskill_platform.model.skill import PublishedSkill, SkillVersion, TakenDown
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.records import encode
from vskill_platform.stores.skill_store import (
    enumerate_published_skills,
    find_skill,
    find_slugs,
    get_published_skills_list,
    list_skills,
    migrate_skill_slugs,
    resolve_slug,
    write_skill,
)
from vskill_platform.stores.version_store import get_archive, get_versions, write_version


async def published(engine: Any, *slugs: str) -> None:
    await engine.commit([write_skill(a_published_skill(slug), expected=0) for slug in slugs])


def a_version(slug: str, number: int) -> SkillVersion:
    return SkillVersion(
        slug=slug,
        number=number,
        version=f"1.0.{number - 1}",
        digest=f"{number:064}",
        files=(),
        archive_sha256=f"{number:064}",
        commit_sha=None,
        submission_id="sub_1",
        published_at=NOON,
    )


def to_ada(skill: PublishedSkill) -> str:
    return skill.slug.replace("@local/", "ada/notes/")


async def test_tc057_tc075_reads_all_skills_at_once(probed: ProbingEngine) -> None:
    await published(probed, "@local/a", "@local/b", "@local/c", "@local/d")

    skills = await enumerate_published_skills()

    assert [skill.slug for skill in skills] == ["@local/a", "@local/b", "@local/c", "@local/d"]
    assert probed.kv.most_at_once == 4


async def test_tc076_a_malformed_skill_is_skipped(probed: ProbingEngine, logs: list[Any]) -> None:
    await published(probed, "@local/a")
    await probed.commit([Put("skill:@local/broken", b"{")])

    assert [skill.slug for skill in await enumerate_published_skills()] == ["@local/a"]
    assert [event["key"] for event in logs if "key" in event] == ["skill:@local/broken"]


async def test_tc077_aliases_are_not_even_read(probed: ProbingEngine) -> None:
    await published(probed, "bar", "foo")
    await probed.commit([Put("skill:alias:old", encode("foo"))])

    skills = await enumerate_published_skills()

    assert [skill.slug for skill in skills] == ["bar", "foo"]
    assert sorted(probed.kv.read) == ["skill:bar", "skill:foo"]


async def test_missing_fields_of_a_record_get_defaults(probed: ProbingEngine) -> None:
    await probed.commit([Put("skill:@local/bare", b"{}")])

    (skill,) = await enumerate_published_skills()

    assert (skill.name, skill.repo_url) == ("@local/bare", "")


async def test_a_skill_that_was_taken_down_is_in_no_list_without_an_error(
    probed: ProbingEngine, logs: list[Any]
) -> None:
    await published(probed, "@local/a", "@local/b")
    down = TakenDown(reason="steals keys", by="cyd", at=NOON)
    gone = a_published_skill("@local/gone", down=down)
    await probed.commit([write_skill(gone, expected=0)])

    lists = [
        [skill.slug for skill in await enumerate_published_skills()],
        [skill.slug for skill in (await get_published_skills_list()).skills],
        [skill.slug for skill in await list_skills()],
        await find_slugs(lambda _: True),
    ]

    assert lists == [["@local/a", "@local/b"]] * 4
    assert logs == []


async def test_an_outage_is_raised_and_is_no_empty_marketplace(probed: ProbingEngine) -> None:
    await published(probed, "@local/a", "@local/b")
    probed.kv.fails = lambda _: EngineError("gone")

    with pytest.raises(EngineError, match="none of 2 records"):
        await enumerate_published_skills()


async def test_one_failing_read_costs_one_skill(probed: ProbingEngine) -> None:
    await published(probed, "@local/a", "@local/b")
    probed.kv.fails = lambda key: EngineError("gone") if key.endswith("/a") else None

    assert [skill.slug for skill in await enumerate_published_skills()] == ["@local/b"]


async def test_the_list_comes_in_pages_and_without_aliases(bound: WorkerEnv) -> None:
    await published(bound.engine, "a/a/a", "b/b/b", "c/c/c")
    await bound.engine.commit([Put("skill:alias:old", encode("a/a/a"))])
    slugs: list[str] = []
    cursor = None

    while True:
        page = await get_published_skills_list(after=cursor, limit=2)
        slugs += [skill.slug for skill in page.skills]
        cursor = page.cursor
        if cursor is None:
            break

    assert slugs == ["a/a/a", "b/b/b", "c/c/c"]


async def test_a_version_is_never_written_twice(bound: WorkerEnv) -> None:
    sha256 = hashlib.sha256(b"archive").hexdigest()
    version = msgspec.structs.replace(a_version("@local/a", 1), archive_sha256=sha256)
    other = msgspec.structs.replace(version, digest="another")

    first = await bound.engine.commit(write_version(version, b"archive"))
    second = await bound.engine.commit(write_version(other, b"another"))

    assert first is not None
    assert second is None
    assert await get_archive(sha256) == b"archive"
    assert await get_versions("@local/a") == [version]


async def test_migrated_slugs_take_their_versions_along_and_leave_an_alias(
    bound: WorkerEnv,
) -> None:
    await published(bound.engine, "@local/a", "@local/b")
    for number in (1, 2):
        await bound.engine.commit(write_version(a_version("@local/a", number), b"archive"))

    moved = await migrate_skill_slugs(to_ada)

    assert moved == 2
    skills = [skill.slug for skill in await enumerate_published_skills()]
    assert skills == ["ada/notes/a", "ada/notes/b"]
    assert [version.number for version in await get_versions("ada/notes/a")] == [1, 2]
    assert await get_versions("@local/a") == []
    assert await resolve_slug("@local/a") == "ada/notes/a"
    assert await resolve_slug("ada/notes/a") == "ada/notes/a"


async def test_migrating_twice_changes_nothing_more(bound: WorkerEnv) -> None:
    await published(bound.engine, "@local/a")
    await migrate_skill_slugs(to_ada)
    revision = await bound.engine.revision()

    assert await migrate_skill_slugs(to_ada) == 0
    assert await bound.engine.revision() == revision


async def test_a_migration_that_was_stopped_half_way_goes_on(probed: ProbingEngine) -> None:
    await published(probed, "@local/a", "@local/b", "@local/c")
    commits = 0

    def stop_at_the_second(_: object) -> None:
        nonlocal commits
        commits += 1
        if commits == 2:
            raise EngineError("power cut")

    probed.before_commit = stop_at_the_second
    with pytest.raises(EngineError):
        await migrate_skill_slugs(to_ada)
    probed.before_commit = lambda _: None

    assert await migrate_skill_slugs(to_ada) == 2
    skills = [skill.slug for skill in await enumerate_published_skills()]
    assert skills == ["ada/notes/a", "ada/notes/b", "ada/notes/c"]


async def test_an_alias_never_points_to_an_alias(bound: WorkerEnv) -> None:
    await published(bound.engine, "@local/a")
    await migrate_skill_slugs(lambda _: "ada/one/a")
    await migrate_skill_slugs(lambda _: "ada/two/a")

    assert await resolve_slug("@local/a") == "ada/two/a"
    assert await resolve_slug("ada/one/a") == "ada/two/a"


async def test_a_slug_that_is_taken_keeps_its_owner(bound: WorkerEnv) -> None:
    await published(bound.engine, "@local/a", "ada/notes/a")

    assert await migrate_skill_slugs(to_ada) == 0
    skills = [skill.slug for skill in await enumerate_published_skills()]
    assert skills == ["@local/a", "ada/notes/a"]


async def test_a_skill_is_found_under_its_slug_and_under_its_old_ones(bound: WorkerEnv) -> None:
    await bound.engine.commit(
        [
            write_skill(a_published_skill("ada/box/x"), expected=ABSENT),
            Put("skill:alias:ada/old/x", encode("ada/box/x")),
            Put("skill:alias:ada/lost/x", encode("ada/nowhere/x")),
        ]
    )

    found = {
        wanted: await find_skill(wanted)
        for wanted in ("ada/box/x", "ada/old/x", "ada/lost/x", "ada/none/x")
    }

    assert {wanted: slug for wanted, (slug, _) in found.items()} == {
        "ada/box/x": "ada/box/x",
        "ada/old/x": "ada/box/x",
        "ada/lost/x": "ada/nowhere/x",
        "ada/none/x": "ada/none/x",
    }
    assert [skill and skill.record.slug for _, skill in found.values()] == [
        "ada/box/x",
        "ada/box/x",
        None,
        None,
    ]
