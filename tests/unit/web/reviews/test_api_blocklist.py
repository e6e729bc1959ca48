"""The blocklist over the API: public, changed by reviewers, checked before installs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.unit.web.api_cast import Registry, audited, open_registry, token_of
from tests.unit.web.pages_cast import a_source, put_skill, put_submission
from vskill_platform.access.namespaces import add_owner
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import submit
from vskill_platform.intake.take_upload import take_folder
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.model.block import (
    digest_subject,
    name_subject,
    publisher_subject,
    source_subject,
)
from vskill_platform.model.source import folder_source, git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.runtime.env import WorkerEnv

LIST = "/api/v1/blocklist"
REPO = "https://github.com/ada/notes"
DIGEST = "ab" * 32
_S = SubmissionState


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def test_the_list_marks_what_must_not_be_installed(registry: Registry) -> None:
    empty = await registry.json("/blocklist")
    subjects = (
        name_subject(git_source(REPO), "evil"),
        source_subject(folder_source("/srv/den")),
        publisher_subject("github.com/eve"),
        digest_subject(DIGEST),
    )
    for subject in subjects:
        await block(subject, reason="it steals", actor="cyd")

    answer = await registry.get(LIST)
    again = await registry.get(LIST, headers={"If-None-Match": answer.headers["etag"]})

    assert empty == {"entries": [], "count": 0, "lastUpdated": None}
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert again.status_code == 304
    entries = {entry["kind"]: entry for entry in answer.json()["entries"]}
    assert answer.json()["count"] == 4
    assert answer.json()["lastUpdated"]
    assert entries["name"]["skillName"] == "evil"
    assert entries["name"]["sourceUrl"] == REPO
    assert {kind: entry["sourceRegistry"] for kind, entry in entries.items()} == {
        "name": "github.com", "source": None, "publisher": None, "digest": None,
    }  # fmt: skip
    assert entries["digest"]["contentHash"] == DIGEST
    assert entries["publisher"]["publisher"] == "github.com/eve"
    for entry in entries.values():
        assert entry["reason"] == "it steals"
        assert entry["threatType"]
        assert entry["severity"]
        assert entry["evidenceUrls"] == []
        assert entry["discoveredAt"]
    assert "/srv/den" not in answer.text


async def test_a_block_of_a_private_skill_is_visible_to_those_who_see_the_skill(
    registry: Registry, tmp_path: Path
) -> None:
    upload = await take_folder(a_skill_folder(tmp_path, "project-x"), namespace="@ada")
    offer = SubmissionRequest(source=upload.source, upload=upload.content, is_private=True)
    ada, rae = await token_of(Role.PUBLISHER), await token_of(Role.REVIEWER)
    ben = await token_of(Role.READER)
    await submit(offer, submitter="ada")
    await block(source_subject(upload.source), reason="the secret launch", actor="rae")
    await withdrawn_and_blocked(tmp_path)

    async def told(headers: dict[str, str]) -> tuple[int, int]:
        listed = (await registry.get(LIST, headers=headers)).json()
        page = (await registry.get("/trust", headers=headers)).text
        return listed["count"], sum(word in page for word in ("project-x", "project-y"))

    assert [await told(who) for who in ({}, ben)] == [(0, 0), (0, 0)]
    assert [await told(who) for who in (ada, rae)] == [(2, 2), (2, 2)]
    by_name = await registry.json("/blocklist/check?name=project-y")
    exactly = await registry.json("/blocklist/check?repoUrl=upload:@ada/project-x")
    assert not by_name["blocked"]
    assert exactly["blocked"]


async def withdrawn_and_blocked(folder: Path) -> None:
    """Block a name of a private source of which nothing was left to end."""
    upload = await take_folder(a_skill_folder(folder, "project-y"), namespace="@ada")
    offer = SubmissionRequest(source=upload.source, upload=upload.content, is_private=True)
    sent = await submit(offer, submitter="ada")
    await withdraw(sent.submission.id, actor="ada", reason="not yet")
    await block(name_subject(upload.source, "project-y"), reason="later", actor="rae")


async def test_a_blocked_skill_is_reported_with_its_entry_for_every_query(
    registry: Registry, tmp_path: Path
) -> None:
    env = registry.env
    await block(name_subject(git_source(REPO), "evil"), reason="named", actor="cyd")
    await block(digest_subject(DIGEST), reason="content", actor="cyd")
    await put_skill(env, tmp_path)
    await block(publisher_subject("github.com/ada"), reason="publisher", actor="cyd")
    await put_submission(env, _S.BLOCKED, name="nested", url="https://github.com/eve/x")
    folder = source_subject(git_source("https://github.com/eve/x", "skills/tidy"))
    await block(folder, reason="folder", actor="cyd")

    asked = {
        "name=evil": "named",
        "name=evil&repoUrl=Ada/Notes": "publisher",
        f"hash={DIGEST}": "content",
        f"hash=sha256:{DIGEST.upper()}": "content",
        f"repoUrl={REPO}": "publisher",
        "name=tidy": "publisher",
        "name=ada/notes/tidy": "publisher",
        "name=nested": "folder",
        "name=nested&repoUrl=eve/x": "folder",
    }
    answers = {query: await registry.json(f"/blocklist/check?{query}") for query in asked}

    assert {query: answer["blocked"] for query, answer in answers.items()} == dict.fromkeys(
        asked, True
    )
    assert {query: answer["entry"]["reason"] for query, answer in answers.items()} == asked


async def test_a_skill_that_is_not_blocked_is_reported_too_and_odd_queries_are_refused(
    registry: Registry,
) -> None:
    await block(name_subject(git_source(REPO), "evil"), reason="named", actor="cyd")
    await block(source_subject(folder_source("/srv/den")), reason="local", actor="cyd")

    fine = [
        await registry.json(f"/blocklist/check?{query}")
        for query in ("name=tidy", "name=evil&repoUrl=ben/x", "name=ada/x/y", f"hash={DIGEST}")
    ]
    odd = [
        await registry.get(f"{LIST}/check?{query}")
        for query in ("", "hash=xyz", "repoUrl=/srv/den", "repoUrl=file:///srv/den", "repoUrl=x")
    ]

    assert [(one["blocked"], one["entry"], one["rejected"], one["rejection"]) for one in fine] == [
        (False, None, False, None)
    ] * 4
    assert [one.status_code for one in odd] == [400] * 5


async def test_a_rejection_is_reported_unless_the_name_belongs_to_another_skill(
    registry: Registry, tmp_path: Path
) -> None:
    rejected = await put_submission(registry.env, _S.TIER1_FAILED, name="shady", url=REPO)
    await put_submission(registry.env, _S.REJECTED, name="shady-two")
    await put_submission(registry.env, _S.REJECTED, name="tidy", url="https://github.com/eve/fake")
    await put_skill(registry.env, tmp_path)

    told = await registry.json("/blocklist/check?name=shady")
    here = await registry.json("/blocklist/check?name=shady&repoUrl=ada/notes")
    elsewhere = await registry.json("/blocklist/check?name=shady&repoUrl=ben/x")
    namesake = await registry.json("/blocklist/check?name=tidy")
    fake = await registry.json("/blocklist/check?name=tidy&repoUrl=eve/fake")

    assert told == here
    assert (told["rejected"], told["submissionId"]) == (True, rejected.id)
    assert {name: told["rejection"][name] for name in ("skillName", "state", "reason")} == {
        "skillName": "shady", "state": "TIER1_FAILED", "reason": "It is what it is.",
    }  # fmt: skip
    assert told["rejection"]["score"] is not None
    assert told["rejection"]["rejectedAt"]
    assert (told["blocked"], told["entry"]) == (False, None)
    assert (elsewhere["rejected"], namesake["rejected"], fake["rejected"]) == (False, False, True)


async def test_nothing_private_is_revealed(registry: Registry, tmp_path: Path) -> None:
    ada = await token_of(Role.PUBLISHER)
    await add_owner("ada", "ada", actor="test")
    await put_submission(registry.env, _S.REJECTED, name="hushed", is_private=True)
    await put_skill(registry.env, tmp_path, is_private=True)

    for who in ({}, ada):
        for name in ("hushed", "tidy", "ada/notes/tidy"):
            told = await registry.json(f"/blocklist/check?name={name}", headers=who)
            assert (told["blocked"], told["rejected"]) == (False, False)


async def test_reviewers_block_and_unblock_and_the_audit_keeps_who(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    ada, rae = await token_of(Role.PUBLISHER), await token_of(Role.REVIEWER)
    body = {"source": "ada/notes", "name": "tidy", "reason": "it steals"}

    refused = [
        await registry.post(LIST, json=body),
        await registry.post(LIST, json=body, headers=ada),
        await registry.post(LIST, json={**body, "reason": ""}, headers=rae),
        await registry.post(LIST, json={**body, "digest": DIGEST}, headers=rae),
        await registry.post(LIST, json={"reason": "x"}, headers=rae),
    ]
    done = await registry.post(LIST, json=body, headers=rae)
    twice = await registry.post(LIST, json=body, headers=rae)
    gone = await registry.get("/api/v1/skills/ada/notes/tidy")
    block_id = done.json()["entry"]["id"]
    unsaid = await registry.ask("DELETE", f"{LIST}/{block_id}", headers=rae)
    undone = await registry.ask("DELETE", f"{LIST}/{block_id}?reason=mistake", headers=rae)
    missing = await registry.ask("DELETE", f"{LIST}/{block_id}?reason=mistake", headers=rae)

    assert [one.status_code for one in refused] == [401, 403, 400, 400, 400]
    assert (done.status_code, done.json()["isNew"]) == (201, True)
    assert done.json()["takenDown"] == ["ada/notes/tidy"]
    assert twice.json()["isNew"] is False
    assert gone.status_code == 404
    assert (unsaid.status_code, undone.status_code, missing.status_code) == (400, 200, 404)
    assert undone.json()["reopened"]
    assert [(who, what) for who, what, _ in await audited()] == [
        ("rae", "block add"),
        ("rae", "block remove"),
    ]


async def test_a_block_by_the_slug_that_pages_show_is_about_that_skill(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, "@local/k30")
    rae = await token_of(Role.REVIEWER)

    done = await registry.post(LIST, json={"source": "@local/k30", "reason": "x"}, headers=rae)
    none = await registry.post(LIST, json={"source": "@local/k31", "reason": "x"}, headers=rae)
    content = await registry.post(LIST, json={"digest": "cd" * 32, "reason": "x"}, headers=rae)
    odd = await registry.post(LIST, json={"source": "@local", "reason": "x"}, headers=rae)

    assert done.json()["takenDown"] == ["@local/k30"]
    assert done.json()["entry"]["sourceUrl"] == "upload:@local/k30"
    assert done.json()["message"] == "1 skill taken down, 1 submission ended."
    assert (none.status_code, none.json()["takenDown"]) == (201, [])
    assert none.json()["message"] == (
        "No published skill is affected; new submissions of it are refused."
    )
    assert "No published skill has this content as its latest version" in content.json()["message"]
    assert odd.status_code == 400
    assert "@namespace/name" in odd.json()["detail"]


async def test_a_failed_skill_that_was_blocked_later_is_reported_by_name_and_slug(
    registry: Registry,
) -> None:
    env, uploads = registry.env, "upload:@local/"
    await put_submission(env, _S.TIER1_FAILED, name="bad1", url=f"{uploads}bad1")
    await put_submission(env, _S.REJECTED, name="evil", url=f"{uploads}evil")
    await put_submission(env, _S.REJECTED, name="shady", url="https://git.example/eve/x")
    await block(source_subject(a_source(f"{uploads}bad1")), reason="first", actor="cyd")
    await block(source_subject(a_source(f"{uploads}ghost")), reason="never came", actor="cyd")

    async def told(name: str) -> tuple[bool, bool]:
        answer = await registry.json(f"/blocklist/check?name={name}")
        return answer["blocked"], answer["rejected"]

    assert await told("bad1") == (True, True)
    assert await told("@local/bad1") == (True, True)
    assert await told("@local/ghost") == await told("ghost") == (True, False)
    assert await told("evil") == await told("@local/evil") == (False, True)
    assert await told("git.example/eve/x/shady") == (False, True)
    for other in ("@ben/bad1", "@ben/evil", "@local/good", "eve/x/shady", "a/b", "@/x", "/x", "x/"):
        assert await told(other) == (False, False)


async def test_a_failed_namesake_that_was_blocked_says_nothing_of_what_is_published(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_submission(registry.env, _S.TIER1_FAILED, name="tidy", url="upload:@eve/tidy")
    await block(source_subject(a_source("upload:@eve/tidy")), reason="fake", actor="cyd")

    named = await registry.json("/blocklist/check?name=tidy")
    good = await registry.json("/blocklist/check?name=ada/notes/tidy")
    fake = await registry.json("/blocklist/check?name=@eve/tidy")

    assert [one["blocked"] for one in (named, good, fake)] == [False, False, True]
    assert [one["rejected"] for one in (named, good, fake)] == [False, False, True]
