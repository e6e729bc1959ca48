"""Who reads slowly holds a piece and no more, and only so many downloads at once."""

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from tests.clocks import ManualClock
from tests.unit.web.api_cast import Registry, open_registry, token_of
from tests.unit.web.pages_cast import FILES, put_skill
from vskill_platform.engines.ports import Put
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.install_store import get_installs
from vskill_platform.stores.skill_store import get_archive, get_versions
from vskill_platform.web.skills.downloads import DOWNLOADS, PIECE_BYTES

SLUG = "ada/notes/tidy"
DOWNLOAD = f"/skills/{SLUG}/download"
NOISE = random.Random(1).randbytes(5 * PIECE_BYTES)


@pytest.fixture
async def registry(bound: WorkerEnv, tmp_path: Path) -> AsyncIterator[Registry]:
    await put_skill(bound, tmp_path, SLUG, files={**FILES, "noise.bin": NOISE})
    async with open_registry(bound) as opened:
        yield opened


class SlowReader:
    """A download of which piece after piece is taken when somebody says so."""

    def __init__(self, registry: Registry, path: str) -> None:
        self._pieces: asyncio.Queue[Any] = asyncio.Queue(maxsize=1)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
            "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": b"", "headers": [(b"host", b"registry")], "client": ("127.0.0.1", 1),
            "server": ("registry", 80),
        }  # fmt: skip
        app = cast("Any", registry.app)
        self.task = asyncio.create_task(app(scope, self._receive, self._pieces.put))

    async def _receive(self) -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def next(self) -> Any:
        async with asyncio.timeout(20):
            return await self._pieces.get()


async def test_an_archive_leaves_in_pieces(registry: Registry) -> None:
    (version,) = await get_versions(SLUG)
    archive = await get_archive(version.archive_sha256)
    reader = SlowReader(registry, DOWNLOAD)

    head = await reader.next()
    pieces = [await reader.next()]
    while pieces[-1]["more_body"]:
        pieces.append(await reader.next())
    await reader.task

    headers = dict(head["headers"])
    assert headers[b"content-type"] == b"application/gzip"
    assert b"".join(piece["body"] for piece in pieces) == archive
    assert int(headers[b"content-length"]) == len(archive or b"")
    assert max(len(piece["body"]) for piece in pieces) == PIECE_BYTES
    assert DOWNLOADS.count == 0


@pytest.mark.parametrize("path", [DOWNLOAD, f"/skills/{SLUG}/raw/noise.bin"])
async def test_one_visitor_downloads_so_much_at_once(
    registry: Registry, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DOWNLOADS, "patience", timedelta(milliseconds=1))
    readers = [SlowReader(registry, path) for _ in range(DOWNLOADS.each)]
    heads = [await reader.next() for reader in readers]

    refused = await registry.get(path)
    for reader in readers:
        reader.task.cancel()
    await asyncio.wait([reader.task for reader in readers])
    taken = await registry.get(path)

    assert {head["status"] for head in heads} == {200}
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert taken.status_code == 200
    assert DOWNLOADS.count == 0


async def test_more_downloads_wait_for_their_turn(registry: Registry) -> None:
    readers = [SlowReader(registry, DOWNLOAD) for _ in range(DOWNLOADS.each)]
    heads = [await reader.next() for reader in readers]
    waiting = [asyncio.create_task(registry.get(DOWNLOAD)) for _ in range(3 * DOWNLOADS.each)]
    while len(DOWNLOADS._waiting) < len(waiting):
        await asyncio.sleep(0)

    for reader in readers:
        reader.task.cancel()
    answers = await asyncio.gather(*waiting)

    assert {head["status"] for head in heads} == {200}
    assert {answer.status_code for answer in answers} == {200}
    assert DOWNLOADS.count == 0
    assert not DOWNLOADS._waiting


async def installs() -> int:
    return (await get_installs(SLUG)).total


@pytest.mark.parametrize("path", [DOWNLOAD, f"/api/v1/skills/{SLUG}/download"])
async def test_a_download_counts_as_an_install_once_a_day_for_each_visitor(
    registry: Registry, clock: ManualClock, path: str
) -> None:
    first = await registry.get(path)
    await registry.get(path)
    await registry.get(f"{path}?version=1.0.0")
    after_one_visitor = await installs()
    ben = await token_of(Role.READER)
    await registry.get(path, headers=ben)
    after_two_visitors = await installs()
    clock.advance(days=1)
    await registry.get(path)
    page = await registry.get(f"/skills/{SLUG}", headers={"Accept": "text/html"})

    assert first.status_code == 200
    assert (after_one_visitor, after_two_visitors, await installs()) == (1, 2, 3)
    assert "<dt>Installs</dt><dd>3</dd>" in page.text


async def test_what_is_no_whole_download_is_no_install(registry: Registry) -> None:
    archive = await registry.get(DOWNLOAD)
    etag = archive.headers["etag"]
    before = await installs()

    other = await token_of(Role.READER)
    head = await registry.client.head(DOWNLOAD, headers=other)
    known = await registry.get(DOWNLOAD, headers={**other, "If-None-Match": etag})
    part = await registry.get(DOWNLOAD, headers={**other, "Range": "bytes=0-9"})
    file = await registry.get(f"/skills/{SLUG}/raw/SKILL.md", headers=other)

    assert (head.status_code, known.status_code, file.status_code) == (200, 304, 200)
    assert part.status_code == 200  # ranges are not supported
    assert (before, await installs()) == (1, 1)


async def test_a_download_that_cannot_be_counted_is_a_download(
    registry: Registry, logs: list[Any]
) -> None:
    await registry.env.engine.commit([Put(f"installs:{SLUG}", b"{damaged")])

    answer = await registry.get(DOWNLOAD)

    assert answer.status_code == 200
    assert answer.content
    assert [event["slug"] for event in logs if event["event"] == "install not counted"] == [SLUG]
