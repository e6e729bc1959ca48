"""Publishing: exactly what was checked, in versions that never change."""

import io
import tarfile
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tests.casts import a_published_skill, a_skill_folder, a_submission
from tests.clocks import NOON
from vskill_platform.errors import SlugTaken
from vskill_platform.fetch.fetch_source import fetched
from vskill_platform.model.lookalike import name_marks
from vskill_platform.model.similarity import SkillSketch
from vskill_platform.model.skill import SkillManifest
from vskill_platform.model.source import Source, folder_source, git_source
from vskill_platform.model.submission import Submission
from vskill_platform.publish.versions.publish_skill import Publication, prepare_publication
from vskill_platform.publish.versions.version_files import package_skill
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.similarity_store import find_by_marks, get_similarity_record
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.stores.version_store import get_archive, get_versions

MANIFEST = SkillManifest(name="tidy-notes", description="Tidies notes.")


async def publish(
    folder: Path,
    env: WorkerEnv,
    *,
    requested: str | None = None,
    by_submitter: str = "",
    tag: str = "",
) -> Publication:
    """Publish a folder; with *tag*, as if it came from a repository."""
    place = folder_source(str(folder))
    source = git_source("https://git.example/ada/notes", ref=tag) if tag else place
    manifest = SkillManifest(
        name="tidy-notes",
        description="Tidies notes.",
        metadata={"version": requested} if requested else {},
    )
    async with fetched(place) as snapshot:
        publication = await prepare_publication(
            msgspec.structs.replace(submitted(source), requested_version=by_submitter),
            snapshot,
            manifest,
            sketch=SkillSketch(),
            now=NOON,
        )
    assert await env.engine.commit(publication.operations) is not None
    return publication


def submitted(source: Source) -> Submission:
    return msgspec.structs.replace(a_submission(submission_id="sub_1"), source=source)


async def test_a_first_publication_has_one_version_and_its_archive(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path, run_dot_sh="echo hi")

    publication = await publish(folder, bound)

    assert (publication.slug, publication.version) == ("@local/tidy-notes", "1.0.0")
    (version,) = await get_versions("@local/tidy-notes")
    archive = await get_archive(version.archive_sha256)
    assert archive is not None
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        assert files.getnames() == ["SKILL.md", "run.sh"]
        packed = files.extractfile("run.sh")
        assert packed is not None
        assert packed.read() == b"echo hi"


async def test_the_same_content_makes_no_new_version(bound: WorkerEnv, tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    await publish(folder, bound)

    again = await publish(folder, bound)

    assert again.version == "1.0.0"
    assert len(await get_versions("@local/tidy-notes")) == 1


async def test_changed_content_makes_the_next_version(bound: WorkerEnv, tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    await publish(folder, bound)
    (folder / "more.md").write_text("more")
    second = await publish(folder, bound)
    (folder / "more.md").write_text("even more")

    third = await publish(folder, bound, requested="2.0.0")

    assert (second.version, third.version) == ("1.0.1", "2.0.0")
    versions = await get_versions("@local/tidy-notes")
    assert [version.version for version in versions] == ["1.0.0", "1.0.1", "2.0.0"]
    stored = await get_skill("@local/tidy-notes")
    assert stored
    assert (stored.record.version, stored.record.versions) == ("2.0.0", 3)


async def test_a_tag_gives_the_number_unless_the_manifest_does(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    first = await publish(folder, bound, tag="v0.4.0")
    (folder / "more.md").write_text("more")
    second = await publish(folder, bound, tag="v0.5", requested="0.7.0")
    (folder / "more.md").write_text("even more")

    third = await publish(folder, bound, tag="v0.8.0", requested="0.7.0")

    assert [first.version, second.version, third.version] == ["0.4.0", "0.7.0", "0.8.0"]


async def test_the_result_says_why_a_requested_version_was_not_used(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder, said = a_skill_folder(tmp_path), list[str]()

    async def next_one(*, requested: str | None = None, by: str = "", tag: str = "") -> None:
        (folder / "more.md").write_text(f"more {len(said)}")
        done = await publish(folder, bound, requested=requested, by_submitter=by, tag=tag)
        said.append(done.in_words().partition(" ")[2].partition(" ")[2].partition(" ")[2])

    await next_one(requested="1.2.0")
    await next_one(requested="1.2.0")
    await next_one(requested="1.1.0")
    await next_one(requested="v2")
    await next_one(requested="2.0.0", by="1.0.0")
    await next_one(requested="2.0.0")
    await next_one()
    await next_one(requested="x" * 500)

    assert said[:-1] == [
        "1.2.0",
        "1.2.1 instead of 1.2.0, which is not higher than 1.2.0",
        "1.2.2 instead of 1.1.0, which is not higher than 1.2.1",
        "1.2.3 instead of v2, which is not a version such as 1.0.0",
        "1.2.4 instead of 1.0.0, which is not higher than 1.2.3",
        "2.0.0",
        "2.0.1",
    ]
    assert len(said[-1]) < 120


async def test_a_tag_that_gives_the_number_is_not_explained(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    await publish(folder, bound, tag="v1.0.0")
    (folder / "more.md").write_text("more")

    tagged = await publish(folder, bound, tag="v1.1.0", requested="1.0.0")

    assert tagged.in_words() == "published as git.example/ada/notes/tidy-notes 1.1.0"


async def test_the_version_that_the_submitter_asks_for_precedes_the_manifest(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    first = await publish(folder, bound, requested="2.0.0", by_submitter="1.5.0")
    (folder / "more.md").write_text("more")

    lower = await publish(folder, bound, requested="2.0.0", by_submitter="1.4.0")

    assert (first.version, lower.version) == ("1.5.0", "1.5.1")


async def test_a_slug_belongs_to_the_source_that_had_it_first(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await publish(a_skill_folder(tmp_path / "ada"), bound)

    with pytest.raises(SlugTaken, match="is already published from another source"):
        await publish(a_skill_folder(tmp_path / "ben"), bound)


async def test_two_at_once_for_one_slug_make_one(bound: WorkerEnv, tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    source = folder_source(str(folder))
    submission = submitted(source)
    async with fetched(source) as snapshot:
        first, second = [
            await prepare_publication(
                submission, snapshot, MANIFEST, sketch=SkillSketch(), now=NOON
            )
            for _ in range(2)
        ]

    assert await bound.engine.commit(first.operations) is not None
    assert await bound.engine.commit(second.operations) is None


async def test_the_archive_of_equal_files_is_equal_to_the_byte(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    archives = []
    for parent in ("a", "b"):
        folder = a_skill_folder(tmp_path / parent, z_dot_md="z", a_dot_md="a")
        async with fetched(folder_source(str(folder))) as snapshot:
            archives.append(await package_skill(snapshot))

    assert archives[0] == archives[1]


async def test_when_it_was_first_published_is_kept(bound: WorkerEnv, tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    source = folder_source(str(folder))
    earlier = NOON - timedelta(days=3)
    old = a_published_skill("@local/tidy-notes", source_key=source.key, published_at=earlier)
    await bound.engine.commit([write_skill(old, expected=0)])

    await publish(folder, bound)

    stored = await get_skill("@local/tidy-notes")
    assert stored
    assert stored.record.published_at == earlier


async def test_a_published_skill_is_found_by_what_it_is_like(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await publish(a_skill_folder(tmp_path), bound)

    found = await get_similarity_record("@local/tidy-notes")

    assert found
    assert (found.name, found.publisher, found.since) == ("tidy-notes", "@local", NOON)
    assert await find_by_marks(name_marks("tidy-note")) == [found]
