"""Deprecation: still available, with a message until the deprecation ends."""

from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.unit.publish.versions.test_publish import publish
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.publish.moderation.deprecate import deprecate, undeprecate
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.skill_store import get_skill

SLUG = "@local/tidy-notes"


@pytest.fixture
async def folder(bound: WorkerEnv, tmp_path: Path) -> Path:
    folder = a_skill_folder(tmp_path)
    await publish(folder, bound)
    return folder


async def test_a_deprecated_skill_stays_the_latest_and_its_later_versions_are_deprecated_too(
    folder: Path, bound: WorkerEnv
) -> None:
    await deprecate(SLUG, None, message="it is too slow", actor="ada")
    (folder / "more.md").write_text("more")
    await publish(folder, bound)

    latest = await find_version(SLUG)

    assert latest.version.version == "1.0.1"
    assert latest.deprecation
    assert (latest.deprecation.reason, latest.deprecation.by) == ("it is too slow", "ada")


async def test_only_the_deprecated_version_has_the_message(folder: Path, bound: WorkerEnv) -> None:
    (folder / "more.md").write_text("more")
    await publish(folder, bound)
    await deprecate(SLUG, "1.0.0", message="it loses notes", actor="ada")

    old, new = await find_version(SLUG, "1.0.0"), await find_version(SLUG)

    assert old.deprecation
    assert old.deprecation.words == "it loses notes"
    assert new.deprecation is None


async def test_ending_it_leaves_deprecated_versions_as_they_are(folder: Path) -> None:
    await deprecate(SLUG, "1.0.0", message="it loses notes", actor="ada")
    await deprecate(SLUG, None, message="it is too slow", actor="ada")

    await undeprecate(SLUG, None, actor="ada")
    left = (await find_version(SLUG)).deprecation
    await undeprecate(SLUG, "1.0.0", actor="ada")

    assert left
    assert left.reason == "it loses notes"
    assert (await find_version(SLUG)).deprecation is None


async def test_the_same_deprecation_twice_is_one_and_another_replaces_it(folder: Path) -> None:
    await deprecate(SLUG, None, message="it is too slow", actor="ada")
    await deprecate(SLUG, None, message="it is too slow", actor="ben")
    first = [record.actor for record in (await list_audit()).records]

    await deprecate(SLUG, None, message="it is gone soon", actor="ben")

    stored = await get_skill(SLUG)
    assert first == ["ada"]
    assert stored
    assert [mark.reason for mark in stored.record.deprecated] == ["it is gone soon"]


async def test_it_is_audited_with_its_message_and_its_end(folder: Path) -> None:
    await deprecate(SLUG, "1.0.0", message="it loses notes", actor="ada")
    await undeprecate(SLUG, "1.0.0", actor="ben")
    await undeprecate(SLUG, "1.0.0", actor="cyd")  # there is nothing to end

    records = (await list_audit()).records

    assert sorted((one.action, one.actor, one.subject, one.reason) for one in records) == [
        ("deprecate", "ada", f"{SLUG} 1.0.0", "it loses notes"),
        ("undeprecate", "ben", f"{SLUG} 1.0.0", ""),
    ]


@pytest.mark.parametrize(
    ("version", "message", "use", "error"),
    [
        (None, " ", "", "a message is required"),
        (None, "old", SLUG, "cannot point to itself"),
        (None, "old", "@local/nothing", "there is no published skill '@local/nothing'"),
        ("9.9.9", "old", "", r"has no version 9\.9\.9, only 1\.0\.0"),
    ],
)
async def test_what_cannot_be_meant_is_refused(
    folder: Path, version: str | None, message: str, use: str, error: str
) -> None:
    with pytest.raises((InvalidInput, NotFound), match=error):
        await deprecate(SLUG, version, message=message, use=use, actor="ada")
