"""A private skill on every page and in every response: visitors without access get a 404."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.casts import a_skill_folder
from tests.people import a_user, let_in
from tests.pipeline.conftest import Journey, Process
from tests.unit.web.route_access import EVERYBODY, ROUTES
from vskill_platform.access.namespaces import add_member
from vskill_platform.catalogue.catalogue import open_catalogue
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.take_upload import take_folder
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv

HIDDEN, OPEN, ABSENT = "hushed-notes", "plainly-told", "absent-notes"
#: What is there, and what is not, in the same number of letters.
SLUG, NO_SLUG = f"@ada/{HIDDEN}", f"@ada/{ABSENT}"
NO_SUBMISSION = "sub_00000000000" + "0" * 16
#: Requests of a visitor without access; `X` stands for the slug.
PLACES = [
    "/skills/X", "/skills/X/files", "/skills/X/files/SKILL.md", "/skills/X/raw/SKILL.md",
    "/skills/X/versions", "/skills/X/diff", "/skills/X/download", "/skills/X/security",
    "/skills/X/badge.svg",
    "/api/v1/skills/X", "/api/v1/skills/X/badge", "/api/v1/skills/X/download",
    "/api/v1/skills/X/files",
    "/api/v1/skills/X/repo-health", "/api/v1/skills/X/security", "/api/v1/skills/X/versions",
    "/api/v1/skills/X/versions/1.0.0", "/api/v1/skills/X/versions/diff",
    "/artifacts/X/1.0.0.zip", "/apm/v1/packages/X/versions",
    "/apm/v1/packages/X/versions/1.0.0/download",
]  # fmt: skip
SUBMISSION_PLACES = ["/submissions/X", "/api/v1/submissions/X", "/live/submissions/X"]
#: Where everything is listed and counted.
LISTS = [
    route.removeprefix("GET ")
    for route, who in ROUTES.items()
    if route.startswith("GET ") and who == EVERYBODY and not re.search("{|/live/|/stream$", route)
]
#: Where it is looked for: `N` stands for the name.
SEARCHES = [
    "/?q=N", "/queue?q=N", "/api/v1/skills/search?q=N", "/api/v1/skills/suggest?q=N",
    "/api/v1/skills?q=N", "/api/v1/submissions?q=N", "/api/v1/submissions/search?q=N",
    "/api/v1/blocklist/check?name=N", "/api/v1/blocklist/check?name=@ada/N",
    "/api/v1/skills/N",
]  # fmt: skip
CHANGING = re.compile(r'req_[0-9a-f]{20}|name="csrf_token" value="[0-9a-f]{64}"')


async def published(process: Process, folder: Path, *, is_private: bool) -> Journey:
    upload = await take_folder(folder, namespace="@ada")
    journey = await process(
        SubmissionRequest(source=upload.source, upload=upload.content, is_private=is_private),
        submitter="ada",
    )
    assert journey.submission.state is SubmissionState.PUBLISHED
    return journey


@pytest.fixture
async def hidden(process: Process, tmp_path: Path) -> Journey:
    """One private skill and one public skill."""
    await published(process, a_skill_folder(tmp_path, OPEN), is_private=False)
    return await published(process, a_skill_folder(tmp_path, HIDDEN), is_private=True)


@pytest.fixture
async def client(hidden: Journey, bound: WorkerEnv) -> AsyncIterator[AsyncClient]:
    async with open_catalogue(bound) as catalogue:
        await catalogue.wait_until_ready()
        assert await catalogue.wait_until(
            await bound.engine.revision(), within=timedelta(minutes=1)
        )
        transport = ASGITransport(cast("Any", an_app(bound, catalogue=catalogue)))
        async with AsyncClient(transport=transport, base_url="http://registry") as client:
            yield client


async def look(client: AsyncClient, path: str) -> tuple[int, str]:
    answer = await client.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
    return answer.status_code, CHANGING.sub("", answer.text)


async def count(client: AsyncClient) -> int:
    return len((await client.get("/api/v1/skills")).json()["skills"])


@pytest.mark.parametrize("role", [None, Role.READER], ids=["unknown", "somebody else"])
async def test_a_private_skill_is_answered_like_a_missing_one(
    client: AsyncClient, hidden: Journey, role: Role | None
) -> None:
    if role:
        await let_in(client, await a_user(role))
    asked = [(place, SLUG, NO_SLUG) for place in PLACES]
    asked += [(place, hidden.submission.id, NO_SUBMISSION) for place in SUBMISSION_PLACES]

    told = []
    for place, there, absent in asked:
        status, text = await look(client, place.replace("X", there))
        other_status, other_text = await look(client, place.replace("X", absent))
        texts = (
            text.replace(there, "X").replace(HIDDEN, "N"),
            other_text.replace(absent, "X").replace(ABSENT, "N"),
        )
        if (status, texts[0]) != (other_status, texts[1]) or status < 400:
            told.append(f"{place}: {status} and {other_status}")

    assert told == []


async def test_no_list_and_no_count_knows_of_it(client: AsyncClient) -> None:
    pages = {path: await look(client, path) for path in LISTS}

    assert [path for path, (_, text) in pages.items() if HIDDEN in text] == []
    assert {status for status, _ in pages.values()} <= {200, 400, 404}
    assert OPEN in pages["/"][1]
    assert await count(client) == 1


async def test_no_search_finds_it(client: AsyncClient) -> None:
    told = []
    for place in SEARCHES:
        found = await look(client, place.replace("N", HIDDEN))
        nothing = await look(client, place.replace("N", ABSENT))
        if (found[0], found[1].replace(HIDDEN, ABSENT)) != nothing:
            told.append(place)

    assert told == []
    assert OPEN in (await look(client, f"/?q={OPEN}"))[1]


@pytest.mark.parametrize("who", ["owner", "member", "reviewer"])
async def test_namespace_members_see_every_page_of_a_private_skill(
    client: AsyncClient, hidden: Journey, who: str
) -> None:
    ada = await a_user(name="ada")
    ben = await a_user(Role.READER)
    rae = await a_user(Role.REVIEWER)
    await add_member("@ada", "ben", actor="ada")
    await let_in(client, {"owner": ada, "member": ben, "reviewer": rae}[who])

    unseen = [
        path
        for place in PLACES
        if place not in {"/skills/X/diff", "/api/v1/skills/X/versions/diff"}  # there is one version
        and (await client.get(path := place.replace("X", SLUG))).status_code != 200
    ]
    submission = await client.get(f"/api/v1/submissions/{hidden.submission.id}")

    assert unseen == []
    assert submission.status_code == 200
    assert await count(client) == 2
