"""Deletion: what owners and admins can delete, and what stays reserved."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.casts import add_installs
from tests.clocks import NOON, ManualClock
from tests.unit.events.happenings import moved, submitted
from tests.unit.publish.versions.test_move_skill import prepare
from tests.unit.web.pages_cast import FILES, change_skill, put_skill
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, SkillDeleted, SlugTaken
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.source import git_source, upload_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.moderation.delete_skill import (
    OWNER_DELETES_WITHIN,
    delete_skill,
    preview_deletion,
)
from vskill_platform.publish.versions.artifact_digests import complete_versions
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.publish.versions.move_skill import rename_skill
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.install_store import get_installs
from vskill_platform.stores.scan_store import get_report, get_report_on
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.stores.version_store import get_archive, get_versions
from vskill_platform.web.protocols.git.repo_state import find_state

_S = SubmissionState
SLUG, UPLOAD = "ada/notes/tidy", "@ada/tidy"
MORE = {**FILES, "more.md": "more"}


async def delete(slug: str, version: str | None = None, *, is_admin: bool = False) -> None:
    await delete_skill(slug, version, actor="ada", reason="a mistake", is_admin=is_admin)


async def test_nothing_of_a_deleted_skill_stays_but_its_name(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    await put_skill(bound, tmp_path, files=MORE)
    await rename_skill(SLUG, "neat", actor="ada")
    versions = await get_versions("ada/notes/neat")

    await delete(SLUG)

    assert await get_skill("ada/notes/neat") is None
    assert await get_versions("ada/notes/neat") == []
    assert await resolve_slug(SLUG) == SLUG  # the alias is gone, too
    for version in versions:
        assert await get_archive(version.archive_sha256) is None
        assert await get_report_on(version.submission_id, version.digest) is None
    (record,) = [one for one in (await list_audit()).records if one.action == "skill delete"]
    assert (record.subject, record.reason) == ("ada/notes/neat", "a mistake")
    assert record.outcome == "2 versions deleted"


@pytest.mark.parametrize(
    "way",
    [
        (),
        (_S.TIER1_SCANNING,),
        (_S.TIER1_SCANNING, _S.TIER2_SCANNING),
        (_S.TIER1_SCANNING, _S.NEEDS_REVIEW),
        (_S.TIER1_SCANNING, _S.AUTO_APPROVED),
        (_S.TIER1_SCANNING, _S.VENDOR_APPROVED),
    ],
)
async def test_an_update_without_a_decision_is_withdrawn_and_cannot_bring_the_skill_back(
    bound: WorkerEnv, tmp_path: Path, way: tuple[SubmissionState, ...]
) -> None:
    await put_skill(bound, tmp_path)
    skill = await get_skill(SLUG)
    assert skill
    source = git_source(skill.record.repo_url, skill.record.skill_path, ref="next")
    update = await moved(await submitted(source=source), *way)

    await delete(SLUG)

    ended = await get_submission(update.record.id)
    assert ended
    assert ended.record.state is SubmissionState.DEQUEUED
    assert ended.record.reason == f"withdrawn: the skill {SLUG} was deleted by ada: a mistake"
    report = await get_report(update.record.id)
    assert report
    assert [item.rule for item in report.findings] == ["RUN-WITHDRAWN"]


async def test_a_ref_that_publishes_another_skill_is_still_checked(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    await put_skill(bound, tmp_path, "ada/notes/other")
    source = git_source("https://github.com/ada/notes", ref="other")
    update = await submitted(source=source, slug="ada/notes/other")

    await delete(SLUG)

    kept = await get_submission(update.record.id)
    assert kept
    assert kept.record.state is SubmissionState.RECEIVED


async def test_a_review_of_the_content_of_a_deleted_version_is_withdrawn(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    await put_skill(bound, tmp_path, files=MORE)
    first, second = await get_versions(SLUG)
    reviews = {}
    for version in (first, second):
        source = git_source("https://github.com/ada/notes", ref=version.version)
        found = await submitted(source=source, digest=version.digest)
        review = await moved(found, _S.TIER1_SCANNING, _S.NEEDS_REVIEW)
        reviews[version.version] = review.record.id

    await delete(SLUG, "1.0.0")

    found_after = {name: await get_submission(one) for name, one in reviews.items()}
    states = {name: one.record.state for name, one in found_after.items() if one}
    assert states == {"1.0.0": _S.DEQUEUED, "1.0.1": _S.NEEDS_REVIEW}


async def test_an_archive_that_another_skill_has_stays(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path)
    await put_skill(bound, tmp_path, "@ben/tidy")
    (version,) = await get_versions("@ben/tidy")

    await delete(SLUG)

    assert await get_archive(version.archive_sha256) is not None


async def test_only_its_owner_publishes_under_the_name_again_and_no_number_returns(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    await put_skill(bound, tmp_path, files=MORE)
    await delete(SLUG)

    other = git_source("https://github.com/ada/notes", "other")
    with pytest.raises(SlugTaken, match="was deleted, and its name cannot be used again"):
        await prepare(tmp_path / "a", other, "tidy")
    again = await prepare(tmp_path / "b", git_source("https://github.com/ada/notes"), "tidy")
    assert await bound.engine.commit(again.operations)

    assert again.version == "1.0.2"
    (version,) = await get_versions(SLUG)
    assert version.number == 3
    stored = await get_skill(SLUG)
    assert stored
    assert (stored.record.latest_number, stored.record.version) == (3, "1.0.2")
    assert len((await find_state(stored.record)).versions) == 1


async def test_what_an_admin_deleted_does_not_come_back(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path, UPLOAD)
    await put_skill(bound, tmp_path, "@ada/other")
    await delete(UPLOAD, is_admin=True)

    with pytest.raises(SlugTaken, match="was deleted"):
        await prepare(tmp_path / "a", upload_source("tidy", "a" * 64, namespace="@ada"), "tidy")
    with pytest.raises(SlugTaken, match="was deleted"):
        await rename_skill("@ada/other", "tidy", actor="ada")


@pytest.mark.parametrize("is_admin", [True, False])
async def test_another_skill_does_not_take_the_name_by_its_manifest(
    bound: WorkerEnv, tmp_path: Path, is_admin: bool
) -> None:
    await put_skill(bound, tmp_path, UPLOAD)
    await put_skill(bound, tmp_path, "@ada/other")
    await delete(UPLOAD, is_admin=is_admin)
    other = upload_source("other", "a" * 64, namespace="@ada")

    with pytest.raises(SlugTaken, match="was deleted, and its name cannot be used again"):
        await prepare(tmp_path / "a", other, "tidy", slug="@ada/other")


async def test_a_skill_that_takes_another_name_expects_that_nothing_was_deleted_there(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path, "@ada/other")
    await complete_versions("@ada/other")
    other = upload_source("other", "a" * 64, namespace="@ada")
    prepared = await prepare(tmp_path / "a", other, "tidy", slug="@ada/other")
    await put_skill(bound, tmp_path, UPLOAD)
    await delete(UPLOAD)

    assert await bound.engine.commit(prepared.operations) is None
    assert await get_skill("@ada/other")


async def test_a_publication_in_flight_does_not_survive_the_deletion_unnoticed(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    await complete_versions(SLUG)
    source = git_source("https://github.com/ada/notes")
    prepared = await prepare(tmp_path / "a", source, "tidy")
    await delete(SLUG, is_admin=True)

    assert await bound.engine.commit(prepared.operations) is None
    with pytest.raises(SlugTaken):
        await prepare(tmp_path / "b", source, "tidy")


@pytest.mark.parametrize("version", ["1.0.0", "1.0.1", "1.0.2"])
async def test_a_deleted_version_leaves_the_others_and_their_commits(
    bound: WorkerEnv, tmp_path: Path, version: str
) -> None:
    for files in (FILES, MORE, {**FILES, "more.md": "even more"}):
        await put_skill(bound, tmp_path, files=files)
    before = {one.version: one for one in await complete_versions(SLUG)}

    await delete(SLUG, version)

    left = {one.version: one for one in await get_versions(SLUG)}
    assert left == {name: one for name, one in before.items() if name != version}
    assert await get_archive(before[version].archive_sha256) is None
    with pytest.raises(SkillDeleted, match=rf"{version} was deleted: a mistake"):
        await find_version(SLUG, version)
    latest = (await find_version(SLUG)).version.version
    assert latest == max(left)
    stored = await get_skill(SLUG)
    assert stored
    state = await find_state(stored.record)
    assert [one.git_commit for one in state.versions] == [one.git_commit for one in left.values()]
    source = git_source("https://github.com/ada/notes")
    following = await prepare(tmp_path / "a", source, "tidy")
    assert following.version == "1.0.3"  # never a number that was used


async def test_the_only_version_goes_with_the_skill(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path)

    with pytest.raises(InvalidInput, match="the only version"):
        await delete(SLUG, "1.0.0")
    with pytest.raises(NotFound, match=r"has no version 2\.0\.0"):
        await delete(SLUG, "2.0.0")


@pytest.mark.parametrize(
    ("installs", "age", "is_private", "may"),
    [
        (0, timedelta(days=300), False, True),
        (9, timedelta(days=300), True, True),
        (9, OWNER_DELETES_WITHIN, False, True),
        (9, OWNER_DELETES_WITHIN + timedelta(seconds=1), False, False),
    ],
)
async def test_owners_delete_what_nobody_relies_on(
    bound: WorkerEnv,
    clock: ManualClock,
    tmp_path: Path,
    installs: int,
    age: timedelta,
    is_private: bool,
    may: bool,
) -> None:
    await put_skill(bound, tmp_path, at=clock.now() - age, is_private=is_private)
    if installs:
        await add_installs({SLUG: installs})

    if may:
        await delete(SLUG)
    else:
        with pytest.raises(NotAllowed, match=r"installed 9 times.*deprecate or yank it instead"):
            await delete(SLUG)
        preview = await preview_deletion(SLUG)
        await delete(SLUG, is_admin=True)
        assert (preview.installs, preview.versions) == (9, ("1.0.0",))
        assert preview.refused

    assert await get_skill(SLUG) is None
    assert (await get_installs(SLUG)).total == 0


async def test_evidence_is_not_deleted_by_its_owner(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path)
    await change_skill(bound, SLUG, down=TakenDown(reason="malware", by="rae", at=NOON))

    with pytest.raises(NotAllowed, match="only an admin can delete it"):
        await delete(SLUG)


async def test_a_reason_is_required(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path)

    with pytest.raises(InvalidInput, match="a reason is required"):
        await delete_skill(SLUG, actor="ada", reason=" ")
