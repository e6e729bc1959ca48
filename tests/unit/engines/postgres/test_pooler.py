"""Behind a pooler, each transaction may have another session, so nothing is kept in one."""

import ssl

import asyncpg
import pytest

from tests.clocks import ManualClock
from tests.contents import drain, export_all, fill
from tests.postgres import an_empty_database
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.postgres.connection import connect, open_pool, read_url, translate
from vskill_platform.errors import ConfigError

_IN_SESSION = """
SELECT (SELECT count(*) FROM pg_prepared_statements),
  (SELECT count(*) FROM pg_settings WHERE source = 'session'),
  (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory')
"""


async def test_an_engine_behind_a_pooler_works_and_leaves_nothing_in_a_session(
    clock: ManualClock,
) -> None:
    async with an_empty_database() as url:
        engine = await open_engine(f"{url}&pooler=transaction", clock=clock)
        await fill(engine)
        exported = await export_all(engine)
        received = await drain(engine, clock)
        await engine.close()
        connection = await connect(read_url(f"{url}&pooler=transaction"))
        async with connection.transaction():
            (left,) = await connection.fetch(_IN_SESSION)
        await connection.close()

    assert len(exported) == 13
    assert len(received) == 7
    assert tuple(left) == (0, 0, 0)


async def test_timeouts_hold_whenever_a_connection_is_used_again() -> None:
    async with an_empty_database() as url:
        pool = await open_pool(read_url(url), size=1)
        found = [await pool.fetchval("SHOW statement_timeout") for _ in range(2)]
        await pool.close()

    assert found == ["30s", "30s"]


async def test_no_timeout_of_the_role_ends_an_idle_connection_of_the_pool() -> None:
    async with an_empty_database() as url:
        # As if the role had it.
        pool = await open_pool(read_url(f"{url}&idle_session_timeout=1ms"), size=1)
        found = await pool.fetchval("SHOW idle_session_timeout")
        await pool.close()

    assert found == "0"


async def test_no_timeout_of_the_role_ends_a_connection_that_listens_or_exports() -> None:
    kinds = ("statement", "lock", "idle_in_transaction_session", "idle_session")
    # As if the role had them.
    of_role = "".join(f"&{kind}_timeout=1ms" for kind in kinds)
    async with an_empty_database() as url:
        connection = await connect(read_url(f"{url}{of_role}"))
        found = [await connection.fetchval(f"SHOW {kind}_timeout") for kind in kinds]
        await connection.close()

    assert found == ["0"] * 4


@pytest.mark.parametrize("pooler", ["none", "transaction"])
async def test_no_timeout_of_the_role_ends_an_export(clock: ManualClock, pooler: str) -> None:
    kinds = ("statement", "lock", "idle_in_transaction_session")
    async with an_empty_database() as url:
        engine = await open_engine(f"{url}&pooler={pooler}&lock_timeout=1ms", clock=clock)
        async with engine.export() as export:
            connection = export._connection  # type: ignore[attr-defined]
            found = [await connection.fetchval(f"SHOW {kind}_timeout") for kind in kinds]
        await engine.close()

    assert found == ["0"] * 3


def test_an_unknown_pooler_is_refused() -> None:
    with pytest.raises(ConfigError, match="pooler=session is unknown: choose one of none, trans"):
        read_url("postgresql://db/skills?pooler=session")


def test_what_the_server_or_the_driver_says_is_explained() -> None:
    place = read_url("postgresql://db/skills")
    told = {
        OSError("unsupported startup parameter: jit"): "add ?pooler=transaction",
        asyncpg.InvalidSQLStatementNameError("no such"): "add ?pooler=transaction",
        ConnectionError(
            'server at "db:5432" rejected SSL upgrade'
        ): "the database server offers no",
        ssl.SSLCertVerificationError("self-signed"): "check sslmode and sslrootcert",
        asyncpg.InvalidPasswordError("ada"): "the database server refused the sign-in",
        asyncpg.TargetServerAttributeNotMatched("none"): "matches target_session_attrs",
        asyncpg.ReadOnlySQLTransactionError("no"): "a read-only standby, or default_transaction_re",
    }

    found = {str(error): str(translate(error, place)) for error in told}

    assert [words for error, words in told.items() if words not in found[str(error)]] == []


async def test_a_wrong_option_of_the_url_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"sslmode.*must be one of.*; correct the database URL"):
        await connect(read_url("postgresql://127.0.0.1:1/skills?sslmode=always"))
