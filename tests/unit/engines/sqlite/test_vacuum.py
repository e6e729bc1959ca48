"""Vacuum: the file shrinks, the data stays, and other processes continue."""

import asyncio
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.contracts.asking import value_of
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Delete, Put
from vskill_platform.errors import ConfigError

MEBIBYTE = 1024 * 1024


def size_of(path: Path) -> int:
    """Return what the database takes with its log."""
    return path.stat().st_size + Path(f"{path}-wal").stat().st_size


async def test_deleted_records_give_their_space_back_and_the_others_stay(
    url: str, path: Path
) -> None:
    engine = await open_engine(url)
    await engine.commit([Put(f"blob:{n}", os.urandom(MEBIBYTE)) for n in range(8)])
    await engine.commit([Put("likeness:1", b"kept", marks=("word",), rank=3)])
    await engine.commit([Delete(f"blob:{n}") for n in range(8)])

    done = await engine.compact()

    assert done.before_bytes > 8 * MEBIBYTE
    assert done.after_bytes < MEBIBYTE
    assert done.after_bytes == size_of(path)
    assert await value_of(engine, "likeness:1") == b"kept"
    assert await engine.kv.find_marked(["word"]) == [["likeness:1"]]
    await engine.close()


async def test_another_engine_reads_and_writes_on(url: str) -> None:
    engine, other = await open_engine(url), await open_engine(url)
    await engine.commit([Put(f"blob:{n}", os.urandom(MEBIBYTE)) for n in range(4)])
    await engine.commit([Delete(f"blob:{n}") for n in range(4)])

    _, *revisions = await asyncio.gather(
        engine.compact(), *(other.commit([Put(f"new:{n}", b"")]) for n in range(20))
    )

    assert all(revisions)
    assert await value_of(other, "new:19") == b""
    await engine.close()
    await other.close()


async def test_without_room_for_a_copy_nothing_is_changed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("sub:1", b"one")])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))

    with pytest.raises(ConfigError, match="bytes on this disk temporarily, 10 are free"):
        await engine.compact()

    assert await value_of(engine, "sub:1") == b"one"
    await engine.close()
