"""The write-ahead log: it is truncated when idle, and nothing waits for a long reader."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from tests.contracts.asking import GUARD_SECONDS
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put
from vskill_platform.engines.ports import Engine
from vskill_platform.engines.sqlite import checkpoint
from vskill_platform.engines.sqlite.checkpoint import KEEP_BYTES, empty_large_log, empty_log

MEBIBYTE = bytes(1024 * 1024)


@pytest.fixture
async def engine(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Engine]:
    monkeypatch.setattr(checkpoint, "QUIET_SECONDS", 0.02)
    engine = await open_engine(url)
    yield engine
    await engine.close()


def size_of_log(path: Path) -> int:
    return Path(f"{path}-wal").stat().st_size


async def write(engine: Engine, mebibytes: int) -> None:
    for number in range(mebibytes):
        assert await engine.commit([Put(f"blob:{number}", MEBIBYTE)])


async def until_small(path: Path) -> None:
    async with asyncio.timeout(GUARD_SECONDS):
        while size_of_log(path) > KEEP_BYTES:
            await asyncio.sleep(0.01)


@contextmanager
def long_reader(path: Path) -> Iterator[None]:
    with closing(apsw.Connection(str(path))) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM kv").get is not None
        yield


async def test_a_large_log_is_emptied_when_nobody_writes(engine: Engine, path: Path) -> None:
    await write(engine, 8)

    await until_small(path)

    assert (await engine.kv.get("blob:7")) is not None


async def test_a_long_reader_keeps_the_log_and_no_writer_waits(engine: Engine, path: Path) -> None:
    await write(engine, 1)
    with long_reader(path):
        await write(engine, 8)

        is_emptied = await asyncio.to_thread(empty_log, path, wait_ms=0)
        is_written = await engine.commit([Put("another", b"")])

        assert not is_emptied
        assert is_written
        assert size_of_log(path) > KEEP_BYTES
    await until_small(path)


async def test_after_a_long_reader_the_log_is_cut_back_though_others_go_on_writing(
    url: str, path: Path
) -> None:
    engine = await open_engine(url)
    with long_reader(path):
        await write(engine, 48)
    grown = size_of_log(path)

    await write(engine, 24)

    assert grown > 48 * len(MEBIBYTE)
    assert size_of_log(path) <= 33 * len(MEBIBYTE)
    await engine.close()


def test_a_file_that_is_gone_is_no_error_and_is_not_made(path: Path) -> None:
    empty_large_log(path)

    assert not empty_log(path, wait_ms=0)
    assert not path.exists()
