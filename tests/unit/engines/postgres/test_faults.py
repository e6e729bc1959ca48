"""A server that is slow, full, busy or gone: a correct error, and no work done twice."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from tests.contracts.asking import LEASE, list_all, value_of
from tests.postgres import server_url
from tests.unit.engines.postgres.network import Network
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Acknowledge, Put, Send
from vskill_platform.engines.ports import Engine
from vskill_platform.engines.postgres import commit as commits
from vskill_platform.engines.postgres import connection as connections
from vskill_platform.engines.postgres import database, notifications
from vskill_platform.engines.postgres.connection import read_url
from vskill_platform.engines.server_options import ServerOptions
from vskill_platform.errors import EngineError, HistoryChanged, OutcomeUnknown


@pytest.mark.slow
async def test_a_statement_that_takes_too_long_is_an_error_and_is_not_repeated(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for everything else that this engine does, even on a busy machine.
    monkeypatch.setitem(connections._TIMEOUTS, "statement_timeout", "2s")
    engine = await open_engine(url)
    other = await asyncpg.connect(server_url())
    async with other.transaction():
        await other.execute(f"LOCK TABLE {read_url(url).schema}.state")

        with pytest.raises(EngineError, match="the database took too long"):
            await engine.commit([Put("sub:1", b"one")])

    assert await value_of(engine, "sub:1") is None
    await other.close()
    await engine.close()


@pytest.mark.parametrize("pooler", ["none", "transaction"])
async def test_commits_at_once_are_applied_whatever_isolation_the_database_prefers(
    url: str, pooler: str
) -> None:
    prefers = f"{url}&pooler={pooler}&default_transaction_isolation=serializable"
    engines = [await open_engine(prefers) for _ in range(3)]
    shown = [await _isolation(engine) for engine in engines]

    revisions = await asyncio.gather(
        *(
            engine.commit([Put(f"sub:{n}:{number}", b"", marks=("word",)), Send(b"job")])
            for n in range(10)
            for number, engine in enumerate(engines)
        )
    )

    assert shown == ["read committed"] * 3
    assert len(set(revisions) - {None}) == 30
    for engine in engines:
        await engine.close()


async def _isolation(engine: Engine) -> str:
    async with engine._database.acquired() as connection:  # type: ignore[attr-defined]  # a private part of this engine
        return str(await connection.fetchval("SHOW transaction_isolation"))


async def test_a_process_that_uses_all_its_connections_gets_an_explanation(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CONNECT_SECONDS", 0.05)
    engine = await open_engine(url, options=ServerOptions(pool_size=1))
    async with engine._database.acquired():  # type: ignore[attr-defined]  # a private part of this engine
        with pytest.raises(EngineError, match="all 1 connections of this process are busy"):
            await engine.kv.get("sub:1")
        with pytest.raises(EngineError, match="or raise VSKILL_DATABASE_POOL_SIZE"):
            await engine.commit([Put("sub:1", b"")])

    assert await value_of(engine, "sub:1") is None
    await engine.close()


async def test_a_commit_that_was_never_sent_has_a_known_outcome(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "RESTART_SECONDS", 0)
    engine = await open_engine(network.url)
    network.cut()
    with pytest.raises(EngineError, match="does not answer"):
        await engine.kv.get("sub:1")

    with pytest.raises(EngineError, match="does not answer") as caught:
        await engine.commit([Put("sub:1", b"one")])

    assert not isinstance(caught.value, OutcomeUnknown)
    with pytest.raises(EngineError, match="does not answer"):
        await engine.check_writable()
    network.repair()
    await engine.close()


async def test_a_commit_waits_for_a_server_that_restarts(network: Network) -> None:
    engine = await open_engine(network.url)
    network.cut()
    with pytest.raises(EngineError, match="does not answer"):
        await engine.kv.get("sub:1")
    network.refused.clear()
    committing = asyncio.create_task(engine.commit([Put("sub:1", b"one"), Send(b"job")]))
    await network.refused.wait()

    network.repair()

    assert await committing
    assert await value_of(engine, "sub:1") == b"one"
    assert (await engine.queue.stats()).ready == 1
    await engine.close()


async def test_a_full_disk_is_named_and_undoes_the_whole_group(url: str) -> None:
    schema = read_url(url).schema
    engine = await open_engine(url)
    other = await asyncpg.connect(server_url())
    await other.execute(f"""
        CREATE FUNCTION {schema}.no_space() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
        CREATE TRIGGER no_space BEFORE INSERT ON {schema}.commit_mark
        EXECUTE FUNCTION {schema}.no_space()
    """)

    outcomes = await asyncio.gather(
        *(engine.commit([Put(f"sub:{n}", b""), Send(b"job")]) for n in range(3)),
        return_exceptions=True,
    )
    with pytest.raises(EngineError, match="disk of the database server is full"):
        await engine.check_writable()
    await other.execute(f"DROP FUNCTION {schema}.no_space() CASCADE")

    assert {type(outcome) for outcome in outcomes} == {EngineError}
    assert await list_all(engine, "sub:") == []
    assert (await engine.queue.stats()).ready == 0
    assert await engine.commit([Put("sub:1", b"")])
    await other.close()
    await engine.close()


async def test_a_listening_connection_that_nobody_answers_is_replaced(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "LOOK_ANYWAY_SECONDS", 0.05)
    monkeypatch.setattr(notifications, "ANSWER_SECONDS", 0.1)
    engine = await open_engine(network.url)
    while not engine._notifications._connection:  # type: ignore[attr-defined]  # a private part of this engine
        await asyncio.sleep(0.01)
    before = engine._notifications._connection  # type: ignore[attr-defined]  # a private part of this engine

    network.stall()
    while engine._notifications._connection is before:  # type: ignore[attr-defined]  # a private part of this engine
        await asyncio.sleep(0.01)
    network.repair()
    while not engine._notifications._connection:  # type: ignore[attr-defined]  # a private part of this engine
        await asyncio.sleep(0.01)

    assert engine._notifications._connection is not before  # type: ignore[attr-defined]  # a private part of this engine
    await engine.close()


async def test_a_node_that_starts_before_the_server_waits_for_it(network: Network) -> None:
    network.cut()
    options = ServerOptions(wait=timedelta(minutes=1))
    opening = asyncio.create_task(open_engine(network.url, options=options))
    await network.refused.wait()

    network.repair()
    engine = await opening

    assert await engine.revision() == 0
    await engine.close()


@pytest.mark.parametrize("statement", [b"pg_advisory_xact_lock", b"schema_version", b"now_micros"])
async def test_a_node_whose_connection_is_lost_while_it_starts_tries_again(
    network: Network, statement: bytes
) -> None:
    lost: list[bytes] = []

    def lose(piece: bytes) -> bool:
        # The driver repeats a read once by itself, so the second one is lost, too.
        if statement in piece and len(lost) < 2:
            lost.append(piece)
            return True
        return False

    network.loses_answer_to = lose
    options = ServerOptions(wait=timedelta(minutes=1))

    engine = await open_engine(network.url, options=options)

    assert len(lost) == 2
    assert await engine.revision() == 0
    await engine.close()


async def test_a_command_does_not_wait_for_a_server_that_does_not_answer(network: Network) -> None:
    network.cut()

    with pytest.raises(EngineError, match="does not answer"):
        await open_engine(network.url)


async def test_a_server_that_has_become_a_standby_is_named_and_left(url: str) -> None:
    schema = read_url(url).schema
    other = await asyncpg.connect(server_url())
    before = await other.fetchval(f"SELECT pg_get_functiondef('{schema}.read_timeline'::regproc)")
    engine = await open_engine(url, options=ServerOptions(pool_size=1))
    pid = await _session(engine)
    # As a standby answers.
    await other.execute(f"""
        CREATE OR REPLACE FUNCTION {schema}.read_timeline() RETURNS int LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'recovery is in progress' USING ERRCODE = '55000'; END $$
    """)
    try:
        with pytest.raises(EngineError, match="read-only standby"):
            await engine.commit([Send(b"job")])
        with pytest.raises(EngineError, match="read-only standby"):
            await engine.queue.receive(1, lease=LEASE)
    finally:
        await other.execute(before)
        await other.close()

    assert await engine.commit([Send(b"job")])
    assert await _session(engine) != pid  # it may be another server
    await engine.close()


async def _session(engine: Engine) -> int:
    async with engine._database.acquired() as connection:  # type: ignore[attr-defined]  # a private part of this engine
        return int(connection.get_server_pid())


async def test_after_a_failover_no_revision_and_no_message_id_is_used_again(url: str) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("sub:1", b"one"), Send(b"job")])
    (lost,) = await engine.queue.receive(1, lease=LEASE)
    page = await engine.read_changes(after=0)
    history_id = await engine.history_id()
    other = await asyncpg.connect(server_url())
    # As on a standby that was promoted without the latest commits.
    await other.execute(f"SET search_path = {read_url(url).schema}")
    await other.execute("UPDATE clock SET timeline = timeline - 1; DELETE FROM message")
    await other.close()

    revision = await engine.commit([Put("sub:2", b"two"), Send(b"job")])
    (delivery,) = await engine.queue.receive(1, lease=LEASE)

    assert revision == 1_000_002
    assert delivery.message_id > lost.message_id + 1_000_000
    assert await engine.commit([Acknowledge(lost)]) is None
    assert await engine.history_id() != history_id
    with pytest.raises(HistoryChanged):
        await engine.read_changes(after=page.through, checkpoint=page.checkpoint)
    again = await engine.read_changes(after=0)
    assert [change.keys for change in again.changes] == [("sub:1",), ("sub:2",)]
    assert await engine.commit([Put("sub:3", b"three")]) == 1_000_003
    await engine.close()
