"""A private skill over the protocols of other clients: visitors without access get a 404.

Not only the answers are compared, but also how many records are read: an answer that takes more
work for a private skill than for a missing one would reveal it by its time.
"""

import dataclasses
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response

from tests.apps import an_app
from tests.casts import a_skill_folder
from tests.pipeline.conftest import Journey, Process
from tests.pipeline.test_private_web import (
    ABSENT,
    CHANGING,
    HIDDEN,
    NO_SLUG,
    OPEN,
    published,
)
from tests.pipeline.test_private_web import SLUG as PRIVATE_SLUG
from tests.probes import ProbingEngine
from tests.unit.web.api_cast import token_of
from vskill_platform.catalogue.catalogue import open_catalogue
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv

CLAWHUB = {"User-Agent": "node"}
NO_SIGNATURE = "0" * 64
GIT_REFS = "info/refs?service=git-upload-pack"
#: Requests of a visitor without access: `SLUG` stands for the slug, `NAME` for the name.
READS = [
    "/s/SLUG/.well-known/agent-skills/index.json",
    "/s/SLUG@1.0.0/.well-known/agent-skills/index.json",
    "/s/SLUG/.well-known/skills/index.json", "/s/SLUG/.well-known/skills/NAME/SKILL.md",
    "/s/SLUG/.claude-plugin/marketplace.json", "/n/@ada/.well-known/skills/NAME/SKILL.md",
    "/.well-known/skills/NAME/SKILL.md",
    "/artifacts/SLUG/1.0.0.zip", "/artifacts/SLUG/1.0.0.zip/.well-known/agent-skills/index.json",
    f"/git/SLUG.git/{GIT_REFS}",
    "/apm/v1/packages/SLUG/versions", "/apm/v1/packages/ada/NAME/versions",
    "/apm/v1/packages/SLUG/versions/1.0.0/download", "/api/search?q=NAME",
    "/clawhub/api/v1/search?q=NAME", "/clawhub/api/v1/search?q=NAME&mode=exact",
    "/clawhub/api/v1/skills?prefix=NAME",
    "/clawhub/api/v1/skills/NAME", "/clawhub/api/v1/skills/NAME?ownerHandle=ada",
    "/clawhub/api/v1/skills/NAME/versions?ownerHandle=ada",
    "/clawhub/api/v1/skills/NAME/versions/1.0.0?ownerHandle=ada",
    "/clawhub/api/v1/skills/NAME/file?path=SKILL.md&ownerHandle=ada",
    "/clawhub/api/v1/skills/NAME/install?ownerHandle=ada",
    "/clawhub/api/v1/skills/NAME/verify?ownerHandle=ada",
    "/clawhub/api/v1/skills/NAME/moderation?ownerHandle=ada",
    "/clawhub/api/v1/skills/-/scan/download/NAME?ownerHandle=ada",
    "/clawhub/api/v1/resolve?slug=NAME&hash=" + "0" * 64 + "&ownerHandle=ada",
    "/clawhub/api/v1/download?slug=NAME&ownerHandle=ada&version=1.0.0",
    "/api/v1/skills/SLUG", "/api/v1/skills/NAME", "/api/v1/skills/SLUG/versions/1.0.0",
    "/api/v1/skills/SLUG/versions/compare?from=1.0.0&to=1.0.0",
    "/api/v1/packages/SLUG/history", "/api/v1/packages/SLUG/latest",
    "/api/v1/badges/SLUG.svg", "/api/v1/badges/SLUG/all.json",
    "/api/v1/skills/SLUG/badge?format=json",
    "/api/v1/legacy-redirect/NAME",
    "/api/v1/skills/suggest?q=NAME",
]  # fmt: skip
#: The same, but no skill is shown.
CLOSED = [
    f"/artifacts/SLUG/1.0.0.zip?signature=1-{NO_SIGNATURE}",
    f"/git/signed/1-{NO_SIGNATURE}/SLUG.git/{GIT_REFS}",
    "/api/v1/blocklist/check?name=SLUG", "/api/v1/skills/check-source?url=upload:SLUG&skill=NAME",
    "/s/@ada%2FNAME/.well-known/agent-skills/index.json", "/artifacts/@ada/../SLUG/1.0.0.zip",
    "/artifacts//SLUG/1.0.0.zip", "/git/@ada%2FNAME.git/HEAD", "/s/SLUG/../SLUG",
]  # fmt: skip
CLOSED_SENT = [
    ("/api/v1/skills/installs", {"skills": [{"skillName": "SLUG"}], "source": "cli"}),
]
SENT: list[tuple[str, Any]] = [
    ("/clawhub/api/v1/skills/-/security-verdicts",
     {"items": [{"slug": "NAME", "ownerHandle": "ada", "version": "1.0.0"}]}),
    ("/clawhub/api/v1/skills/-/scan", {"source": {"slug": "NAME", "ownerHandle": "ada"}}),
    ("/api/v1/skills/lookup-by-name", {"entries": [{"name": "NAME", "author": "@ada"}]}),
    ("/api/v1/skills/check-updates", {"skills": [{"name": "SLUG", "currentVersion": "0.1.0"}]}),
    ("/api/v1/skills/SLUG/installs", {"version": "1.0.0", "source": "cli"}),
    *(("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
      for method, params in [
          ("skills/get", {"uri": "skill://%40ada/NAME/SKILL.md"}),
          ("resources/read", {"uri": "skill://%40ada/NAME/SKILL.md"}),
          ("resources/directory/read", {"uri": "skill://%40ada/NAME"}),
          ("tools/call", {"name": "inspect_skill", "arguments": {"skill": "SLUG"}}),
          ("tools/call", {"name": "search_skills", "arguments": {"query": "NAME"}}),
      ]),
]  # fmt: skip
#: Where everything is listed.
LISTS = [
    "/.well-known/agent-skills/index.json", "/.well-known/skills/index.json",
    "/n/@ada/.well-known/agent-skills/index.json", "/n/@ada/.well-known/skills/index.json",
    "/.claude-plugin/marketplace.json", "/n/@ada/.claude-plugin/marketplace.json",
    "/api/search?q=notes", "/clawhub/api/v1/skills", "/clawhub/api/v1/trending",
    "/api/v1/authors", "/api/v1/authors/@ada", "/api/v1/audits", "/api/v1/rejections",
    "/api/v1/stats", "/api/v1/submissions/stats", "/sitemap.xml", "/feeds/new.xml",
    "/feeds/blocked.xml",
]  # fmt: skip


@pytest.fixture
def probe(bound: WorkerEnv) -> ProbingEngine:
    return ProbingEngine(bound.engine)


@pytest.fixture
async def hidden(process: Process, tmp_path: Path) -> Journey:
    """One private skill and one public skill."""
    await published(process, a_skill_folder(tmp_path, OPEN), is_private=False)
    return await published(process, a_skill_folder(tmp_path, HIDDEN), is_private=True)


@pytest.fixture
async def client(
    hidden: Journey, bound: WorkerEnv, probe: ProbingEngine
) -> AsyncIterator[AsyncClient]:
    async with open_catalogue(bound) as catalogue:
        assert await catalogue.wait_until(
            await bound.engine.revision(), within=timedelta(minutes=1)
        )
        watched = dataclasses.replace(bound, engine=cast("Any", probe))
        transport = ASGITransport(cast("Any", an_app(watched, catalogue=catalogue)))
        async with AsyncClient(transport=transport, base_url="http://registry") as client:
            yield client


def named(text: str, slug: str, name: str) -> str:
    return text.replace("SLUG", slug).replace("NAME", name)


async def answer_and_work(
    client: AsyncClient, probe: ProbingEngine, path: str, body: Any, slug: str, name: str
) -> tuple[int, str, int]:
    """Return status and text without the name, and how many records were read."""
    probe.kv.read.clear()
    url = named(path, slug, name)
    answer: Response
    if body is None:
        answer = await client.get(url, headers=CLAWHUB if "clawhub" in path else {})
    else:
        sent = named(msgspec.json.encode(body).decode(), slug, name)
        answer = await client.post(
            url, content=sent, headers={"Content-Type": "application/json", "Accept": "*/*"}
        )
    text = CHANGING.sub("", answer.text).replace(slug, "SLUG").replace(name, "NAME")
    return answer.status_code, text, len(probe.kv.read)


@pytest.mark.parametrize("role", [None, Role.READER], ids=["unknown", "somebody else"])
async def test_a_private_skill_costs_and_answers_like_a_missing_one(
    client: AsyncClient, probe: ProbingEngine, role: Role | None
) -> None:
    if role:
        client.headers.update(await token_of(role))
    asked = [*((path, None) for path in READS + CLOSED), *SENT, *CLOSED_SENT]

    told = []
    for path, body in asked:
        for slug, name in ((PRIVATE_SLUG, HIDDEN), (NO_SLUG, ABSENT)):  # caches are filled first
            await answer_and_work(client, probe, path, body, slug, name)
        there = await answer_and_work(client, probe, path, body, PRIVATE_SLUG, HIDDEN)
        absent = await answer_and_work(client, probe, path, body, NO_SLUG, ABSENT)
        if there != absent or there[0] >= 500:
            told.append((path, body, there, absent))

    assert told == []


async def test_the_same_requests_show_a_public_skill(
    client: AsyncClient, probe: ProbingEngine
) -> None:
    asked = [*((path, None) for path in READS), *SENT]

    unseen = []
    for path, body in asked:
        slug = f"@ada/{OPEN}"
        there = await answer_and_work(client, probe, path, body, slug, OPEN)
        absent = await answer_and_work(client, probe, path, body, NO_SLUG, ABSENT)
        if there[0] >= 400 or there[1] == absent[1]:
            unseen.append((path, body, there, absent))

    assert unseen == []


async def test_no_list_of_a_protocol_names_it(client: AsyncClient) -> None:
    answers = {path: await client.get(path, headers=CLAWHUB) for path in LISTS}

    assert [path for path, found in answers.items() if HIDDEN in found.text] == []
    assert {path: found.status_code for path, found in answers.items()} == dict.fromkeys(LISTS, 200)
