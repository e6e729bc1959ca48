"""No protocol serves a blocked skill, or a private one to visitors without access.

Not from a cache either, and not by a signed URL.
"""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response

from tests.apps import an_app
from tests.casts import a_skill_folder
from tests.pipeline.conftest import Process
from tests.pipeline.test_private_protocols import CLAWHUB, LISTS, READS, SENT, named
from tests.pipeline.test_private_web import HIDDEN, OPEN, published
from tests.unit.web.api_cast import token_of
from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.model.block import BlockKind, BlockSubject
from vskill_platform.model.user import Role
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.protocols.git.protocol import packet

#: In a file of the skill; no page about a blocked skill may contain it.
TEXT = "Sort the lilac envelopes."
INDEX = ".well-known/agent-skills/index.json"
JSON = {"Content-Type": "application/json", "Accept": "*/*"}


@pytest.fixture
async def catalogue(bound: WorkerEnv) -> AsyncIterator[Catalogue]:
    async with open_catalogue(bound) as catalogue:
        await catalogue.wait_until_ready()
        yield catalogue


@pytest.fixture
async def client(
    process: Process, tmp_path: Path, bound: WorkerEnv, catalogue: Catalogue
) -> AsyncIterator[AsyncClient]:
    for name, is_private in ((OPEN, False), (HIDDEN, True)):
        folder = a_skill_folder(tmp_path, name, plan_dot_md=TEXT)
        await published(process, folder, is_private=is_private)
    await wait(bound, catalogue)
    transport = ASGITransport(cast("Any", an_app(bound, catalogue=catalogue)))
    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        yield client


async def wait(env: WorkerEnv, catalogue: Catalogue) -> None:
    assert await catalogue.wait_until(await env.engine.revision(), within=timedelta(minutes=1))


def is_content(answer: Response) -> bool:
    """Return whether an answer is, or stands for, a file, an archive or a pack of the skill."""
    kind = answer.headers.get("content-type", "")
    is_archive = answer.status_code == 200 and bool(re.search("zip|gzip|octet|x-git", kind))
    return answer.status_code in {206, 304} or is_archive or TEXT in answer.text


async def ask_all(client: AsyncClient, name: str, tags: dict[str, str]) -> dict[str, Response]:
    """Ask for everything, with the tags of earlier answers, as HEAD, and for a range."""
    found: dict[str, Response] = {}
    # The report of a blocked skill stays visible.
    reads = [path for path in READS if "/scan/download/" not in path]
    for path in (named(path, f"@ada/{name}", name) for path in reads):
        agent = CLAWHUB if "clawhub" in path else {}
        found[path] = await client.get(path, headers=agent)
        found[f"HEAD {path}"] = await client.head(path, headers=agent)
        found[f"Range {path}"] = await client.get(path, headers={**agent, "Range": "bytes=0-99"})
        if tag := tags.get(path):
            found[f"ETag {path}"] = await client.get(path, headers={**agent, "If-None-Match": tag})
    for number, (path, body) in enumerate(SENT):
        sent = named(msgspec.json.encode(body).decode(), f"@ada/{name}", name)
        url = named(path, f"@ada/{name}", name)
        found[f"{number} {path}"] = await client.post(url, content=sent, headers=JSON)
    return found


async def fetch_pack(client: AsyncClient, repo: str, commit: str) -> Response:
    lines = [b"command=fetch", None, b"no-progress", b"want " + commit.encode(), b"done"]
    body = b"".join(b"0001" if line is None else packet(line + b"\n") for line in lines)
    return await client.post(
        f"{repo}/git-upload-pack", content=body + b"0000", headers={"Git-Protocol": "version=2"}
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [OPEN, HIDDEN], ids=["public", "private"])
async def test_a_block_ends_every_way_to_the_content(
    client: AsyncClient, bound: WorkerEnv, catalogue: Catalogue, name: str
) -> None:
    token = await token_of(Role.PUBLISHER, name="ada")
    client.headers.update(token)
    slug = f"@ada/{name}"
    before = await ask_all(client, name, {})
    tags = {
        path: found.headers["etag"] for path, found in before.items() if "etag" in found.headers
    }
    (entry,) = (await client.get(f"/s/{slug}/{INDEX}")).json()["skills"]
    market = (await client.get(f"/s/{slug}/.claude-plugin/marketplace.json")).json()
    source = market["plugins"][0]["source"]
    repo, signed = source["url"].removeprefix("http://registry"), entry["url"]
    del client.headers["Authorization"]  # signed URLs need none
    pack = await fetch_pack(client, repo, source["sha"])
    zipped = await client.get(signed)
    client.headers.update(token)
    digest = (await client.get(f"/api/v1/skills/{slug}")).json()["skill"]["sha"]

    await block(BlockSubject(BlockKind.DIGEST, digest), reason="it steals", actor="cyd")
    await wait(bound, catalogue)
    after = await ask_all(client, name, tags)
    lists = {path: (await client.get(path, headers=CLAWHUB)).text for path in LISTS}
    del client.headers["Authorization"]
    late = [
        await client.get(signed),
        await client.head(signed),
        await client.get(signed, headers={"If-None-Match": f'"{entry["digest"][7:]}"'}),
        await client.get(signed, headers={"Range": "bytes=0-99"}),
        await client.get(f"{repo}/info/refs?service=git-upload-pack"),
        await fetch_pack(client, repo, source["sha"]),
    ]

    assert (b"PACK" in pack.content, zipped.status_code) == (True, 200)
    assert sum(is_content(found) for found in before.values()) > 10
    assert [path for path, found in after.items() if is_content(found)] == []
    assert [found.status_code for found in late] == [403] * len(late)
    named_in = {path for path, text in lists.items() if f'"{name}"' in text or f"{slug}<" in text}
    assert named_in <= {"/api/v1/rejections", "/feeds/blocked.xml"}


@pytest.mark.slow
async def test_a_skill_that_becomes_private_is_gone_for_strangers(
    client: AsyncClient, bound: WorkerEnv, catalogue: Catalogue, process: Process, tmp_path: Path
) -> None:
    before = await ask_all(client, OPEN, {})
    tags = {path: found.headers.get("etag", "") for path, found in before.items()}
    lists = {path: await client.get(path, headers=CLAWHUB) for path in LISTS}
    kept = {path: found.headers.get("etag", "") for path, found in lists.items()}

    await published(process, tmp_path / OPEN, is_private=True)
    await wait(bound, catalogue)
    after = await ask_all(client, OPEN, tags)
    left = {
        path: await client.get(path, headers={**CLAWHUB, "If-None-Match": kept[path]})
        for path in LISTS
    }

    assert sum(is_content(found) for found in before.values()) > 10
    assert any(OPEN in found.text for found in lists.values())
    assert [path for path, found in after.items() if is_content(found)] == []
    assert [path for path, found in left.items() if OPEN in found.text] == []
    stale = [path for path, found in left.items() if found.status_code == 304]
    assert [path for path in stale if OPEN in lists[path].text] == []
