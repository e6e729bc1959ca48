"""Which skills are in a source, and all of them submitted as one set."""

import asyncio
from pathlib import Path

import pytest

from tests.archives import zip_of
from tests.casts import a_skill_folder
from tests.git_server import GitServer
from tests.hostile_repos import FILE, FOLDER, LINK, HostileRepo
from tests.repos import a_repo, commit_all
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.allowed_sources import reach_of
from vskill_platform.intake import discover as module
from vskill_platform.intake.discover import DiscoveredSkill, Discovery, discovered
from vskill_platform.intake.read_source import LocalFiles
from vskill_platform.intake.submit import SubmitKind
from vskill_platform.intake.submit_set import SubmittedSet, submit_set
from vskill_platform.model.source import Source, folder_source, git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.submission_set_store import get_submission_set
from vskill_platform.stores.submission_store import get_submissions_fresh

pytestmark = pytest.mark.usefixtures("one_loop")


def a_toolbox(parent: Path, *names: str) -> Path:
    for name in names or ("one", "two", "three"):
        a_skill_folder(parent / "toolbox" / "skills", name)
    return parent / "toolbox"


async def skills_in(place: Source | LocalFiles) -> tuple[DiscoveredSkill, ...]:
    async with discovered(place, reach_of(get_settings())) as discovery:
        return discovery.skills


async def submit_all(place: Source | LocalFiles) -> SubmittedSet:
    async with discovered(place, reach_of(get_settings())) as discovery:
        return await submit_set(discovery, submitter="ada")


def kinds(submitted: SubmittedSet) -> list[SubmitKind | None]:
    return [member.result.kind if member.result else None for member in submitted.members]


async def test_the_skills_of_a_repo_are_found_by_their_manifests_alone(
    git_server: GitServer, tmp_path: Path
) -> None:
    toolbox = a_toolbox(tmp_path)
    (toolbox / "skills" / "two" / "SKILL.md").write_text("no frontmatter")
    (toolbox / "skills" / "two" / "large.bin").write_bytes(bytes(1000))
    url = git_server.serve_repo(toolbox, "ada/toolbox")

    found = await skills_in(git_source(url))

    assert [(skill.name, skill.path, skill.is_fine) for skill in found] == [
        ("one", "skills/one", True),
        ("three", "skills/three", True),
        ("two", "skills/two", False),
    ]
    assert found[0].description.startswith("Shows what a good skill looks like")
    assert "frontmatter cannot be read" in found[2].problems[0]


async def test_a_skill_at_the_root_and_in_a_part_of_the_repo(
    git_server: GitServer, tmp_path: Path
) -> None:
    root = a_skill_folder(tmp_path, "toolbox")
    a_skill_folder(root / "more", "one")
    url = git_server.serve_repo(root, "ada/toolbox")

    assert [skill.path for skill in await skills_in(git_source(url))] == ["", "more/one"]
    assert [skill.path for skill in await skills_in(git_source(url, "more"))] == ["one"]


async def test_links_and_deceptive_folders_are_not_found(
    git_server: GitServer, tmp_path: Path
) -> None:
    repo = HostileRepo(tmp_path / "hostile.git")
    skill = repo.tree((FILE, repo.manifest, "SKILL.md"))
    link = repo.tree((LINK, repo.blob(b"/etc/passwd"), "SKILL.md"))
    repo.publish(
        repo.tree((FOLDER, skill, "a\nb"), (FOLDER, link, "linked"), (FOLDER, skill, "tidy-notes"))
    )

    found = await skills_in(git_source(git_server.serve_bare(repo.folder, "eve/evil")))

    assert [skill.path for skill in found] == ["tidy-notes"]


@pytest.mark.usefixtures("bound")
async def test_folders_and_archives_are_looked_through_too(tmp_path: Path) -> None:
    toolbox = a_toolbox(tmp_path)
    (toolbox / "skills" / "linked").mkdir()
    (toolbox / "skills" / "linked" / "SKILL.md").symlink_to("/etc/passwd")
    archive = tmp_path / "toolbox.zip"
    archive.write_bytes(zip_of(toolbox / "skills", under="toolbox/skills"))
    places: list[Source | LocalFiles] = [
        folder_source(str(toolbox)),
        LocalFiles(toolbox),
        git_source(a_repo(toolbox)),
    ]

    for place in places:
        assert [skill.path for skill in await skills_in(place)] == [
            "skills/one", "skills/three", "skills/two",
        ]  # fmt: skip
    assert "linked" in {skill.name for skill in await skills_in(LocalFiles(archive))}


@pytest.mark.usefixtures("bound")
async def test_more_skills_than_a_repo_should_have_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SKILLS", 2)
    toolbox = a_toolbox(tmp_path)
    url = a_repo(toolbox)

    places: list[Source | LocalFiles] = [git_source(url), LocalFiles(toolbox)]
    for place in places:
        with pytest.raises(SourceRefused, match="more than 2 skills"):
            await skills_in(place)


async def test_a_set_is_a_submission_for_each_skill_linked_to_each_other(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    source = git_source(a_repo(a_toolbox(tmp_path)))

    submitted = await submit_all(source)

    assert kinds(submitted) == [SubmitKind.CREATED] * 3
    submissions = await get_submissions_fresh(submitted.submission_ids)
    assert {submission.set_id for submission in submissions} == {submitted.set_id}
    assert [submission.skill_path for submission in submissions] == [
        "skills/one", "skills/three", "skills/two",
    ]  # fmt: skip
    stored = await get_submission_set(submitted.set_id)
    assert stored
    assert stored.submission_ids == submitted.submission_ids


async def test_the_same_set_many_times_at_once_is_one_set(bound: WorkerEnv, tmp_path: Path) -> None:
    source = git_source(a_repo(a_toolbox(tmp_path)))

    sets = await asyncio.gather(*(submit_all(source) for _ in range(5)))

    assert len({submitted.set_id for submitted in sets}) == 1
    assert len({submitted.submission_ids for submitted in sets}) == 1
    assert (await bound.engine.queue.stats()).ready == 3


@pytest.mark.parametrize("packed", [True, False])
async def test_a_set_again_queues_only_what_has_changed(
    bound: WorkerEnv, tmp_path: Path, packed: bool
) -> None:
    toolbox = a_toolbox(tmp_path)
    a_repo(toolbox)
    place: Source | LocalFiles = LocalFiles(toolbox) if packed else git_source(f"file://{toolbox}")
    first = await submit_all(place)
    await handle_messages(await bound.engine.queue.receive(3, lease=bound.settings.lease), bound)
    (toolbox / "skills" / "two" / "more.md").write_text("more")
    commit_all(toolbox)

    again = await submit_all(place)

    states = [item.state for item in await get_submissions_fresh(first.submission_ids)]
    assert states == [SubmissionState.PUBLISHED] * 2 + [SubmissionState.RECEIVED]
    assert kinds(again) == [SubmitKind.ALREADY_VERIFIED] * 2 + [SubmitKind.REQUEUED]
    assert again.submission_ids == first.submission_ids
    assert again.set_id == first.set_id


async def test_one_that_is_refused_stops_no_other(bound: WorkerEnv, tmp_path: Path) -> None:
    toolbox = a_toolbox(tmp_path)
    (toolbox / "skills" / "three" / "link").symlink_to("/etc/passwd")
    told: list[int] = []

    async with discovered(LocalFiles(toolbox), reach_of(get_settings())) as discovery:
        submitted = await submit_set(
            discovery, submitter="ada", on_submitted=lambda: told.append(1)
        )

    assert kinds(submitted) == [SubmitKind.CREATED, None, SubmitKind.CREATED]
    assert "link is a symbolic link" in submitted.members[1].error
    assert len(told) == 3


async def test_two_uploads_of_one_name_do_not_replace_each_other(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    for place in ("a", "b"):
        a_skill_folder(tmp_path / "toolbox" / place)

    submitted = await submit_all(LocalFiles(tmp_path / "toolbox"))

    assert kinds(submitted) == [SubmitKind.CREATED, None]
    assert "are both called 'tidy-notes'" in submitted.members[1].error


async def test_a_fault_of_ours_is_not_taken_for_a_refusal(bound: WorkerEnv, tmp_path: Path) -> None:
    async with discovered(LocalFiles(a_toolbox(tmp_path)), reach_of(get_settings())) as discovery:
        broken = Discovery(source=discovery.source, skills=discovery.skills, root=tmp_path / "gone")
        with pytest.raises(FileNotFoundError):
            await submit_set(broken, submitter="ada")
