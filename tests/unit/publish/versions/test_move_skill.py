"""Rename and transfer: all records move, the old slug redirects, and no block is evaded."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.casts import a_submission, add_installs
from tests.clocks import NOON
from tests.unit.events.happenings import moved, submitted
from tests.unit.web.pages_cast import FILES, MANIFEST, put_skill
from vskill_platform.engines.operations import ABSENT, NEVER, Put
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, SlugTaken
from vskill_platform.fetch.snapshot import take_snapshot
from vskill_platform.model.block import BlockKind, BlockSubject
from vskill_platform.model.similarity import SkillSketch
from vskill_platform.model.skill import PublishedSkill, SkillManifest
from vskill_platform.model.source import Source, git_source, upload_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.publish.moderation.deprecate import deprecate
from vskill_platform.publish.moderation.yank_version import yank_version
from vskill_platform.publish.versions.artifact_digests import complete_versions
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.publish.versions.move_skill import rename_skill, transfer_skill
from vskill_platform.publish.versions.publish_skill import Publication, prepare_publication
from vskill_platform.publish.versions.set_visibility import set_visibility
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    get_followed_repo,
    write_followed_repo,
)
from vskill_platform.stores.install_store import get_installs
from vskill_platform.stores.records import encode
from vskill_platform.stores.similarity_store import (
    SimilarityRecord,
    get_similarity_record,
    write_similarity_record,
)
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.stores.submission_store import SOURCE_PREFIX, get_submission
from vskill_platform.stores.version_store import get_versions

SLUG, UPLOAD = "ada/notes/tidy", "@ada/tidy"


async def rename(slug: str, name: str, **options: Any) -> PublishedSkill:
    return await rename_skill(slug, name, actor="ada", **options)


async def transfer(slug: str, namespace: str) -> PublishedSkill:
    return await transfer_skill(slug, namespace, actor="ada", reason="sold")


async def prepare(
    folder: Path,
    source: Source,
    name: str,
    files: Mapping[str, str] | None = None,
    *,
    slug: str | None = None,
    is_private: bool = False,
) -> Publication:
    """Prepare the publication of other files from a source."""
    origin = folder / "origin"
    origin.mkdir(parents=True)
    (origin / "SKILL.md").write_text(MANIFEST.format(name=name) + "\nMore.\n")
    for path, text in (files or {}).items():
        (origin / path).write_text(text)
    snapshot = take_snapshot(origin, folder / "snapshot", folder_name=None)
    submission = msgspec.structs.replace(
        a_submission(submission_id=f"sub_{folder.name}"),
        source=source,
        repo_url=source.url,
        slug=slug,
        is_private=is_private,
    )
    manifest = SkillManifest(name=name, description="Tidies notes.")
    return await prepare_publication(submission, snapshot, manifest, sketch=SkillSketch(), now=NOON)


async def test_everything_of_a_skill_goes_to_its_new_name(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path)
    await put_skill(bound, tmp_path, files={**FILES, "more.md": "more"})
    await yank_version(SLUG, "1.0.0", reason="it broke", actor="ada")
    await deprecate(SLUG, None, message="it is slow", actor="ada")
    await add_installs({SLUG: 3})
    before = await get_versions(SLUG)

    renamed = await rename(SLUG, "neat")

    assert renamed.slug == "ada/notes/neat"
    assert await get_skill(SLUG) is None
    assert await resolve_slug(SLUG) == "ada/notes/neat"
    after = await get_versions("ada/notes/neat")
    assert [
        msgspec.structs.replace(version, slug=SLUG) for version in after
    ] == before  # the same digests, archives and commits
    assert (await find_version(SLUG)).version.version == "1.0.1"
    assert (await find_version(SLUG, "1.0.0")).yank
    assert renamed.deprecated
    assert (await get_installs("ada/notes/neat")).total == 3
    assert (await get_installs(SLUG)).total == 0
    (record,) = [one for one in (await list_audit()).records if one.action == "skill rename"]
    assert (record.subject, record.outcome) == (SLUG, "now ada/notes/neat")


async def test_a_renamed_skill_is_published_under_both_names_and_is_one_skill(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path, UPLOAD)
    await complete_versions(UPLOAD)
    await rename(UPLOAD, "neat")

    old = await prepare(tmp_path / "a", upload_source("tidy", "ab" * 32, namespace="@ada"), "tidy")
    assert await bound.engine.commit(old.operations)
    new = await prepare(
        tmp_path / "b", upload_source("neat", "cd" * 32, namespace="@ada"), "neat", {"b.md": "b"}
    )
    assert await bound.engine.commit(new.operations)

    assert (old.slug, old.version) == ("@ada/neat", "1.0.1")
    assert (new.slug, new.version) == ("@ada/neat", "1.0.2")
    stored = await get_skill("@ada/neat")
    assert stored
    assert stored.record.source_key == "upload:@ada/neat#"


async def test_a_skill_gets_its_old_name_back(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path, UPLOAD)

    await rename(UPLOAD, "neat")
    await rename("@ada/neat", "clean")
    back = await rename(UPLOAD, "tidy")  # an old slug names the skill, too

    assert back.slug == UPLOAD
    assert [await resolve_slug(slug) for slug in (UPLOAD, "@ada/neat", "@ada/clean")] == [
        UPLOAD
    ] * 3
    again = await prepare(tmp_path / "a", upload_source("tidy", "a" * 64, namespace="@ada"), "tidy")
    assert again.slug == UPLOAD


async def test_nobody_else_takes_the_old_name(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path, UPLOAD)
    await put_skill(bound, tmp_path, "@ada/other")
    await transfer(UPLOAD, "@ben")

    with pytest.raises(SlugTaken, match="the name @ada/tidy is taken by @ben/tidy"):
        await rename("@ada/other", "tidy")
    with pytest.raises(SlugTaken, match="@ada/tidy was moved to @ben/tidy"):
        await prepare(tmp_path / "a", upload_source("tidy", "a" * 64, namespace="@ada"), "tidy")


async def test_after_a_transfer_only_the_receiver_publishes(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    await transfer(SLUG, "@acme")

    with pytest.raises(SlugTaken, match="only its new owners can publish it"):
        await prepare(tmp_path / "a", git_source("https://github.com/ada/notes"), "tidy")
    theirs = await prepare(
        tmp_path / "b", upload_source("tidy", "a" * 64, namespace="@acme"), "tidy"
    )

    assert (theirs.slug, theirs.version) == ("@acme/tidy", "1.0.1")


async def test_a_transfer_withdraws_what_its_old_source_is_about_to_publish(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    source = git_source("https://github.com/ada/notes", ref="next")
    update = await moved(
        await submitted(source=source), SubmissionState.TIER1_SCANNING, SubmissionState.NEEDS_REVIEW
    )

    await transfer(SLUG, "@acme")

    ended = await get_submission(update.record.id)
    assert ended
    assert ended.record.state is SubmissionState.DEQUEUED
    why = f"the skill {SLUG} was transferred to @acme by ada"
    assert ended.record.reason == f"withdrawn: {why}"


async def test_a_rename_leaves_an_update_in_its_check(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path)
    source = git_source("https://github.com/ada/notes", ref="next")
    update = await submitted(source=source)

    await rename(SLUG, "neat")

    kept = await get_submission(update.record.id)
    assert kept
    assert kept.record.state is SubmissionState.RECEIVED


async def test_a_transfer_to_another_account_of_a_host_expects_its_repository(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)

    given = await transfer(SLUG, "acme")
    theirs = await prepare(tmp_path / "a", git_source("https://github.com/acme/notes"), "tidy")

    assert (given.slug, given.repo_url) == ("acme/notes/tidy", "https://github.com/acme/notes")
    assert (theirs.slug, theirs.version) == ("acme/notes/tidy", "1.0.1")


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_publication_in_flight_and_a_rename_both_happen(
    bound: WorkerEnv, tmp_path: Path, is_first: bool
) -> None:
    await put_skill(bound, tmp_path)
    await complete_versions(SLUG)
    source = git_source("https://github.com/ada/notes")
    prepared = await prepare(tmp_path / "a", source, "tidy")

    if is_first:
        assert await bound.engine.commit(prepared.operations)
        await rename(SLUG, "neat")
    else:
        await rename(SLUG, "neat")
        assert await bound.engine.commit(prepared.operations) is None  # and prepared again:
        again = await prepare(tmp_path / "b", source, "tidy")
        assert await bound.engine.commit(again.operations)

    assert [one.version for one in await get_versions("ada/notes/neat")] == ["1.0.0", "1.0.1"]
    assert await get_versions(SLUG) == []


async def test_of_many_renames_to_one_name_one_wins(bound: WorkerEnv, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        await put_skill(bound, tmp_path, f"@ada/{name}")

    results = await asyncio.gather(
        *(rename(f"@ada/{name}", "best") for name in ("one", "two", "three")),
        return_exceptions=True,
    )

    assert sum(isinstance(result, PublishedSkill) for result in results) == 1
    assert sum(isinstance(result, SlugTaken) for result in results) == 2


async def test_a_new_skill_does_not_take_a_slug_that_was_left_meanwhile(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    source = upload_source("tidy", "a" * 64, namespace="@ada")
    prepared = await prepare(tmp_path / "a", source, "tidy")
    await put_skill(bound, tmp_path, UPLOAD)
    await rename(UPLOAD, "neat")

    assert await bound.engine.commit(prepared.operations) is None


@pytest.mark.parametrize(
    "subject",
    [
        BlockSubject(BlockKind.PUBLISHER, "github.com/ada"),
        BlockSubject(BlockKind.SOURCE, "https://github.com/ada/notes"),
        BlockSubject(BlockKind.NAME, "https://github.com/ada/notes#tidy"),
        BlockSubject(BlockKind.PUBLISHER, "@acme"),
    ],
)
async def test_a_block_of_its_former_or_present_home_takes_a_moved_skill_down(
    bound: WorkerEnv, tmp_path: Path, subject: BlockSubject
) -> None:
    await put_skill(bound, tmp_path)
    await transfer(SLUG, "@acme")

    done = await block(subject, reason="steals keys", actor="rae")

    assert done.taken_down == ("@acme/tidy",)
    if subject.value != "@acme":  # that one blocks the submission itself
        with pytest.raises(SlugTaken, match=r"blocked .*steals keys"):
            await prepare(
                tmp_path / "a", upload_source("tidy", "a" * 64, namespace="@acme"), "tidy"
            )


async def test_a_skill_is_not_moved_into_a_blocked_place_nor_out_of_a_block(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    await block(BlockSubject(BlockKind.PUBLISHER, "@acme"), reason="spam", actor="rae")

    with pytest.raises(NotAllowed, match="spam"):
        await transfer(SLUG, "@acme")
    await block(BlockSubject(BlockKind.PUBLISHER, "github.com/ada"), reason="spam", actor="rae")
    with pytest.raises(NotAllowed, match="was taken down"):
        await transfer(SLUG, "@ben")
    with pytest.raises(NotAllowed, match="was taken down"):
        await rename(SLUG, "neat")


async def test_a_confusable_name_is_for_staff_only(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path)
    popular = SimilarityRecord(
        slug="ben/lib/format-json", name="format-json", publisher="github.com/ben", since=NOON,
        sketch=SkillSketch(),
    )  # fmt: skip
    mine = msgspec.structs.replace(popular, slug=SLUG, name="tidy", publisher="github.com/ada")
    for record in (popular, mine):
        assert await bound.engine.commit(await write_similarity_record(record))

    with pytest.raises(NotAllowed, match="easily confused with ben/lib/format-json"):
        await rename(SLUG, "formt-json")
    renamed = await rename(SLUG, "formt-json", is_staff=True)

    moved = await get_similarity_record(renamed.slug)
    assert moved
    assert moved.name == "formt-json"  # so that it is compared by its new name


async def test_a_transferred_skill_is_no_longer_followed_and_a_renamed_one_is(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    followed = FollowedRepo(slug=SLUG, repo_url="https://github.com/ada/notes", by="ada", at=NOON)
    assert await bound.engine.commit([write_followed_repo(followed, due=NOON, expected=ABSENT)])

    await rename(SLUG, "neat")
    renamed = await get_followed_repo("ada/notes/neat")
    await transfer(SLUG, "@acme")

    assert renamed
    assert renamed.record.slug == "ada/notes/neat"
    assert await get_followed_repo(SLUG) is None
    assert await get_followed_repo("ada/notes/neat") is None
    assert await get_followed_repo("@acme/tidy") is None


async def test_hiding_a_moved_skill_hides_the_submissions_of_its_former_source(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    skill = await put_skill(bound, tmp_path)
    claim = Put(f"{SOURCE_PREFIX}{skill.source_key}", encode(skill.submission_id), due=NEVER)
    assert await bound.engine.commit([claim])
    await transfer(SLUG, "@acme")

    await set_visibility("@acme/tidy", is_private=True, actor="ada")

    stored = await get_submission(skill.submission_id)
    assert stored
    assert stored.record.is_private


@pytest.mark.parametrize(
    ("slug", "namespace", "error"),
    [
        (SLUG, "ada", "already belongs to ada"),
        (SLUG, "@local", "belongs to no single publisher"),
        (UPLOAD, "acme", "namespace that starts with @"),
        (SLUG, "not a namespace", "is not a namespace"),
        ("@ada/nothing", "@acme", "there is no published skill"),
    ],
)
async def test_what_cannot_be_transferred_says_why(
    bound: WorkerEnv, tmp_path: Path, slug: str, namespace: str, error: str
) -> None:
    await put_skill(bound, tmp_path)
    await put_skill(bound, tmp_path, UPLOAD)

    with pytest.raises((InvalidInput, NotFound), match=error):
        await transfer(slug, namespace)


@pytest.mark.parametrize("name", ["", "Tidy", "a/b", "a--b", "x" * 65, "ti_dy", "naïve"])
async def test_a_name_that_no_skill_can_have_is_refused(
    bound: WorkerEnv, tmp_path: Path, name: str
) -> None:
    await put_skill(bound, tmp_path)

    with pytest.raises(InvalidInput, match="cannot be the name of a skill"):
        await rename(SLUG, name)
