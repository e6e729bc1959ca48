"""A damaged file causes an error that names it, never an empty result."""

import asyncio
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.contracts.asking import LEASE
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put, Send
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import EngineError

PAGE = 4096


async def filled(url: str) -> None:
    """Fill a database with some hundred pages, all in the one file."""
    engine = await open_engine(url)
    await engine.commit([Put(f"sub:{n:04}", bytes(2000)) for n in range(200)])
    await engine.commit([Send(bytes(2000)) for _ in range(100)])
    await engine.close()


def damage(path: Path, start: int, end: int | None = None) -> None:
    content = bytearray(path.read_bytes())
    content[start:end] = b"\xa5" * len(content[start:end])
    path.write_bytes(content)


def damage_all_but_the_schema(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        pages = connection.execute("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema'")
        spared = {number for (number,) in pages}
    for number in range(1, path.stat().st_size // PAGE + 1):
        if number not in spared:
            damage(path, (number - 1) * PAGE, number * PAGE)


def truncate(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize(
    "content",
    [b"\x00\xff" * 5000, b"this is a text and not a database\n" * 100, b"SQLite format 3\x00"],
    ids=["noise", "text", "only a header"],
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    url: str, path: Path, content: bytes
) -> None:
    path.write_bytes(content)

    with pytest.raises(EngineError, match=r"skills\.db: the file is damaged"):
        asyncio.run(open_engine(url))

    assert path.read_bytes() == content


async def test_a_damaged_header_is_reported(url: str, path: Path) -> None:
    await filled(url)
    damage(path, 0, 100)

    with pytest.raises(EngineError, match=r"skills\.db: the file is damaged .* backup"):
        await open_engine(url)


async def test_a_damaged_schema_page_is_reported(url: str, path: Path) -> None:
    await filled(url)
    damage(path, 100, PAGE)

    with pytest.raises(EngineError, match=r"skills\.db: the file is damaged"):
        await open_engine(url)


async def test_a_truncated_file_is_reported(url: str, path: Path) -> None:
    await filled(url)
    truncate(path, 3 * PAGE)

    with pytest.raises(EngineError, match=r"skills\.db: the file is damaged"):
        await read_everything(await open_engine(url))


async def test_every_question_to_a_damaged_database_is_answered_with_an_error(
    url: str, path: Path
) -> None:
    await filled(url)
    damage_all_but_the_schema(path)
    engine = await open_engine(url)

    for question in (
        engine.kv.get("sub:0001"),
        engine.kv.list_keys("sub:"),
        engine.queue.receive(1, lease=LEASE),
        engine.queue.stats(),
        engine.commit([Put("sub:0001", b"")]),
        anext(engine.changes(after=0)),
    ):
        with pytest.raises(EngineError, match="damaged"):
            await question
    await engine.close()


async def read_everything(engine: Engine) -> None:
    try:
        for key in (await engine.kv.list_keys("")).keys:
            await engine.kv.get(key)
    finally:
        await engine.close()
