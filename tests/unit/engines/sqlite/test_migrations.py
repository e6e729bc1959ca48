"""The schema is upgraded completely or not at all, and only in files of the platform."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from threading import Barrier, Thread

import apsw
import pytest

from tests.unit.engines.sqlite.spied_connections import spied_connections
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Delete, Put
from vskill_platform.engines.sqlite.connection import (
    APPLICATION_ID,
    MIGRATIONS,
    migrate,
    open_connection,
)
from vskill_platform.errors import ConfigError, EngineError, VskillError

FIRST = "CREATE TABLE skill (name TEXT NOT NULL) STRICT;"
SECOND = "ALTER TABLE skill ADD COLUMN stars INTEGER NOT NULL DEFAULT 0;"
BROKEN = "CREATE TABLE half (n INTEGER); DROP TABLE skill; CREATE TABLE half (n INTEGER);"


@pytest.fixture
def connection(path: Path) -> Iterator[apsw.Connection]:
    with closing(open_connection(path)) as connection:
        yield connection


async def open_and_write(url: str) -> None:
    engine = await open_engine(url)
    assert await engine.commit([Put("sub:1", b"")])
    await engine.close()


def tables(connection: apsw.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM sqlite_schema ORDER BY name")]


def test_a_new_file_gets_the_newest_schema_and_our_mark(
    connection: apsw.Connection, path: Path
) -> None:
    migrate(connection, path, [FIRST, SECOND])

    assert connection.pragma("user_version") == 2
    assert connection.pragma("application_id") == APPLICATION_ID
    assert connection.pragma("journal_mode") == "wal"
    connection.execute("INSERT INTO skill VALUES ('pdf', 3)")


async def test_a_current_database_without_a_write_ahead_log_gets_one(url: str, path: Path) -> None:
    await open_and_write(url)
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")

    await open_and_write(url)

    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("journal_mode") == "wal"


def test_an_older_schema_is_brought_forward_and_its_data_kept(
    connection: apsw.Connection, path: Path
) -> None:
    migrate(connection, path, [FIRST])
    connection.execute("INSERT INTO skill VALUES ('pdf')")

    migrate(connection, path, [FIRST, SECOND])

    assert connection.pragma("user_version") == 2
    assert connection.execute("SELECT * FROM skill").fetchall() == [("pdf", 0)]


def test_the_newest_schema_is_left_as_it_is(connection: apsw.Connection, path: Path) -> None:
    migrate(connection, path, [FIRST, SECOND])
    connection.execute("INSERT INTO skill VALUES ('pdf', 3)")

    migrate(connection, path, [FIRST, SECOND])

    assert connection.execute("SELECT * FROM skill").fetchall() == [("pdf", 3)]


def test_a_migration_that_fails_leaves_nothing_behind(
    connection: apsw.Connection, path: Path
) -> None:
    migrate(connection, path, [FIRST])

    with pytest.raises(apsw.SQLError):
        migrate(connection, path, [FIRST, SECOND, BROKEN])

    assert tables(connection) == ["skill"]
    assert connection.pragma("user_version") == 1
    assert connection.execute("SELECT count(*) FROM pragma_table_info('skill')").get == 1


def test_after_a_migration_that_failed_others_can_write(
    connection: apsw.Connection, path: Path
) -> None:
    with pytest.raises(apsw.SQLError):
        migrate(connection, path, [FIRST, BROKEN])

    with closing(open_connection(path)) as other:
        other.set_busy_timeout(0)
        migrate(other, path, [FIRST])
        assert tables(other) == ["skill"]


def test_a_newer_schema_is_refused_naming_both_versions(
    connection: apsw.Connection, path: Path
) -> None:
    migrate(connection, path, [FIRST, SECOND])

    with pytest.raises(ConfigError, match=r"skills\.db: .* version 2, .* only 1\b"):
        migrate(connection, path, [FIRST])

    assert connection.pragma("user_version") == 2


async def test_an_engine_refuses_a_database_of_a_newer_release(url: str, path: Path) -> None:
    await (await open_engine(url)).close()
    newer = len(MIGRATIONS) + 1
    with closing(open_connection(path)) as connection:
        connection.execute(f"PRAGMA user_version = {newer}")

    with pytest.raises(ConfigError, match=f"version {newer}"):
        await open_engine(url)


@pytest.mark.parametrize("application_id", [0, 0x12345678])
def test_the_database_of_another_program_is_refused_untouched(
    url: str, path: Path, application_id: int
) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(f"PRAGMA application_id = {application_id}")
        connection.execute("CREATE TABLE theirs (n INTEGER)")
    before = path.read_bytes()

    with pytest.raises(ConfigError, match="another program"):
        asyncio.run(open_engine(url))

    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_database(url: str, path: Path) -> None:
    path.touch()

    asyncio.run(open_and_write(url))

    assert path.stat().st_size > 0


def test_opening_a_new_file_waits_for_its_writer(path: Path) -> None:
    with spied_connections() as spy, closing(apsw.Connection(str(path))) as first:
        first.set_busy_timeout(20_000)  # the other one reads the file again and again
        first.execute("BEGIN IMMEDIATE")
        with closing(open_connection(path)) as second:
            opening = Thread(target=migrate, args=(second, path, [FIRST]))
            opening.start()
            while spy.count("journal_mode") < 2 and opening.is_alive():
                first.pragma("user_version")

            first.execute("COMMIT")
            opening.join()

            assert tables(second) == ["skill"]


def test_many_that_open_a_new_file_at_once_all_succeed(url: str) -> None:
    together = Barrier(8)
    errors: list[VskillError] = []

    def run() -> None:
        together.wait()
        try:
            asyncio.run(open_and_write(url))
        except VskillError as error:
            errors.append(error)

    threads = [Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []


def test_the_scripts_are_numbered_without_gaps() -> None:
    folder = files("vskill_platform.engines.sqlite").joinpath("schema")

    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))

    assert len(names) == len(MIGRATIONS)
    assert [name[:5] for name in names] == [f"{n:04}_" for n in range(1, len(names) + 1)]


async def test_records_of_the_first_schema_are_all_there_in_the_second(
    connection: apsw.Connection, path: Path, url: str
) -> None:
    migrate(connection, path, MIGRATIONS[:1])
    rows = [(f"k{number}", b"%d" % number, number, None, None, 1) for number in range(1, 6)]
    connection.executemany("INSERT INTO kv VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.execute("DELETE FROM kv WHERE key = 'k2'")
    connection.execute("UPDATE state SET revision = 5")

    engine = await open_engine(url)
    entries = await asyncio.gather(*(engine.kv.get(key) for key, *_ in rows))
    changed = await engine.read_changes(after=0)
    revision = await engine.commit([Put("k1", b"new", expected=1, marks=("w",))])
    found = await engine.kv.find_marked(["w"])
    await engine.close()

    assert [entry and entry.value for entry in entries] == [b"1", None, b"3", b"4", b"5"]
    assert [change.keys for change in changed.changes] == [("k1",), ("k3",), ("k4",), ("k5",)]
    assert revision == 6
    assert found == [["k1"]]


async def test_marks_lead_to_the_same_records_after_a_vacuum(path: Path, url: str) -> None:
    engine = await open_engine(url)
    await engine.commit([Put(f"k{number}", b"", marks=(f"w{number}",)) for number in range(9)])
    await engine.commit([Delete(f"k{number}") for number in range(0, 9, 2)])
    await engine.close()

    with closing(open_connection(path)) as connection:
        connection.execute("VACUUM")

    engine = await open_engine(url)
    found = await engine.kv.find_marked(["w3", "w4", "w5"])
    await engine.close()

    assert found == [["k3"], [], ["k5"]]


async def test_a_schema_that_another_release_changes_meanwhile_is_noticed(
    url: str, path: Path
) -> None:
    engine = await open_engine(url)
    with closing(open_connection(path)) as other:
        other.execute("PRAGMA user_version = 99")

    with pytest.raises(EngineError, match="another release has changed the schema to version 99"):
        await engine.check_writable()

    await engine.close()


async def test_messages_and_reviews_of_an_older_schema_are_found_after_the_fair_queue(
    url: str, path: Path
) -> None:
    with closing(open_connection(path)) as connection:
        migrate(connection, path, MIGRATIONS[:3])
        connection.execute(
            "INSERT INTO message (key, body, ready_at, set_at, leased, attempts, token) VALUES"
            " ('first', x'61', 1, 1, 0, 0, 0), ('leased', x'62', 3, 3, 1, 1, 1),"
            " ('second', x'63', 2, 2, 0, 0, 0), ('delayed', x'64', 9000000000000000, 1, 0, 0, 0)"
        )
        connection.execute("INSERT INTO dead_letter VALUES (90, 'dead', x'65', 4, 'broken', 1)")
        waiting = b'{"state": "NEEDS_REVIEW", "updated_at": "2026-01-02T03:04:05.123456Z"}'
        for key, value in (
            ("sub:1", waiting),
            ("sub:2", waiting.replace(b"NEEDS_REVIEW", b"RECEIVED")),
            ("sub:3", b"{not json"),
            ("sub:4", b'{"state": "NEEDS_REVIEW", "updated_at": "never"}'),
            ("subject:1", waiting),
        ):
            connection.execute(
                "INSERT INTO kv (key, value, revision, due, written_at) VALUES (?, ?, 1, 5, 1)",
                (key, value),
            )

    engine = await open_engine(url)
    stats = await engine.queue.stats()
    received = await engine.queue.receive(9, lease=timedelta(minutes=1))
    reviews = await engine.kv.find_marked(["submission:NEEDS_REVIEW"])
    await engine.close()

    assert (stats.ready, stats.leased, stats.delayed, stats.dead) == (3, 0, 1, 1)
    assert [delivery.key for delivery in received] == ["first", "second", "leased"]
    assert reviews == [["sub:1"]]
