"""Slow downloads use little memory, and concurrent ones are limited."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.unit.web.api_cast import Registry, open_registry, token_of
from tests.unit.web.pages_cast import FILES, put_skill
from vskill_platform.engines.blobs.folder_blobs import FolderBlobs
from vskill_platform.engines.operations import Put
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.install_store import get_installs
from vskill_platform.stores.version_store import get_archive, get_versions
from vskill_platform.web.skills import downloads
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
        async with asyncio.timeout(60):
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


async def test_a_download_below_the_minimum_rate_is_ended_and_not_counted(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "SPARE_SECONDS", 0.01)
    monkeypatch.setattr(downloads, "MIN_BYTES_PER_SECOND", 1024**3)
    reader = SlowReader(registry, DOWNLOAD)

    head = await reader.next()  # and then nothing
    async with asyncio.timeout(60):
        await asyncio.wait([reader.task])

    assert head["status"] == 200
    assert await installs() == 0
    assert DOWNLOADS.count == 0


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
    assert "3 in total" in page.text


async def test_a_partial_download_is_not_an_install(registry: Registry) -> None:
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


class SigningStore(FolderBlobs):
    """A store that signs URLs, as a bucket does."""

    async def sign(self, name: str, *, lifetime: timedelta) -> str | None:
        return f"https://bucket.example/{name}?for={lifetime.total_seconds():.0f}"


@pytest.fixture
async def elsewhere(
    bound: WorkerEnv, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Registry]:
    """A registry whose archives are in another store, and which may redirect to it."""
    (tmp_path / "blobs").mkdir()
    bound.engine.blobs.use(SigningStore(tmp_path / "blobs"))
    await put_skill(bound, tmp_path, SLUG, files={**FILES, "noise.bin": NOISE})
    await put_skill(bound, tmp_path, "@ben/hidden", publisher="@ben", is_private=True)
    lifetime = getattr(request, "param", timedelta(0))
    settings = msgspec.structs.replace(bound.settings, blobs_signed_url_lifetime=lifetime)
    async with open_registry(replace(bound, settings=settings)) as opened:
        yield opened


signs = pytest.mark.parametrize("elsewhere", [timedelta(minutes=5)], indirect=True)


async def test_an_archive_in_another_store_is_sent_by_the_registry(elsewhere: Registry) -> None:
    (version,) = await get_versions(SLUG)

    answer = await elsewhere.get(DOWNLOAD)

    assert answer.status_code == 200
    assert hashlib.sha256(answer.content).hexdigest() == version.archive_sha256
    assert len(answer.content) > PIECE_BYTES


@signs
@pytest.mark.parametrize("path", [DOWNLOAD, f"/api/v1/skills/{SLUG}/download"])
async def test_a_download_redirects_to_a_signed_url_and_counts(
    elsewhere: Registry, path: str
) -> None:
    (version,) = await get_versions(SLUG)

    answer = await elsewhere.get(path)

    assert answer.status_code == 302
    assert answer.headers["location"].startswith(f"https://bucket.example/{version.archive_sha256}")
    assert answer.headers["location"].endswith("?for=300")
    assert answer.headers["cache-control"] == "private, no-store"
    assert await installs() == 1


@signs
async def test_a_head_request_is_answered_by_the_registry(elsewhere: Registry) -> None:
    answer = await elsewhere.ask("HEAD", DOWNLOAD)

    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) > PIECE_BYTES


@signs
async def test_no_url_is_signed_for_somebody_without_the_right(elsewhere: Registry) -> None:
    answer = await elsewhere.get("/skills/@ben/hidden/download")

    assert answer.status_code == 404
    assert "bucket.example" not in answer.text


@pytest.mark.parametrize("fault", ["the store is down", "the archive is missing"])
async def test_an_archive_that_cannot_be_read_is_a_503_that_says_when_to_come_back(
    elsewhere: Registry, tmp_path: Path, fault: str
) -> None:
    (version,) = await get_versions(SLUG)
    if fault == "the store is down":
        (tmp_path / "blobs").rename(tmp_path / "away")
    else:
        next((tmp_path / "blobs").glob(f"*/{version.archive_sha256}.*")).unlink()

    answer = await elsewhere.get(f"/api/v1/skills/{SLUG}/download")

    assert answer.status_code == 503
    assert answer.json()["code"] == "archives_unavailable"
    assert int(answer.headers["retry-after"]) >= 10
    assert str(tmp_path) not in answer.text
    assert DOWNLOADS.count == 0
