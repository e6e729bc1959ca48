"""Submitting over the API: repos, archives, folders, and invalid input."""

from collections.abc import AsyncIterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import msgspec
import pytest
from httpx import Response

from tests.archives import tar_of, zip_of
from tests.casts import GOOD_MANIFEST, a_skill_folder
from tests.clocks import ManualClock
from tests.git_server import GitServer
from tests.unit.web.api_cast import Registry, open_registry, token_of
from tests.unit.web.pages_cast import put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.fetch.snapshot import MAX_SOURCE_BYTES
from vskill_platform.model.block import source_subject
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.submission_store import get_submission, write_submission
from vskill_platform.web.submissions import submit_skills
from vskill_platform.web.submissions.submit_limits import MAX_ANONYMOUS_SKILLS

SUBMISSIONS = "/api/v1/submissions"
UPLOAD = f"{SUBMISSIONS}/upload"
MANIFEST = GOOD_MANIFEST.format(name="tidy-notes").encode()

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(git_server: GitServer) -> AsyncIterator[Registry]:
    async with open_registry(bound_env()) as opened:
        yield opened


async def test_a_repo_is_looked_through_and_one_skill_of_it_is_meant(
    registry: Registry, git_server: GitServer, tmp_path: Path
) -> None:
    one = a_skill_folder(tmp_path / "one" / "skills", "tidy-notes").parents[1]
    two = tmp_path / "two"
    for name in ("tidy-notes", "plot-bars"):
        a_skill_folder(two / "skills", name)
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "README.md").write_text("nothing here")
    single = git_server.serve_repo(one, "ada/single")
    several = git_server.serve_repo(two, "ada/several")
    empty = git_server.serve_repo(tmp_path / "none", "ada/none")

    found = await registry.post("/api/v1/submissions/discover", json={"repoUrl": several})
    alone = await registry.post("/api/v1/submissions", json={"repoUrl": single})
    named = await registry.post(
        "/api/v1/submissions", json={"repoUrl": several, "skillName": "plot-bars"}
    )
    which = await registry.post("/api/v1/submissions", json={"repoUrl": several})
    wrong = await registry.post("/api/v1/submissions", json={"repoUrl": several, "skillName": "x"})
    nothing = await registry.post("/api/v1/submissions", json={"repoUrl": empty})
    gone = await registry.post(
        "/api/v1/submissions", json={"repoUrl": f"{git_server.url}/ada/gone"}
    )

    assert [(skill["name"], skill["path"]) for skill in found.json()["skills"]] == [
        ("plot-bars", "skills/plot-bars"),
        ("tidy-notes", "skills/tidy-notes"),
    ]
    assert all(skill["isFine"] for skill in found.json()["skills"])
    assert len(found.json()["commitSha"]) == 40
    assert (alone.status_code, alone.json()["skillPath"]) == (201, "skills/tidy-notes")
    assert (named.status_code, named.json()["skillPath"]) == (201, "skills/plot-bars")
    refused = (which, wrong, nothing)
    assert [(one.status_code, one.json()["code"]) for one in refused] == [
        (422, "source_refused")
    ] * 3
    assert "skills/plot-bars, skills/tidy-notes" in which.json()["detail"]
    assert "no SKILL.md" in nothing.json()["detail"]
    assert (gone.status_code, gone.json()["code"]) == (422, "source_refused")


async def test_archives_and_folders_are_taken_and_known_again(
    registry: Registry, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path, "tidy-notes")
    ada = await token_of(Role.PUBLISHER)
    archive = ("files", ("tidy.zip", zip_of(folder, under="tidy-notes")))
    single = ("files", ("tidy-notes/SKILL.md", MANIFEST))

    by_archive = await registry.post(UPLOAD, files=[archive], headers=ada)
    by_file = await registry.post(UPLOAD, files=[single], headers=ada)
    nobodys = await registry.post(UPLOAD, files=[single])
    (taken,) = by_archive.json()["submissions"]
    stored = await get_submission(taken["id"])
    assert stored
    skill = await put_skill(registry.env, tmp_path / "published", "@ada/tidy-notes")
    done = msgspec.structs.replace(
        stored.record, state=SubmissionState.PUBLISHED, digest=skill.digest, slug=skill.slug
    )
    await registry.env.engine.commit(write_submission(done, [], expected=stored.revision))
    verified = await registry.post(UPLOAD, files=[archive], headers=ada)

    assert (by_archive.status_code, by_archive.json()["count"]) == (201, 1)
    assert (taken["skillName"], taken["state"]) == ("tidy-notes", "RECEIVED")
    assert stored.record.source.namespace == "@ada"
    assert (by_file.status_code, by_file.json()["submissions"][0]["duplicate"]) == (200, True)
    assert nobodys.json()["submissions"][0]["id"] != taken["id"]
    assert verified.status_code == 200
    (answer,) = verified.json()["submissions"]
    assert (answer["alreadyVerified"], answer["skillId"]) == (True, "@ada/tidy-notes")


async def test_several_skills_of_one_archive_are_accepted_and_duplicates_reported(
    registry: Registry, tmp_path: Path
) -> None:
    for path in ("all/one", "all/two", "all/more/one"):
        a_skill_folder(tmp_path / Path(path).parent, Path(path).name)

    answer = await registry.post(
        UPLOAD, files=[("files", ("all.tar.gz", tar_of(tmp_path / "all", under="all")))]
    )

    assert answer.status_code == 201
    assert answer.json()["count"] == 2
    (skipped,) = answer.json()["skipped"]
    assert "both called 'one'" in skipped["error"]


async def test_a_namespace_must_be_ones_own_and_privacy_a_word_that_is_known(
    registry: Registry,
) -> None:
    ada, rae = await token_of(Role.PUBLISHER), await token_of(Role.REVIEWER)
    files = [("files", ("tidy-notes/SKILL.md", MANIFEST))]

    async def upload(who: dict[str, str], **fields: str) -> int:
        answer = await registry.post(UPLOAD, files=files, data=fields, headers=who)
        return answer.status_code

    assert await upload({}, namespace="@ada") == 403
    assert await upload(ada, namespace="@rae") == 403
    assert await upload(ada, namespace="ada") == 400
    assert await upload(rae, namespace="@ada/../x") == 400
    assert await upload(ada, privacy="secret") == 400
    assert await upload({}, privacy="private") == 403
    assert await upload(ada, namespace="@Ada", privacy="private") == 201
    (own,) = (await registry.json("/submissions", headers=ada))["submissions"]
    assert own["isPrivate"] is True
    assert (await registry.json("/submissions"))["total"] == 0


async def test_nobody_updates_an_upload_of_another_user_in_a_namespace_without_owners(
    registry: Registry,
) -> None:
    ada, rae = await token_of(Role.PUBLISHER), await token_of(Role.REVIEWER)
    ben = await token_of(Role.PUBLISHER, name="ben")

    async def upload(who: dict[str, str], more: bytes = b"") -> Response:
        files = [("files", ("tidy-notes/SKILL.md", MANIFEST + more))]
        return await registry.post(UPLOAD, files=files, data={"namespace": "@local"}, headers=who)

    (first,) = (await upload(ada)).json()["submissions"]
    refused = [await upload(who, b"Send it to me.\n") for who in ({}, ben)]
    same = await upload({})
    own = await upload(ada, b"And so on.\n")

    assert [answer.status_code for answer in refused] == [422, 422]
    assert "uploaded by someone else" in refused[0].json()["detail"]
    assert same.json()["submissions"][0]["duplicate"] is True
    assert own.json()["submissions"][0]["id"] == first["id"]
    await put_back(registry, first["id"], slug="@local/tidy-notes")
    assert (await upload({}, b"Now?\n")).status_code == 422  # a version of it is on offer
    assert (await upload(rae, b"Now?\n")).status_code == 200
    await put_back(registry, first["id"], slug=None)
    assert (await upload({}, b"A try of mine.\n")).status_code == 200  # it never came to anything


async def test_heaps_of_skills_need_a_sign_in(registry: Registry, tmp_path: Path) -> None:
    for number in range(MAX_ANONYMOUS_SKILLS + 1):
        a_skill_folder(tmp_path / "all", f"skill-{number}")
    files = [("files", ("all.tar.gz", tar_of(tmp_path / "all", under="all")))]

    refused = await registry.post(UPLOAD, files=files)
    taken = await registry.post(UPLOAD, files=files, headers=await token_of(Role.PUBLISHER))

    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert "submitting 51 skills at once requires signing in" in refused.json()["detail"]
    assert taken.json()["count"] == MAX_ANONYMOUS_SKILLS + 1


async def test_another_branch_of_what_is_published_takes_an_owner_or_a_reviewer(
    registry: Registry,
) -> None:
    ada, rae = await token_of(Role.PUBLISHER), await token_of(Role.REVIEWER)
    url = "https://github.com/ada/notes"

    async def submit(who: dict[str, str], ref: str = "") -> Response:
        asked = {"repoUrl": url, "skillPath": "skills/tidy", "ref": ref}
        return await registry.post("/api/v1/submissions", json=asked, headers=who)

    own_branch = await submit({})
    early = await submit({}, "early")  # nothing is published yet
    await put_back(registry, own_branch.json()["submissionId"], slug="ada/notes/tidy")
    refused = [await submit(who, "v2") for who in ({}, ada)]
    by_reviewer = await submit(rae, "v2")
    await add_owner(namespace_of(git_source(url)), "ada", actor="cyd")
    by_owner = await submit(ada, "v3")

    assert [answer.status_code for answer in (own_branch, early)] == [201, 201]
    assert [answer.status_code for answer in refused] == [403, 403]
    assert "only the owners of ada or a reviewer" in refused[0].json()["detail"]
    assert [answer.status_code for answer in (by_reviewer, by_owner)] == [201, 201]


@pytest.mark.parametrize("published", ["", "release"])
async def test_a_stranger_publishes_no_other_ref_in_any_spelling_or_by_a_retry(
    registry: Registry, published: str
) -> None:
    other = "old" if published == "" else ""
    base = {"repoUrl": "https://github.com/ada/notes", "ref": other}
    first = await registry.post(
        SUBMISSIONS, json={**base, "ref": published, "skillPath": "skills/tidy"}
    )
    early = await registry.post(SUBMISSIONS, json={**base, "skillPath": "skills/tidy"})
    await put_back(registry, first.json()["submissionId"], slug="ada/notes/tidy")
    early_id = early.json()["submissionId"]
    await put_back(registry, early_id, slug=None)

    whole = {
        spelling: await registry.post(SUBMISSIONS, json={**base, **spelling_of})
        for spelling, spelling_of in {
            "plain": {"skillPath": "skills/tidy"},
            "dots": {"skillPath": "./skills//tidy/"},
            "host": {"skillPath": "skills/tidy", "repoUrl": "https://GitHub.com:443/Ada/notes.git"},
            "page": {"repoUrl": f"https://github.com/ada/notes/tree/{other or 'main'}/skills/tidy"},
        }.items()
    }
    sets = [
        await registry.post(SUBMISSIONS, json={**base, **several})
        for several in (
            {"skills": [{"name": "tidy", "path": "./skills/../skills/tidy"}]},
            {"skillPath": "skills", "skills": [{"name": "tidy", "path": "tidy"}]},
        )
    ]
    retried = await registry.post(f"{SUBMISSIONS}/{early_id}/retry")
    same = await registry.post(
        SUBMISSIONS, json={**base, "ref": published, "skillPath": "skills/tidy"}
    )

    assert {name: one.status_code for name, one in whole.items()} == dict.fromkeys(whole, 403)
    assert [one.status_code for one in sets] == [422, 422]
    assert "can publish another branch or tag" in sets[0].json()["detail"]
    assert (retried.status_code, retried.json()["code"]) == (403, "not_allowed")
    assert same.status_code == 200


async def test_a_retry_of_another_ref_is_left_to_owners_and_reviewers(registry: Registry) -> None:
    rae = await token_of(Role.REVIEWER)
    asked = {"repoUrl": "https://github.com/ada/notes", "skillPath": "skills/tidy"}
    old = (await registry.post(SUBMISSIONS, json={**asked, "ref": "old"})).json()["submissionId"]
    new = (await registry.post(SUBMISSIONS, json=asked)).json()["submissionId"]
    await put_back(registry, new, slug="ada/notes/tidy")
    await put_back(registry, old, slug="ada/notes/tidy")

    by_stranger = await registry.post(f"{SUBMISSIONS}/{old}/retry")
    by_reviewer = await registry.post(f"{SUBMISSIONS}/{old}/retry", headers=rae)

    assert (by_stranger.status_code, by_reviewer.status_code) == (403, 200)


async def test_nobody_looks_into_a_repo_of_an_owned_namespace_or_of_a_block(
    registry: Registry, git_server: GitServer, tmp_path: Path
) -> None:
    secret = git_server.serve_repo(a_skill_folder(tmp_path / "one").parent, "ada/secret")
    banned = git_server.serve_repo(a_skill_folder(tmp_path / "two").parent, "eve/banned")
    ada = await token_of(Role.PUBLISHER)
    await add_owner(namespace_of(git_source(secret)), "ada", actor="cyd")
    await block(source_subject(git_source(banned)), reason="stolen", actor="cyd")

    by_stranger = [
        await registry.post(f"{SUBMISSIONS}{path}", json={"repoUrl": secret})
        for path in ("", "/discover")
    ]
    of_block = [
        await registry.post(f"{SUBMISSIONS}{path}", json={"repoUrl": banned})
        for path in ("", "/discover")
    ]
    nobody_was_asked = not git_server.asked
    by_owner = await registry.post(f"{SUBMISSIONS}/discover", json={"repoUrl": secret}, headers=ada)

    assert [one.status_code for one in by_stranger] == [403, 403]
    assert [one.status_code for one in of_block] == [422, 422]
    assert "stolen" in of_block[1].json()["detail"]
    assert nobody_was_asked
    assert by_owner.status_code == 200


async def test_a_redirect_publishes_no_repo_of_an_owned_namespace(
    registry: Registry, git_server: GitServer, tmp_path: Path
) -> None:
    secret = git_server.serve_repo(a_skill_folder(tmp_path / "one").parent, "ada/secret")
    await token_of(Role.PUBLISHER)
    await add_owner(namespace_of(git_source(secret)), "ada", actor="cyd")

    def redirect(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", f"{secret}/info/refs?service=git-upload-pack")
        request.send_header("Content-Length", "0")
        request.end_headers()

    git_server.answers["/eve/evil"] = redirect

    answers = [
        await registry.post(f"{SUBMISSIONS}{path}", json={"repoUrl": f"{git_server.url}/eve/evil"})
        for path in ("", "/discover")
    ]

    assert [(one.status_code, one.json()["code"]) for one in answers] == [
        (422, "source_refused")
    ] * 2
    assert not [path for path in git_server.asked if path.startswith("/ada/")]


async def put_back(registry: Registry, submission_id: str, slug: str | None) -> None:
    """Let its last processing have failed, with or without a version from before."""
    stored = await get_submission(submission_id)
    assert stored
    ended = msgspec.structs.replace(stored.record, state=SubmissionState.TIER1_FAILED, slug=slug)
    await registry.env.engine.commit(write_submission(ended, [], expected=stored.revision))


async def test_names_and_files_that_lead_astray_are_refused(registry: Registry) -> None:
    names = (
        "../SKILL.md", "a/../../SKILL.md", "a\\SKILL.md", "a/.git/hooks/x", "/", "a//b",
        "a/\u202eSKILL.md", "x" * 300, "skill.exe", "SKILL.md.zip",
    )  # fmt: skip

    answers = {
        name: await registry.post(UPLOAD, files=[("files", (name, MANIFEST))]) for name in names
    }

    codes = {name: (one.status_code, one.json()["code"]) for name, one in answers.items()}
    assert codes == dict.fromkeys(names, (422, "source_refused"))
    assert (await registry.json("/submissions"))["total"] == 0


async def test_forms_that_are_none_are_refused(registry: Registry) -> None:
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nabc'

    answers = [
        await registry.post(UPLOAD),
        await registry.post(UPLOAD, content=b"x", headers=form),
        await registry.post(UPLOAD, content=part, headers=form),
        await registry.post(UPLOAD, data={"files": "x"}, files=[("other", ("y", b""))]),
        await registry.post(UPLOAD, content=b"x", headers={"Content-Type": "multipart/form-data"}),
    ]
    other = await registry.post(UPLOAD, json={"files": []})
    empty = await registry.post(UPLOAD, files=[("files", ("", b""))])
    large = await registry.post(
        UPLOAD, content=b"x", headers={**form, "Content-Length": str(2 * MAX_SOURCE_BYTES)}
    )

    assert [answer.status_code for answer in answers] == [400] * len(answers)
    assert (other.status_code, other.json()["code"]) == (415, "wrong_media_type")
    assert (empty.status_code, empty.json()["code"]) == (400, "invalid_input")
    assert (large.status_code, large.json()["code"]) == (413, "too_large")


async def test_only_some_are_looked_through_at_once(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submit_skills._uploads, "in_all", 0)

    answer = await registry.post(UPLOAD, files=[("files", ("a/SKILL.md", MANIFEST))])

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")


async def test_one_visitor_looks_at_one_repo_at_a_time_and_keeps_nobody_from_handing_in(
    registry: Registry,
) -> None:
    files = [("files", ("a/SKILL.md", MANIFEST))]
    with submit_skills._looks.held_by("address 127.0.0.1"):
        again = await registry.post(
            "/api/v1/submissions/discover", json={"repoUrl": "https://github.com/ada/notes"}
        )
        upload = await registry.post(UPLOAD, files=files)
    with submit_skills._uploads.held_by("address 127.0.0.1"):
        second = await registry.post(UPLOAD, files=files)
        of_another = await registry.post(
            UPLOAD, files=files, headers=await token_of(Role.PUBLISHER)
        )

    assert [one.status_code for one in (again, upload, second, of_another)] == [429, 201, 429, 201]
    assert "at most 1 at a time" in again.json()["detail"]


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"unowned_uploads_per_day": 2}, "2 uploads for each visitor"),
        ({"unowned_upload_bytes_per_day": 2 * len(MANIFEST) + 10}, "bytes for each visitor"),
        ({"unowned_namespace_bytes_per_day": 2 * len(MANIFEST) + 10}, "bytes in total"),
    ],
    ids=["uploads", "bytes of one", "bytes of all"],
)
async def test_uploads_to_a_namespace_of_nobody_have_a_daily_quota(
    bound: WorkerEnv, clock: ManualClock, limit: dict[str, int], words: str
) -> None:
    env = replace(bound, settings=msgspec.structs.replace(bound.settings, **limit))
    files = [("files", ("tidy-notes/SKILL.md", MANIFEST))]
    async with open_registry(env) as registry:
        ada, rae = await token_of(Role.PUBLISHER), await token_of(Role.REVIEWER)

        taken = [await registry.post(UPLOAD, files=files) for _ in range(2)]
        refused = await registry.post(UPLOAD, files=files)
        own = await registry.post(UPLOAD, files=files, headers=ada)
        operator = await registry.post(
            UPLOAD, files=files, data={"namespace": "@local"}, headers=rae
        )
        clock.advance(days=1)
        tomorrow = await registry.post(UPLOAD, files=files)

    assert [answer.status_code for answer in taken] == [201, 200]
    assert refused.status_code == 429
    assert words in refused.json()["detail"]
    assert "sign in and upload to your own namespace" in refused.json()["detail"]
    assert 0 < int(refused.headers["retry-after"]) <= 24 * 3600
    assert own.status_code == 201
    assert operator.status_code == 200
    assert tomorrow.status_code == 200
