"""Opening: many nodes at once, other releases, other clocks, and unsuitable databases."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tests.contracts.asking import LEASE
from tests.postgres import an_empty_schema, server_url
from vskill_platform.engines.open_engine import open_engine, open_engine_to_read
from vskill_platform.engines.operations import NEVER, Acknowledge, Put, Send
from vskill_platform.engines.ports import BACKGROUND, BACKGROUND_RANK, LOOK_AHEAD, RETRY_PENALTY
from vskill_platform.engines.postgres import database, migrate
from vskill_platform.engines.postgres.connection import queries_for, read_url
from vskill_platform.engines.sql_file import load_migrations
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.errors import ConfigError, EngineError


async def test_ten_nodes_may_start_at_once() -> None:
    async with an_empty_schema() as url:
        engines = await asyncio.gather(*(open_engine(url) for _ in range(10)))

        revisions = await asyncio.gather(
            *(engine.commit([Put(f"node:{n}", b"")]) for n, engine in enumerate(engines))
        )

        assert sorted(revision or 0 for revision in revisions) == list(range(1, 11))
        for engine in engines:
            await engine.close()


async def test_nothing_is_created_where_a_registry_is_expected() -> None:
    async with an_empty_schema() as url:
        with pytest.raises(ConfigError, match="there is no registry in schema"):
            await open_engine(url, create=False)
        with pytest.raises(ConfigError, match="there is no registry in schema"):
            await open_engine_to_read(url)


async def test_a_database_of_a_newer_release_is_refused() -> None:
    async with an_empty_schema() as url:
        await (await open_engine(url)).close()
        await _add_version(read_url(url).schema, 99)

        with pytest.raises(ConfigError, match="schema version 99"):
            await open_engine(url)


async def test_two_releases_run_side_by_side_if_the_newer_schema_only_adds_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = migrate._MIGRATIONS
    adds = f"-- usable from {len(ours)}\nALTER TABLE vskill.kv ADD COLUMN note text;"
    async with an_empty_schema() as url:
        old = await open_engine(url)
        with monkeypatch.context() as upgraded:
            upgraded.setattr(migrate, "_MIGRATIONS", [*ours, adds])
            new = await open_engine(url)
        restarted = await open_engine(url)
        engines = [old, new, restarted]

        for number, engine in enumerate(engines):
            await engine.check_writable()
            await engine.commit([Put(f"by:{number}", b"x"), Send(b"job", key=str(number))])
        seen = [(await engine.kv.list_keys("by:")).keys for engine in engines]
        (job,) = await old.queue.receive(1, lease=LEASE)

        assert seen == [["by:0", "by:1", "by:2"]] * 3
        assert await new.commit([Acknowledge(job)]) is not None
        for engine in engines:
            await engine.close()


async def test_nodes_of_the_release_before_receive_no_background_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with an_empty_schema() as url:
        with monkeypatch.context() as before:
            before.setattr(migrate, "_MIGRATIONS", migrate._MIGRATIONS[:2])
            old = await open_engine(url)
            await old.commit([Send(b"sent before", key="a")])
        new = await open_engine(url)
        await old.commit([Send(b"background", group=BACKGROUND), Send(b"sent after", key="b")])

        stats = await new.queue.stats()
        received = await _receive_like_the_release_before(read_url(url).schema)
        background = await new.queue.receive(9, lease=LEASE, background=True)

        assert (stats.ready, stats.background.ready) == (2, 1)
        assert received == [b"sent before", b"sent after"]
        assert [each.body for each in background] == [b"background"]
        await old.close()
        await new.close()


async def _receive_like_the_release_before(schema: str) -> list[bytes]:
    server = await asyncpg.connect(server_url())
    try:
        rows = await server.fetch(
            f"SELECT body FROM {schema}.receive($1, 9, 60000000, $2, $2, false, false)",  # noqa: S608 - a name that the test made
            None,
            [],
        )
        return [row["body"] for row in rows]
    finally:
        await server.close()


@pytest.mark.parametrize(("of_role", "used"), [("off", "local"), ("remote_write", "remote_write")])
async def test_no_setting_of_the_role_lets_a_crash_take_what_was_acknowledged(
    url: str, of_role: str, used: str
) -> None:
    place = read_url(f"{url}&synchronous_commit={of_role}")
    await (await open_engine(url)).close()
    connection = await asyncpg.connect(place.dsn)
    async with connection.transaction():
        await connection.execute(f"SELECT {place.schema}.begin_write(NULL)")
        found = await connection.fetchval("SHOW synchronous_commit")
    await connection.close()

    assert found == used


@pytest.mark.parametrize("pooler", ["none", "transaction"])
async def test_a_migration_may_take_longer_than_queries_of_its_role(
    monkeypatch: pytest.MonkeyPatch, pooler: str
) -> None:
    slow = "SELECT pg_sleep(0.1);"
    monkeypatch.setattr(migrate, "_MIGRATIONS", [*migrate._MIGRATIONS, slow])
    async with an_empty_schema() as url:
        # As if the role had it.
        place = read_url(f"{url}&pooler={pooler}&statement_timeout=50ms")
        await migrate.prepare_schema(place, create=True)


async def test_a_running_node_reports_a_schema_that_it_cannot_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes = "ALTER TABLE vskill.kv ADD COLUMN note text;"
    async with an_empty_schema() as url:
        old = await open_engine(url)
        with monkeypatch.context() as upgraded:
            upgraded.setattr(migrate, "_MIGRATIONS", [*migrate._MIGRATIONS, changes])
            await (await open_engine(url)).close()

        with pytest.raises(EngineError, match="use the newer release"):
            await old.check_writable()
        with pytest.raises(ConfigError, match="use the newer release"):
            await open_engine(url)
        await old.close()


async def test_a_server_that_does_not_answer_is_an_error_without_the_password() -> None:
    with pytest.raises(EngineError, match="does not answer") as caught:
        await open_engine("postgresql://ada:secret@127.0.0.1:1/skills")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("schema", ["Robert'); DROP", "pg-x", "", "a" * 60])
def test_a_schema_is_a_plain_name(schema: str) -> None:
    with pytest.raises(ConfigError, match="schema"):
        read_url(f"postgresql://localhost/skills?schema={schema}")


def test_every_query_names_the_schema_of_the_url() -> None:
    assert not [name for name, query in queries_for("other").items() if "vskill" in query]


def test_the_functions_of_the_server_have_the_limits_of_the_port() -> None:
    functions = "".join(load_migrations("vskill_platform.engines.postgres", "schema"))

    assert f"WHEN again THEN {RETRY_PENALTY} ELSE 0" in functions
    assert f"LIMIT {LOOK_AHEAD}\n" in functions
    assert str(to_micros(NEVER)) in functions
    assert f"m.rank >= {BACKGROUND_RANK}\n" in functions
    assert f"WHERE message_group <> '{BACKGROUND}'" in functions


async def test_nodes_whose_clocks_differ_agree_on_leases(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = await open_engine(url)
    await here.commit([Send(b"job")])
    await here.queue.receive(1, lease=LEASE)

    class TenMinutesLate(datetime):
        @classmethod
        def now(cls, _zone: object = None) -> datetime:  # type: ignore[override]  # only the part that is used
            return datetime.now(UTC) - timedelta(minutes=10)

    monkeypatch.setattr(database, "datetime", TenMinutesLate)
    there = await open_engine(url)

    assert await there.queue.receive(1, lease=LEASE) == []
    assert abs(there.clock.now() - here.clock.now()) < timedelta(minutes=1)
    await here.close()
    await there.close()


async def _add_version(schema: str, version: int) -> None:
    server = await asyncpg.connect(server_url())
    try:
        await server.execute(f"TRUNCATE {schema}.schema_version")
        await server.copy_records_to_table(
            "schema_version", schema_name=schema, columns=["version"], records=[(version,)]
        )
    finally:
        await server.close()
