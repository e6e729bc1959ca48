"""Blobs are the same in every store: complete, verified, and never swept while they are used."""

import asyncio
import hashlib
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.clocks import ManualClock
from tests.contracts.machine import a_database
from tests.s3 import SECRET, an_empty_bucket, bucket_at
from vskill_platform.blob_settings import IN_DATABASE, BlobOptions
from vskill_platform.engines.blobs import s3_blobs
from vskill_platform.engines.blobs.blobs import is_blob_name, sha256_of
from vskill_platform.engines.blobs.folder_blobs import FolderBlobs
from vskill_platform.engines.blobs.open_blobs import open_blobs
from vskill_platform.engines.blobs.port import PIECE_BYTES
from vskill_platform.engines.blobs.sweep import is_swept, refer_to_blob, sweep_blobs
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import NEVER, Delete, Operation, Put
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import (
    BlobMissing,
    BlobsUnavailable,
    EngineError,
    InvalidInput,
    RecordMalformed,
)

#: Every blob is older than this.
_ALWAYS = datetime(2100, 1, 1, tzinfo=UTC)
_LARGE = bytes(range(256)) * (5 * PIECE_BYTES // 512) + b"end"


@pytest.fixture(
    params=[
        ("sqlite", "database"),
        ("postgres", "database"),
        ("sqlite", "folder"),
        ("sqlite", "s3"),
    ],
    ids="-".join,
)
async def engine(
    request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path
) -> AsyncIterator[Engine]:
    """An engine with each store of blobs."""
    kind, store = request.param
    options = _options(store, tmp_path / "blobs")
    async with a_database(kind) as url:
        engine = await open_engine(url, clock=clock, blobs=options)
        yield engine
        await engine.close()


def _options(store: str, folder: Path) -> BlobOptions:
    if store == "s3":
        return an_empty_bucket()
    if store == "folder":
        folder.mkdir()
        return BlobOptions(url=f"file://{folder}")
    return IN_DATABASE


@pytest.mark.parametrize("content", [b"", b"x", _LARGE], ids=["empty", "small", "large"])
async def test_a_blob_is_read_as_it_was_stored(engine: Engine, content: bytes) -> None:
    name = await _put(engine, content)

    pieces = [piece async for piece in engine.blobs.get(name)]

    assert b"".join(pieces) == content
    assert is_blob_name(name)
    assert sha256_of(name) == _sha256(content)
    assert max(map(len, pieces)) <= 2 * PIECE_BYTES


async def test_a_stream_is_stored_without_being_in_memory(engine: Engine) -> None:
    async def stream() -> AsyncIterator[bytes]:
        for start in range(0, len(_LARGE), 100_000):
            yield _LARGE[start : start + 100_000]

    name = await engine.blobs.put(stream(), sha256=_sha256(_LARGE))

    assert await _get(engine, name) == _LARGE


async def test_the_same_content_stored_twice_is_two_blobs(engine: Engine) -> None:
    first, second = await _put(engine, b"same"), await _put(engine, b"same")

    await engine.blobs.delete(first)

    assert first != second
    assert await _get(engine, second) == b"same"


async def test_a_stream_with_another_digest_is_refused_and_not_kept(engine: Engine) -> None:
    with pytest.raises(RecordMalformed, match="SHA-256"):
        await engine.blobs.put(b"other", sha256=_sha256(b"expected"))

    assert await _names(engine) == []


async def test_a_stream_that_breaks_leaves_nothing_to_read(engine: Engine) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield _LARGE
        raise EngineError("the sender is gone")

    with pytest.raises(EngineError, match="the sender is gone"):
        await engine.blobs.put(broken(), sha256=_sha256(_LARGE))

    for name in await _names(engine):  # of the database: found by the sweeper, and not complete
        with pytest.raises(BlobMissing):
            await _get(engine, name)
    await sweep_blobs(engine, stored_before=_ALWAYS)
    assert await _names(engine) == []


async def test_blobs_are_listed_with_size_and_time(engine: Engine) -> None:
    names = {await _put(engine, b"one"), await _put(engine, b"three")}

    entries = [entry async for page in engine.blobs.list_blobs() for entry in page]

    assert {(entry.name, entry.size) for entry in entries} == {
        (name, 3 if sha256_of(name) == _sha256(b"one") else 5) for name in names
    }
    assert all(entry.stored_at.tzinfo for entry in entries)


async def test_a_deleted_blob_is_missing_and_can_be_deleted_again(engine: Engine) -> None:
    name = await _put(engine, _LARGE)

    await engine.blobs.delete(name)
    await engine.blobs.delete(name)

    assert await _names(engine) == []
    with pytest.raises(BlobMissing, match=sha256_of(name)):
        await _get(engine, name)


@pytest.mark.parametrize("name", ["", "database/", "database/../../etc/passwd", "x/" + "0" * 81])
async def test_any_other_name_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(InvalidInput):
        await _get(engine, name)


async def test_a_blob_without_a_reference_is_swept_and_others_stay(engine: Engine) -> None:
    used, unused = await _put(engine, b"used"), await _put(engine, b"unused")
    assert await engine.commit(_reference("a", used))

    swept = await sweep_blobs(engine, stored_before=_ALWAYS)

    assert swept == 1
    assert await _names(engine) == [used]
    assert await is_swept(engine, unused)
    assert not await is_swept(engine, used)


async def test_a_young_blob_is_not_swept(engine: Engine) -> None:
    name = await _put(engine, b"being committed")

    swept = await sweep_blobs(engine, stored_before=datetime(2020, 1, 1, tzinfo=UTC))

    assert swept == 0
    assert await _get(engine, name) == b"being committed"
    assert await engine.commit(_reference("a", name))


async def test_a_blob_is_swept_after_its_last_reference_is_gone(
    engine: Engine, clock: ManualClock
) -> None:
    name = await _put(engine, b"shared")
    await engine.commit(_reference("a", name))
    expiring = Put("b", b"", due=NEVER, expires_at=clock.now() + timedelta(days=1))
    await engine.commit(refer_to_blob(expiring, name))

    await engine.commit([Delete("a")])
    while_shared = await sweep_blobs(engine, stored_before=_ALWAYS)
    clock.advance(seconds=2 * 86_400)
    after_expiry = await sweep_blobs(engine, stored_before=_ALWAYS)

    assert (while_shared, after_expiry) == (0, 1)
    assert await _names(engine) == []


async def test_a_swept_blob_cannot_be_named_any_more(engine: Engine) -> None:
    name = await _put(engine, b"slow writer")
    await sweep_blobs(engine, stored_before=_ALWAYS)

    assert await engine.commit(_reference("a", name)) is None
    assert await engine.kv.get("a") is None


async def test_a_sweep_that_was_killed_is_finished_by_the_next(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = await _put(engine, b"orphan")

    async def killed(_name: str) -> None:
        raise EngineError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(engine.blobs, "delete", killed)
        with pytest.raises(EngineError, match="killed"):
            await sweep_blobs(engine, stored_before=_ALWAYS)
    assert await _names(engine) == [name]

    assert await sweep_blobs(engine, stored_before=_ALWAYS) == 1
    assert await _names(engine) == []


async def test_references_made_during_sweeps_never_lose_their_blob(engine: Engine) -> None:
    """Writers name an existing blob while two sweepers run: it is there, or they are refused."""
    names = [await _put(engine, b"%d" % number) for number in range(12)]

    async def refer(name: str, turns: int) -> bool:
        for _ in range(turns):  # let the sweepers get somewhere else each time
            await asyncio.sleep(0)
        return await engine.commit(_reference(f"a:{name}", name)) is not None

    *kept, first, second = await asyncio.gather(
        *(refer(name, 7 * number) for number, name in enumerate(names)),
        sweep_blobs(engine, stored_before=_ALWAYS),
        sweep_blobs(engine, stored_before=_ALWAYS),
    )

    left = set(await _names(engine))
    assert left == {name for name, is_kept in zip(names, kept, strict=True) if is_kept}
    assert first + second >= len(names) - len(left)
    for name in left:
        assert sha256_of(name) == _sha256(await _get(engine, name))


async def test_a_blob_may_be_deleted_by_several_at_once(engine: Engine) -> None:
    name = await _put(engine, b"unwanted")

    await asyncio.gather(*(engine.blobs.delete(name) for _ in range(4)))

    assert await _names(engine) == []


@pytest.mark.parametrize("found_by", ["both", "the first only"])
async def test_a_sweeper_that_was_overtaken_deletes_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, found_by: str
) -> None:
    """A second sweeper takes over the claim of the first before that has looked for references."""
    name = await _put(engine, b"contended")
    find, calls = engine.kv.find_marked, 0

    async def find_and_let_others_in(words: list[str], *, limit: int) -> list[list[str]]:
        nonlocal calls
        calls += 1
        found = await find(words, limit=limit)
        if calls == 2:  # the first sweeper has its claim, and has just found no reference
            if found_by == "both":
                await sweep_blobs(engine, stored_before=_ALWAYS)
            else:
                entry = await engine.kv.get(f"blob-swept:{name}")
                assert entry
                await engine.commit([Delete(f"blob-swept:{name}", expected=entry.revision)])
                assert await engine.commit(_reference("a", name))
        return found

    monkeypatch.setattr(engine.kv, "find_marked", find_and_let_others_in)

    swept = await sweep_blobs(engine, stored_before=_ALWAYS)

    assert swept == 0
    assert (await _names(engine) == [name]) is (found_by == "the first only")


async def test_a_writer_that_was_swept_meanwhile_gets_an_error(
    clock: ManualClock, tmp_path: Path
) -> None:
    """A blob in the database is visible to the sweeper while it is being written."""
    engine = await open_engine(f"sqlite:///{tmp_path}/a.db", clock=clock)

    async def slow() -> AsyncIterator[bytes]:
        yield bytes(2 * PIECE_BYTES)
        assert await sweep_blobs(engine, stored_before=_ALWAYS) == 1
        yield bytes(2 * PIECE_BYTES)

    with pytest.raises(EngineError, match="try again"):
        await engine.blobs.put(slow(), sha256=_sha256(bytes(4 * PIECE_BYTES)))
    await engine.close()


async def test_a_signed_url_of_a_bucket_needs_no_credentials(
    clock: ManualClock, tmp_path: Path
) -> None:
    blobs = an_empty_bucket()
    engine = await open_engine(f"sqlite:///{tmp_path}/a.db", clock=clock, blobs=blobs)
    name = await _put(engine, b"signed")

    url = await engine.blobs.sign(name, lifetime=timedelta(minutes=5))

    assert url
    assert "X-Amz-Expires=300" in url
    assert SECRET not in url
    assert await asyncio.to_thread(_download, url) == b"signed"
    await engine.close()


@pytest.mark.parametrize("store", ["database", "folder"])
async def test_no_other_store_signs_urls(clock: ManualClock, tmp_path: Path, store: str) -> None:
    options = _options(store, tmp_path / "blobs")
    engine = await open_engine(f"sqlite:///{tmp_path}/a.db", clock=clock, blobs=options)

    url = await engine.blobs.sign(await _put(engine, b"x"), lifetime=timedelta(minutes=5))

    assert url is None
    await engine.close()


@pytest.mark.parametrize("store", ["folder", "s3"])
async def test_blobs_of_another_registry_are_not_swept(
    clock: ManualClock, tmp_path: Path, store: str
) -> None:
    """Also those of this registry before it was restored: its old database may be put back."""
    options = _options(store, tmp_path / "blobs")
    one = await open_engine(f"sqlite:///{tmp_path}/one.db", clock=clock, blobs=options)
    other = await open_engine(f"sqlite:///{tmp_path}/other.db", clock=clock, blobs=options)
    name = await _put(one, b"of one")

    by_other = await sweep_blobs(other, stored_before=_ALWAYS)
    readable = await _get(other, name)
    by_one = await sweep_blobs(one, stored_before=_ALWAYS)

    assert (by_other, readable, by_one) == (0, b"of one", 1)
    await one.close()
    await other.close()


async def test_a_bucket_that_does_not_answer_is_an_outage(
    clock: ManualClock, tmp_path: Path
) -> None:
    an_empty_bucket()  # which needs the driver, too
    options = bucket_at("http://127.0.0.1:9")  # the discard service: nothing listens
    engine = await open_engine(f"sqlite:///{tmp_path}/a.db", clock=clock, blobs=options)

    with pytest.raises(BlobsUnavailable, match="s3://bucket/registry") as caught:
        await _put(engine, b"x")

    assert SECRET not in str(caught.value)
    assert caught.value.retryable
    assert caught.value.retry_after
    await engine.close()


async def test_a_bucket_that_is_too_slow_is_an_outage(
    clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_empty_bucket()  # which needs the driver, too
    monkeypatch.setattr(s3_blobs, "_READ", timedelta(milliseconds=50))
    monkeypatch.setattr(s3_blobs, "_RETRIES", 0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = bucket_at(f"http://127.0.0.1:{silent.getsockname()[1]}")
        engine = await open_engine(f"sqlite:///{tmp_path}/a.db", clock=clock, blobs=options)

        with pytest.raises(BlobsUnavailable):
            await _put(engine, b"x")
        with pytest.raises(BlobsUnavailable):
            await _get(engine, f"external/{'0' * 64}.{'0' * 24}")

        await engine.close()


async def test_a_store_that_changes_what_it_stores_is_an_outage(
    clock: ManualClock, tmp_path: Path
) -> None:
    class Lossy(FolderBlobs):
        async def write(self, name: str, pieces: AsyncIterator[bytes]) -> None:
            async def shortened() -> AsyncIterator[bytes]:
                async for piece in pieces:
                    yield piece[:-1]

            await super().write(name, shortened())

    (tmp_path / "blobs").mkdir()
    engine = await open_engine(f"sqlite:///{tmp_path}/a.db", clock=clock)
    engine.blobs.use(Lossy(tmp_path / "blobs"))

    with pytest.raises(BlobsUnavailable, match="not stored as it was sent"):
        await _put(engine, b"content")

    assert await _names(engine) == []
    await engine.close()


async def test_a_folder_that_is_not_mounted_is_an_outage(
    clock: ManualClock, tmp_path: Path
) -> None:
    options = BlobOptions(url=f"file://{tmp_path}/missing")
    engine = await open_engine(f"sqlite:///{tmp_path}/a.db", clock=clock, blobs=options)

    with pytest.raises(BlobsUnavailable, match="does not exist"):
        await _put(engine, b"x")
    with pytest.raises(BlobsUnavailable):
        await _names(engine)

    await engine.close()


async def test_changed_bytes_are_never_complete(clock: ManualClock, tmp_path: Path) -> None:
    options = _options("folder", tmp_path / "blobs")
    engine = await open_engine(f"sqlite:///{tmp_path}/a.db", clock=clock, blobs=options)
    name = await _put(engine, _LARGE)
    (file,) = (tmp_path / "blobs").glob("*/*")
    file.write_bytes(_LARGE[:-1] + b"!")
    pieces: list[bytes] = []

    with pytest.raises(RecordMalformed, match="changed or damaged"):
        await _collect(engine, name, pieces)

    assert sum(map(len, pieces)) < len(_LARGE)
    await engine.close()


async def test_blobs_of_the_database_stay_readable_after_a_folder_was_chosen(
    clock: ManualClock, tmp_path: Path
) -> None:
    engine = await open_engine(f"sqlite:///{tmp_path}/a.db", clock=clock)
    before = await _put(engine, b"before")
    engine.blobs.use(open_blobs(_options("folder", tmp_path / "blobs")))
    after = await _put(engine, b"after")

    assert [await _get(engine, name) for name in (before, after)] == [b"before", b"after"]
    engine.blobs.use(None)
    with pytest.raises(BlobsUnavailable, match="VSKILL_BLOBS_URL is not set"):
        await _get(engine, after)
    await engine.close()


async def _put(engine: Engine, content: bytes) -> str:
    return await engine.blobs.put(content, sha256=_sha256(content))


async def _get(engine: Engine, name: str) -> bytes:
    return b"".join([piece async for piece in engine.blobs.get(name)])


async def _collect(engine: Engine, name: str, pieces: list[bytes]) -> None:
    async for piece in engine.blobs.get(name):
        pieces.append(piece)  # noqa: PERF401 - those before an error count


async def _names(engine: Engine) -> list[str]:
    return [entry.name async for page in engine.blobs.list_blobs() for entry in page]


def _download(url: str) -> bytes:
    with urlopen(url, timeout=20) as answer:  # noqa: S310 - of our own server
        content: bytes = answer.read()
    return content


def _reference(key: str, name: str) -> list[Operation]:
    return refer_to_blob(Put(key, b"", due=NEVER), name)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
