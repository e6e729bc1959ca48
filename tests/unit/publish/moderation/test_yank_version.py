"""Yanking: never the latest, still installable by exact version."""

import asyncio
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.clocks import ManualClock
from tests.unit.publish.versions.test_publish import publish
from vskill_platform.errors import NotFound
from vskill_platform.publish.moderation.yank_version import unyank_version, yank_version
from vskill_platform.publish.versions.find_version import find_archive, find_version
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.skill_store import (
    enumerate_published_skills,
    get_latest_version,
    get_skill,
    migrate_skill_slugs,
)
from vskill_platform.stores.version_store import get_archive, get_versions

SLUG = "@local/tidy-notes"


@pytest.fixture
async def folder(bound: WorkerEnv, tmp_path: Path) -> Path:
    """Publish 1.0.0 and 1.0.1."""
    folder = a_skill_folder(tmp_path)
    await publish(folder, bound)
    (folder / "more.md").write_text("more")
    await publish(folder, bound)
    return folder


async def yank(version: str, *, actor: str = "cyd") -> None:
    await yank_version(SLUG, version, reason="loses notes", actor=actor)


async def unyank(version: str) -> None:
    await unyank_version(SLUG, version, reason="it was another", actor="cyd")


async def test_a_yanked_version_is_never_the_latest_but_can_be_had(folder: Path) -> None:
    await yank("1.0.1")

    latest = await find_version(SLUG)
    named = await find_version(SLUG, "1.0.1")
    assert (latest.version.version, latest.yank) == ("1.0.0", None)
    assert named.yank
    assert (named.yank.reason, named.yank.by) == ("loses notes", "cyd")
    assert await find_archive(SLUG, "1.0.1") == await get_archive(named.version.archive_sha256)
    kept = await get_latest_version(SLUG)
    assert kept
    assert kept.version == "1.0.0"
    (summary,) = await enumerate_published_skills()
    assert summary.version == "1.0.0"


async def test_yanking_an_older_version_leaves_the_latest(folder: Path) -> None:
    await yank("1.0.0")

    assert (await find_version(SLUG)).version.version == "1.0.1"


async def test_with_all_versions_yanked_the_error_says_that_nothing_can_be_installed(
    folder: Path,
) -> None:
    await yank("1.0.0")
    done = await yank_version(SLUG, "1.0.1", reason="loses notes", actor="cyd")

    assert (done.skill.version, done.skill.digest) == ("", "")
    with pytest.raises(NotFound, match=r"every version of .* is yanked; to install one anyway"):
        await find_version(SLUG)
    assert (await find_version(SLUG, "1.0.0")).yank


async def test_unyanking_offers_it_again(folder: Path) -> None:
    await yank("1.0.0")
    await yank("1.0.1")

    await unyank("1.0.0")
    then = (await find_version(SLUG)).version.version
    await unyank("1.0.1")

    assert then == "1.0.0"
    assert (await find_version(SLUG)).version.version == "1.0.1"


async def test_twenty_concurrent_yanks_yank_once_and_are_audited_once(
    folder: Path, clock: ManualClock
) -> None:
    done = await asyncio.gather(
        *(yank_version(SLUG, "1.0.1", reason=f"{n}", actor="cyd") for n in range(20))
    )
    clock.advance(seconds=1)
    await unyank("1.0.1")

    assert [item.is_changed for item in done].count(True) == 1
    last, first = (await list_audit()).records
    assert (first.action, first.subject, first.outcome) == (
        "yank", f"{SLUG} 1.0.1", "latest is 1.0.0",
    )  # fmt: skip
    assert (last.action, last.reason) == ("unyank", "it was another")


async def test_yanked_content_does_not_come_back_as_a_new_version(
    bound: WorkerEnv, folder: Path
) -> None:
    await yank("1.0.1")

    again = await publish(folder, bound)

    assert again.version == "1.0.1 (yanked)"
    assert len(await get_versions(SLUG)) == 2
    assert (await find_version(SLUG)).version.version == "1.0.0"


async def test_a_yanked_number_is_not_given_out_again(bound: WorkerEnv, folder: Path) -> None:
    await yank("1.0.1")
    (folder / "more.md").write_text("better")

    again = await publish(folder, bound, requested="1.0.1")

    assert again.version == "1.0.2"
    assert (await find_version(SLUG)).version.version == "1.0.2"
    stored = await get_skill(SLUG)
    assert stored
    assert stored.record.yank_of(2)


async def test_an_old_slug_keeps_working_and_is_never_listed(folder: Path) -> None:
    await migrate_skill_slugs(lambda _: "ada/notes/tidy-notes")

    await yank("1.0.1")

    assert (await find_version(SLUG)).version.version == "1.0.0"
    listed = await enumerate_published_skills()
    assert [skill.slug for skill in listed] == ["ada/notes/tidy-notes"]


async def test_an_unknown_version_is_refused_with_the_known_ones(folder: Path) -> None:
    with pytest.raises(NotFound, match=r"has no version 9\.9\.9, only 1\.0\.1, 1\.0\.0"):
        await yank("9.9.9")
    with pytest.raises(NotFound, match="has no version 9"):
        await find_version(SLUG, "9")
    with pytest.raises(NotFound, match="there is no published skill 'nobody/none'"):
        await yank_version("nobody/none", "1.0.0", reason="r", actor="cyd")
    with pytest.raises(NotFound, match="there is no published skill"):
        await find_version("nobody/none")
