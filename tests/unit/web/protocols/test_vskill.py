"""The requests of the original vskill client, replayed, and the fields that it reads."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.casts import a_skill_folder
from tests.clocks import NOON
from tests.git_server import GitServer
from tests.unit.web.api_cast import Registry, open_registry, token_of
from tests.unit.web.pages_cast import FILES, change_skill, put_skill, put_submission
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.stores.db import bound_env, commit, get_now
from vskill_platform.stores.quota_store import get_quota, write_quota
from vskill_platform.stores.stream_subscription_store import ANONYMOUS, MAX_ANONYMOUS_BYTES

pytestmark = pytest.mark.usefixtures("one_loop")
_FILE = Path(__file__).parents[3] / "data/vskill_requests.json"
_FIELD = re.compile(r"(\w+)(\[\])?")


class Recorded(msgspec.Struct, frozen=True):
    command: str
    request: str
    #: Fields that the client reads; with `=`, the value that it must find.
    reads: list[str]
    body: Any = None
    status: int = 200
    agent: str = "vskill-cli"
    token: bool = False


RECORDED = msgspec.json.decode(_FILE.read_bytes(), type=list[Recorded])


@pytest.fixture
async def registry(git_server: GitServer) -> AsyncIterator[Registry]:
    async with open_registry(bound_env()) as opened:
        yield opened


def read_field(answer: Any, path: str) -> str:
    """Return the field at a path, of the first item of each list; it must be there."""
    for part in path.split("."):
        found = _FIELD.fullmatch(part)
        assert found, path
        assert found[1] in answer, f"{path} is missing in {answer}"
        answer = answer[found[1]]
        if found[2]:
            assert answer, f"{path} is empty"
            answer = answer[0]
    return str(answer)


async def test_every_recorded_request_is_answered_with_the_fields_that_are_read(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, files={**FILES, "new.md": "new\n"})
    token = await token_of(Role.READER, name="ben")

    for recorded in RECORDED:
        method, _, path = recorded.request.partition(" ")
        headers = {"User-Agent": recorded.agent, **(token if recorded.token else {})}
        body = {"json": recorded.body} if recorded.body else {}
        answer = await registry.ask(method, path, headers=headers, **body)

        assert answer.status_code == recorded.status, (recorded.command, answer.text)
        for field in recorded.reads:
            name, _, value = field.partition("=")
            found = read_field(answer.json(), name)
            assert not value or found == value, (recorded.command, field, found)


async def test_repositories_are_submitted_in_bulk(
    registry: Registry, git_server: GitServer, tmp_path: Path
) -> None:
    folder = tmp_path / "repo"
    for name in ("tidy-notes", "plot-bars"):
        a_skill_folder(folder / "skills", name)
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "README.md").write_text("nothing here")
    good = git_server.serve_repo(folder, "ada/good")
    empty = git_server.serve_repo(tmp_path / "none", "ada/none")

    done = await registry.post(
        "/api/v1/submissions/bulk", json={"repos": [good, empty, "no repo", good]}
    )
    again = await registry.post("/api/v1/submissions/bulk", json={"repoUrls": [good]})
    nothing = await registry.post("/api/v1/submissions/bulk", json={})

    assert done.status_code == 200, done.text
    assert done.json()["summary"] == {"submitted": 1, "skipped": 1, "errors": 1}
    assert [item["status"] for item in done.json()["results"]] == ["submitted", "skipped", "error"]
    assert len(done.json()["results"][0]["submissions"]) == 2
    assert again.json()["summary"] == {"submitted": 0, "skipped": 1, "errors": 0}
    assert nothing.status_code == 400


async def test_a_name_that_several_skills_have_is_not_guessed(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, "ben/notes/tidy", publisher="github.com/ben")
    entries = [{"name": "tidy"}, {"name": "tidy", "author": "ben"}, {"name": ""}]

    found = await registry.post("/api/v1/skills/lookup-by-name", json={"entries": entries})

    assert [item["slug"] for item in found.json()["results"]] == [None, "ben/notes/tidy", None]


async def test_private_skills_are_in_no_list(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path, is_private=True)
    lookup = {"entries": [{"name": "tidy"}]}

    for path in ("authors", "audits", "rejections", "skills/check-source?url=ada/notes"):
        assert "tidy" not in (await registry.get(f"/api/v1/{path}")).text
    for path in ("authors/ada", "packages/ada/notes/tidy/latest"):
        assert (await registry.get(f"/api/v1/{path}")).status_code == 404
    found = await registry.post("/api/v1/skills/lookup-by-name", json=lookup)
    assert found.json()["results"][0]["slug"] is None


async def test_badges_are_found_by_slug_with_or_without_a_kind(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)

    for path in ("ada/notes/tidy.svg", "ada/notes/tidy/trust.svg", "ada/notes/tidy/1.0.0.svg"):
        answer = await registry.get(f"/api/v1/badges/{path}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert (await registry.get("/api/v1/badges/no/such.svg")).status_code == 404
    assert (await registry.get("/api/v1/badges/ada/notes/tidy")).status_code == 404


async def test_rejections_say_why(registry: Registry) -> None:
    await put_submission(registry.env, SubmissionState.TIER1_FAILED, reason="It steals.")

    listed = await registry.json("/rejections")

    assert listed["total"] == 1
    assert listed["rejections"][0]["reason"] == "It steals."
    assert listed["rejections"][0]["state"] == "TIER1_FAILED"


@asynccontextmanager
async def listening(
    registry: Registry, path: str, query: bytes = b"", headers: dict[str, str] | None = None
) -> AsyncIterator[Any]:
    """Open a stream; yield what was heard so far and wait for more with `get`."""
    sent = {"host": "registry", **(headers or {})}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query,
        "root_path": "",
        "headers": [(k.lower().encode(), v.encode()) for k, v in sent.items()],
        "client": ("127.0.0.1", 1), "server": ("registry", 80),
    }  # fmt: skip
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def receive() -> Any:
        await asyncio.Event().wait()

    app: Any = registry.app
    stream = asyncio.create_task(app(scope, receive, heard.put))
    try:
        async with asyncio.timeout(60):
            start, hello = await heard.get(), await heard.get()
            assert start["status"] == 200
            assert b"listening" in hello["body"]
            yield heard
    finally:
        stream.cancel()
        await asyncio.wait([stream])


async def test_a_changed_submission_is_an_event_of_the_stream(registry: Registry) -> None:
    async with listening(registry, "/api/v1/submissions/stream") as heard:
        sent = await put_submission(registry.env, SubmissionState.REJECTED, reason="It steals.")
        event = await heard.get()

    assert b"event: scan_complete" in event["body"]
    assert sent.id.encode() in event["body"]


async def test_a_new_version_and_a_block_are_events_for_who_watches_a_skill(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    query = b"skills=sk_published_ada/notes/tidy,no/such/skill"

    async with listening(registry, "/api/v1/skills/stream", query) as heard:
        await put_skill(registry.env, tmp_path, files={**FILES, "new.md": "new"})
        await put_submission(registry.env, SubmissionState.PUBLISHED)
        updated = await heard.get()
        down = TakenDown(reason="it steals", by="cyd", at=NOON)
        await change_skill(registry.env, "ada/notes/tidy", down=down)
        await put_submission(registry.env, SubmissionState.BLOCKED)
        gone = await heard.get()
    nothing = await registry.get("/api/v1/skills/stream")

    assert b"event: skill.updated" in updated["body"]
    assert b'"version":"1.0.1"' in updated["body"]
    assert b"event: gone" in gone["body"]
    assert nothing.status_code == 400


WATCHED = b"skills=sk_published_ada/notes/tidy"


def id_of(event: dict[str, Any]) -> str:
    found = re.search(r"^id: (.+)$", event["body"].decode().replace("\r\n", "\n"), re.MULTILINE)
    assert found, event
    return found[1]


def version_of(event: dict[str, Any]) -> str:
    found = re.search(r'"version":"([^"]+)"', event["body"].decode())
    assert found, event
    return found[1]


async def test_a_client_that_comes_back_gets_the_versions_that_it_missed_in_order(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    async with listening(registry, "/api/v1/skills/stream", WATCHED) as heard:
        await put_skill(registry.env, tmp_path, files={**FILES, "new.md": "1"})
        await put_submission(registry.env, SubmissionState.PUBLISHED)
        last = id_of(await heard.get())
    for text in ("2", "3"):
        await put_skill(registry.env, tmp_path, files={**FILES, "new.md": text})

    again = {"Last-Event-ID": last}
    async with listening(registry, "/api/v1/skills/stream", WATCHED, again) as heard:
        missed = [await heard.get()]
        while version_of(missed[-1]) != "1.0.3":
            missed.append(await heard.get())
    caught_up = {"Last-Event-ID": id_of(missed[-1])}
    async with listening(registry, "/api/v1/skills/stream", WATCHED, caught_up) as heard:
        await put_skill(registry.env, tmp_path, files={**FILES, "new.md": "4"})
        await put_submission(registry.env, SubmissionState.PUBLISHED)
        following = await heard.get()

    # One that it has already may be sent again, before the others.
    assert [version_of(event) for event in missed][-2:] == ["1.0.2", "1.0.3"]
    assert version_of(following) == "1.0.4"


async def test_hidden_and_unknown_skills_look_the_same_to_a_returning_client(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, is_private=True)
    async with listening(registry, "/api/v1/submissions/stream") as heard:
        await put_submission(registry.env, SubmissionState.PUBLISHED)
        last = {"Last-Event-ID": id_of(await heard.get())}

    query = WATCHED + b",no/such/skill"
    async with listening(registry, "/api/v1/skills/stream", query, last) as heard:
        events = [await heard.get(), await heard.get()]

    assert all(b"event: gone" in event["body"] for event in events)


@pytest.mark.parametrize("last", ["nonsense", "ab-1", "ab-999999999999999999999", "-"])
async def test_a_client_with_an_unknown_id_has_to_ask_again(
    registry: Registry, tmp_path: Path, last: str
) -> None:
    await put_skill(registry.env, tmp_path)

    async with listening(
        registry, "/api/v1/skills/stream", WATCHED, {"Last-Event-ID": last}
    ) as heard:
        event = await heard.get()

    assert b"event: gone" in event["body"]
    assert b"ask for the current state" in event["body"]


async def test_missed_submissions_are_sent_again(registry: Registry) -> None:
    async with listening(registry, "/api/v1/submissions/stream") as heard:
        first = await put_submission(registry.env, SubmissionState.REJECTED)
        last = id_of(await heard.get())
    second = await put_submission(registry.env, SubmissionState.REJECTED, name="other")

    again = {"Last-Event-ID": last}
    async with listening(registry, "/api/v1/submissions/stream", headers=again) as heard:
        event = await heard.get()

    assert second.id.encode() in event["body"]
    assert first.id.encode() not in event["body"]


async def test_decisions_about_own_submissions_are_for_their_submitter_alone(
    registry: Registry,
) -> None:
    ada, ben = await token_of(Role.READER, name="ada"), await token_of(Role.READER, name="ben")
    query = b"skills=usr_ada"

    async with listening(registry, "/api/v1/skills/stream", query, ada) as heard:
        sent = await put_submission(registry.env, SubmissionState.REJECTED)
        event = await heard.get()
    other = await registry.get("/api/v1/skills/stream?skills=usr_ada", headers=ben)
    nobody = await registry.get("/api/v1/skills/stream?skills=usr_ada")

    assert b"event: submission_decision" in event["body"]
    assert sent.id.encode() in event["body"]
    assert (other.status_code, nobody.status_code) == (403, 401)


async def test_a_subscription_names_skills_that_a_url_cannot(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    slugs = ["git.example/ada/group,notes/tidy", "ada/notes/tidy"]

    made = await registry.post("/api/v1/skills/stream/subscribe", json={"skillIds": slugs})
    same = await registry.post("/api/v1/skills/stream/subscribe", json={"skills": slugs[::-1]})
    query = made.json()["streamUrl"].partition("?")[2].encode()
    async with listening(registry, "/api/v1/skills/stream", query) as heard:
        await put_skill(registry.env, tmp_path, files={**FILES, "new.md": "new"})
        await put_submission(registry.env, SubmissionState.PUBLISHED)
        updated = await heard.get()
    unknown = await registry.get("/api/v1/skills/stream?subscription=sub_x")
    too_many = await registry.post(
        "/api/v1/skills/stream/subscribe", json={"skills": [f"a/b/{n}" for n in range(501)]}
    )

    assert same.json()["subscriptionId"] == made.json()["subscriptionId"]
    assert b"event: skill.updated" in updated["body"]
    assert (unknown.status_code, too_many.status_code) == (404, 400)


async def test_an_old_link_leads_to_the_page_of_the_only_skill_with_that_name(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)

    by_name = await registry.get("/api/v1/legacy-redirect/tidy")
    by_slug = await registry.get("/api/v1/legacy-redirect/ada/notes/tidy")
    await put_skill(registry.env, tmp_path, "ben/notes/tidy", publisher="github.com/ben")
    ambiguous = await registry.get("/api/v1/legacy-redirect/tidy")
    unknown = await registry.get("/api/v1/legacy-redirect/nothing")

    assert (by_name.status_code, by_name.headers["location"]) == (302, "/skills/ada/notes/tidy")
    assert by_slug.headers["location"] == "/skills/ada/notes/tidy"
    assert (ambiguous.status_code, unknown.status_code) == (404, 404)


async def test_visitors_without_an_account_cannot_fill_the_disk_with_subscriptions(
    registry: Registry,
) -> None:
    where, ben = "/api/v1/skills/stream/subscribe", await token_of(Role.READER)
    known = await registry.post(where, json={"skills": ["ada/notes/known"]})
    counted = await get_quota(ANONYMOUS, get_now().date())
    full = msgspec.structs.replace(counted.record, bytes=MAX_ANONYMOUS_BYTES)
    assert await commit([write_quota(full, expected=counted.revision)])

    refused = await registry.post(where, json={"skills": ["ada/notes/new"]})
    again = await registry.post(where, json={"skills": ["ada/notes/known"]})
    signed_in = await registry.post(where, json={"skills": ["ada/notes/new"]}, headers=ben)

    assert 0 < counted.record.bytes < 1_000
    assert [one.status_code for one in (known, refused, again, signed_in)] == [201, 429, 201, 201]
