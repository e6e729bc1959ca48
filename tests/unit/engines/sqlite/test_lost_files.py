"""Files that are deleted or replaced while open: no further commit is acknowledged."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import apsw
import pytest

from tests.contracts.asking import GUARD_SECONDS
from tests.unit.engines.sqlite.spied_connections import spied_connections
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put, Send
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import ConfigError, EngineError

ENDINGS = ["", "-wal", "-shm"]


def log_of(path: Path) -> Path:
    return Path(f"{path}-wal")


def delete(path: Path, *endings: str) -> None:
    for ending in endings or ("",):
        Path(f"{path}{ending}").unlink()


def move(path: Path, *, to: str) -> Path:
    return path.rename(path.with_name(to))


def damage_a_page(path: Path) -> bytes:
    """Overwrite a page in the middle; return what the file holds now."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xa5" * 4096
    path.write_bytes(content)
    return bytes(content)


def link_elsewhere(path: Path, folder: Path) -> Path:
    """Make *path* a link to a file that is not there yet; return that file."""
    real = folder / "elsewhere" / "real.db"
    real.parent.mkdir()
    path.symlink_to(real)
    return real


def set_link(path: Path, *, to: Path) -> None:
    path.unlink()
    path.symlink_to(to)


def content_of(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


async def until_refused(ask: Callable[[], Awaitable[Any]]) -> str:
    """Ask until there is an error: reads notice with the engine's next look."""
    async with asyncio.timeout(GUARD_SECONDS):
        while True:
            try:
                await ask()
            except EngineError as error:
                return str(error)


async def until_answered(engine: Engine) -> None:
    async with asyncio.timeout(GUARD_SECONDS):
        while True:
            try:
                await engine.revision()
            except EngineError:
                await asyncio.sleep(0)
            else:
                return


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_commit_to_a_deleted_file_is_an_error(path: Path, url: str, ending: str) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("a", b"")])
    delete(path, ending)

    with pytest.raises(EngineError, match=f"{path.name}{ending} was deleted or replaced"):
        await engine.commit([Put("b", b"")])
    advice = "nothing is lost" if ending == "-shm" else "restore a backup"
    with pytest.raises(EngineError, match=advice):
        await engine.queue.receive(1, lease=timedelta(seconds=1))
    await engine.close()


async def test_a_deleted_index_of_the_log_costs_no_commit(path: Path, url: str) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("a", b"kept")])
    delete(path, "-shm")
    await until_refused(engine.revision)
    await engine.close()

    again = await open_engine(url)
    found = await again.kv.get("a")
    await again.close()

    assert found is not None
    assert found.value == b"kept"


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_read_from_a_deleted_file_is_an_error(
    path: Path, url: str, ending: str, logs: list[Any]
) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("a", b"")])
    delete(path, ending)

    said = await until_refused(engine.revision)
    listed = await until_refused(lambda: engine.kv.list_keys(""))
    got = await until_refused(lambda: engine.kv.get("a"))
    await engine.close()

    assert "was deleted or replaced" in said
    assert listed == got == said
    assert [line["event"] for line in logs] == ["database deleted or replaced while in use"]


async def test_a_waiting_follower_gets_an_error_if_the_file_was_deleted(
    path: Path, url: str
) -> None:
    engine = await open_engine(url)
    following = asyncio.ensure_future(anext(engine.changes(after=await engine.revision())))
    await engine.revision()
    delete(path)

    async with asyncio.timeout(GUARD_SECONDS):
        with pytest.raises(EngineError, match="was deleted or replaced"):
            await following
    await engine.close()


async def test_a_file_that_is_moved_away_and_back_works_again(path: Path, url: str) -> None:
    engine = await open_engine(url)
    elsewhere = move(path, to="elsewhere")
    with pytest.raises(EngineError):
        await engine.commit([Put("a", b"")])

    move(elsewhere, to=path.name)
    revision = await engine.commit([Put("a", b"")])
    await until_answered(engine)
    await engine.close()

    assert revision == 1


async def test_closing_a_replaced_database_leaves_the_log_of_the_new_one(
    path: Path, url: str
) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("a", b"old")])
    delete(path, "", "-wal", "-shm")
    new = await open_engine(url)
    await new.commit([Put("a", b"new")])

    await engine.close()

    assert log_of(path).exists()
    assert await new.commit([Put("b", b"new")]) == 2
    await new.close()
    again = await open_engine(url, create=False)
    entry = await again.kv.get("a")
    await again.close()
    assert entry
    assert entry.value == b"new"


async def test_a_database_whose_log_was_deleted_is_refused(path: Path, url: str) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("a", b"")])
    log_of(path).unlink()

    with pytest.raises(EngineError, match=r"log skills\.db-wal was deleted.*skills\.db-shm"):
        await open_engine(url)

    assert not log_of(path).exists()
    await engine.close()


async def test_a_database_without_its_log_opens_after_a_checkpoint(
    path: Path, url: str, tmp_path: Path
) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("a", b"")])
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA wal_checkpoint(FULL)")
    # As it is left by a process that is killed while it removes the two files.
    left = tmp_path / "left"
    left.mkdir()
    for ending in ("", "-shm"):
        shutil.copy(f"{path}{ending}", left / f"skills.db{ending}")
    await engine.close()

    again = await open_engine(f"sqlite:///{left}/skills.db")
    entry = await again.kv.get("a")
    await again.close()

    assert entry


@pytest.mark.parametrize("left", ["skills.db-wal", "skills.db-shm", "skills.db.catalogue-0"])
async def test_no_database_is_made_where_one_was_lost(path: Path, url: str, left: str) -> None:
    path.with_name(left).touch()

    with pytest.raises(ConfigError, match=rf"there was one: .*{left} is still here"):
        await open_engine(url)

    assert content_of(path) is None


@pytest.mark.parametrize("left", ["real.db-wal", "real.db-shm", "real.db.catalogue-0"])
async def test_no_database_is_made_behind_a_link_where_one_was_lost(
    path: Path, url: str, tmp_path: Path, left: str
) -> None:
    real = link_elsewhere(path, tmp_path)
    real.with_name(left).touch()

    with pytest.raises(ConfigError, match=rf"there was one: .*{left} is still here"):
        await open_engine(url)

    assert content_of(real) is None


async def test_a_link_that_is_set_to_another_file_is_noticed(
    path: Path, url: str, tmp_path: Path
) -> None:
    link_elsewhere(path, tmp_path)
    engine = await open_engine(url)
    other = tmp_path / "other.db"
    other.touch()
    set_link(path, to=other)

    said = await until_refused(lambda: engine.commit([Put("a", b"")]))
    await engine.close()

    assert "skills.db was deleted or replaced" in said
    assert content_of(other) == b""


async def test_an_empty_file_beside_a_search_index_is_refused(path: Path, url: str) -> None:
    for file in (path, path.with_name("skills.db.catalogue-0")):
        file.touch()

    with pytest.raises(ConfigError, match="missing or empty, but there was one"):
        await open_engine(url)

    assert content_of(path) == b""


async def test_a_file_that_another_process_creates_meanwhile_is_not_taken_for_a_lost_one(
    path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[apsw.Connection] = []
    exists = Path.exists

    def create_then_look(self: Path) -> bool:
        if self.name == "skills.db-wal" and not others:
            others.append(apsw.Connection(str(path)))
            others[0].pragma("journal_mode", "wal")
            others[0].pragma("user_version", 0)  # a transaction, which creates the file
        return exists(self)

    monkeypatch.setattr(Path, "exists", create_then_look)

    engine = await open_engine(url)
    await engine.close()

    for other in others:
        other.close()

    assert len(others) == 1


async def a_large_database(url: str) -> None:
    engine = await open_engine(url)
    await engine.commit([Put(f"k{n:04}", bytes(2_000)) for n in range(500)])
    await engine.commit([Send(b"")])
    await engine.close()


async def test_damaged_pages_are_found_before_anything_is_written(path: Path, url: str) -> None:
    await a_large_database(url)
    content = damage_a_page(path)

    with pytest.raises(EngineError, match="the file is damaged; restore it from a backup"):
        await open_engine(url, check_for=timedelta(seconds=60))

    assert content_of(path) == content


async def test_a_whole_database_passes_the_check(url: str, logs: list[Any]) -> None:
    await a_large_database(url)

    engine = await open_engine(url, check_for=timedelta(seconds=60))
    await engine.close()

    assert logs == []


async def test_a_check_that_had_no_time_says_so(url: str, logs: list[Any]) -> None:
    await a_large_database(url)

    engine = await open_engine(url, check_for=timedelta(microseconds=1))
    await engine.close()

    assert [line["event"] for line in logs] == ["integrity check incomplete: the database is large"]


def test_opening_a_file_that_is_replaced_meanwhile_leaves_the_new_one_alone(
    path: Path, url: str, tmp_path: Path
) -> None:
    asyncio.run(a_large_database(url))
    new = tmp_path / "new.db"
    shutil.copy(path, new)
    errors: list[EngineError] = []

    def open_it() -> None:
        try:
            asyncio.run(open_engine(url))
        except EngineError as error:
            errors.append(error)

    with spied_connections() as spy, closing(apsw.Connection(str(path))) as holder:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        opening = Thread(target=open_it)
        opening.start()
        while len(spy.opened) < 2:  # the holder is the first
            assert opening.is_alive()
        new.replace(path)
        holder.execute("COMMIT")
        opening.join()

    assert ["replaced while it was being opened" in str(error) for error in errors] == [True]
    assert not log_of(path).exists()


async def test_a_database_behind_a_link_is_watched_too(
    path: Path, url: str, tmp_path: Path
) -> None:
    real = link_elsewhere(path, tmp_path)
    engine = await open_engine(url)
    await engine.commit([Put("a", b"")])

    delete(real, "-wal")

    with pytest.raises(EngineError, match=r"real\.db-wal was deleted or replaced"):
        await engine.commit([Put("b", b"")])
    with pytest.raises(EngineError, match=r"log real\.db-wal was deleted"):
        await open_engine(url)
    await engine.close()


async def test_an_engine_that_has_met_a_damaged_page_is_not_ready(
    path: Path, url: str, logs: list[Any]
) -> None:
    await a_large_database(url)
    engine = await open_engine(url)
    await engine.check_writable()
    damage_most_pages(path)

    said = await until_refused(lambda: read_everything(engine))
    with pytest.raises(EngineError, match="the file is damaged; restore it from a backup"):
        await engine.check_writable()
    await engine.close()

    assert "the file is damaged" in said
    assert [line["event"] for line in logs] == ["database is damaged"]


async def read_everything(engine: Engine) -> None:
    for number in range(500):
        await engine.kv.get(f"k{number:04}")


def damage_most_pages(path: Path) -> None:
    """Overwrite, in place, every page in the second half of the file."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xa5" * (size - file.tell()))
