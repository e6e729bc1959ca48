"""Connections to PostgreSQL: the URL, the pool, and the translation of its errors."""

import asyncio
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg
import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.sql_file import load_queries
from vskill_platform.errors import ConfigError, EngineError
from vskill_platform.secret_settings import check_server_url

log = get_logger(__name__)

PostgresConnection: TypeAlias = "asyncpg.Connection[Any] | asyncpg.pool.PoolConnectionProxy[Any]"

_QUERIES = load_queries("vskill_platform.engines.postgres", "queries.sql")
#: The schema in the SQL files; a URL can name another one.
DEFAULT_SCHEMA = "vskill"
_POOLERS = ("none", "transaction")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,39}")
_IN_SQL = re.compile(rf"\b{DEFAULT_SCHEMA}\b(?=\.)|(?<='){DEFAULT_SCHEMA}(?='::regnamespace)")
CONNECT_SECONDS = 10
#: All our statements are short; a long one would delay all others.
_STATEMENT_SECONDS = 30
_LOCK_SECONDS = 10
_IDLE_IN_TRANSACTION_SECONDS = 15
_TIMEOUTS = {
    "statement_timeout": f"{_STATEMENT_SECONDS}s",
    "lock_timeout": f"{_LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{_IDLE_IN_TRANSACTION_SECONDS}s",
    # The role may have such a timeout; the pool closes idle connections itself.
    "idle_session_timeout": "0",
}
#: No timeouts for connections outside of the pool, which listen, migrate or export. The timeouts of
#: the role or the database are meant for queries.
_NO_TIMEOUTS = dict.fromkeys(_TIMEOUTS, "0")
#: The same for one transaction, for use with a pooler. PostgreSQL 17 added transaction_timeout.
LIFT_TIMEOUTS = """
SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN (
  'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout'
)
"""
#: The server notices a lost node within a minute; its sessions would otherwise occupy connections
#: for hours.
_KEEPALIVE = {
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
#: Only with this isolation level does a check after a lock see the changes that the lock waited
#: for. The role or the database may have another default.
ISOLATION: Final = "read_committed"
_ISOLATION = {"default_transaction_isolation": "read committed"}
#: Every query uses an index. The statistics of a queue are always outdated, so the server would
#: prefer to read the whole table, or plan the statements of a function on every call.
_PLANS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}
POOL_SIZE = 8
#: Errors of a missing or lost connection. A cancelled statement is not one of them: its transaction
#: is rolled back, and a repetition would take as long again.
LOST = (
    OSError, EOFError, TimeoutError, asyncpg.InterfaceError, asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError, asyncpg.IdleSessionTimeoutError, asyncpg.TooManyConnectionsError,
)  # fmt: skip
#: Errors of a write on a standby; the second if its function reads the timeline first.
READ_ONLY = (asyncpg.ReadOnlySQLTransactionError, asyncpg.ObjectNotInPrerequisiteStateError)
_IS_READ_ONLY = "the database server is a read-only standby, or default_transaction_read_only is on"
_FORGOTTEN_POOLER = "a pooler is in between: add ?pooler=transaction to the database URL"
_ADVICE: tuple[tuple[type[BaseException], str], ...] = (
    (asyncpg.DiskFullError, "the disk of the database server is full"),
    (asyncpg.TooManyConnectionsError, "the database server has no free connections"),
    (asyncpg.InsufficientPrivilegeError, "the user of the database URL lacks permissions"),
    (asyncpg.InvalidAuthorizationSpecificationError, "the database server refused the sign-in"),
    (asyncpg.InvalidCatalogNameError, "the database does not exist; create it first"),
    *((kind, _IS_READ_ONLY) for kind in READ_ONLY),
    (
        asyncpg.TargetServerAttributeNotMatched,
        "no server in the database URL matches target_session_attrs",
    ),
    (asyncpg.QueryCanceledError, "the database took too long"),
    (asyncpg.LockNotAvailableError, "another transaction holds a lock for too long"),
    (ssl.SSLError, "no TLS connection to the database server; check sslmode and sslrootcert"),
    (asyncpg.InvalidSQLStatementNameError, _FORGOTTEN_POOLER),
    (asyncpg.DuplicatePreparedStatementError, _FORGOTTEN_POOLER),
    (asyncpg.UndefinedTableError, "the tables are missing; was the database replaced?"),
)


class NotConnected(EngineError):
    """No connection to the server could be made, so nothing was sent."""


class DatabaseLocation(msgspec.Struct, frozen=True):
    """Where the database is."""

    #: The URL for the driver, with the password.
    dsn: str
    schema: str
    #: The URL for messages, without user and password.
    shown: str
    #: Whether a pooler may give every transaction another connection to the server. If so, nothing
    #: is kept in a session: no prepared statements, settings or locks.
    is_pooled: bool = False

    @property
    def application_name(self) -> str:
        """The name of our connections in `pg_stat_activity`."""
        return f"vskill-platform {self.schema}"

    def __repr__(self) -> str:
        return f"DatabaseLocation({self.shown!r}, schema={self.schema!r})"


def read_url(url: str) -> DatabaseLocation:
    """Parse a database URL.

    `?schema=name` selects a schema, `?pooler=transaction` announces a pooler such as pgbouncer.
    """
    check_server_url(url)
    parts = urlsplit(url[:])  # a plain string, not a DatabaseUrl
    host = parts.hostname or ""
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    schema = options.pop("schema", DEFAULT_SCHEMA)
    pooler = options.pop("pooler", "none")
    if pooler not in _POOLERS:
        raise ConfigError(f"?pooler={pooler} is unknown: choose one of {', '.join(_POOLERS)}")
    if not _SCHEMA_NAME.fullmatch(schema):
        raise ConfigError(f"{schema!r} cannot be the schema of a registry: use a-z, 0-9 and _")
    dsn = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(options), ""))
    where = options.get("host") or host or "localhost"
    return DatabaseLocation(
        dsn=dsn,
        schema=schema,
        shown=f"postgresql://{where}{parts.path}",
        is_pooled=pooler == "transaction",
    )


def queries_for(schema: str) -> dict[str, str]:
    return {name: for_schema(query, schema) for name, query in _QUERIES.items()}


def for_schema(text: str, schema: str) -> str:
    return text if schema == DEFAULT_SCHEMA else _IN_SQL.sub(schema, text)


def translate(error: BaseException, place: DatabaseLocation) -> EngineError:
    advice = next((words for kind, words in _ADVICE if isinstance(error, kind)), "")
    if "unsupported startup parameter" in str(error):
        advice = _FORGOTTEN_POOLER
    if "rejected SSL upgrade" in str(error):
        advice = "the database server offers no TLS, but sslmode in the database URL asks for it"
    if not advice and isinstance(error, LOST):
        advice = "the database server does not answer"
    why = str(error) or type(error).__name__
    return EngineError(f"{place.shown}: {advice} ({why})" if advice else f"{place.shown}: {why}")


@contextmanager
def errors_translated(place: DatabaseLocation) -> Iterator[None]:
    try:
        yield
    except (asyncpg.PostgresError, *LOST) as error:
        raise translate(error, place) from error


def is_lost(error: EngineError) -> bool:
    """Return whether an error means that the connection was missing or lost."""
    return isinstance(error, NotConnected) or isinstance(error.__cause__, LOST)


async def connect(
    place: DatabaseLocation, *, timeout_seconds: float = CONNECT_SECONDS
) -> PostgresConnection:
    try:
        connection: PostgresConnection = await asyncpg.connect(
            place.dsn,
            timeout=timeout_seconds,
            command_timeout=_STATEMENT_SECONDS + 5,
            **_session_options(place, timeouts=_NO_TIMEOUTS),
        )
    except asyncpg.ClientConfigurationError as error:
        raise ConfigError(f"{place.shown}: {error}; correct the database URL") from error
    except LOST as error:
        raise not_connected(error, place) from error
    return connection


def not_connected(error: BaseException, place: DatabaseLocation) -> NotConnected:
    return NotConnected(str(translate(error, place)))


async def open_pool(place: DatabaseLocation, *, size: int = POOL_SIZE) -> "asyncpg.Pool[Any]":
    return await asyncpg.create_pool(
        place.dsn,
        min_size=0,  # otherwise the driver logs tracebacks in an outage
        max_size=size,
        timeout=CONNECT_SECONDS,
        command_timeout=_STATEMENT_SECONDS + 5,
        max_inactive_connection_lifetime=timedelta(minutes=5).total_seconds(),
        # We keep nothing in a session, so there is nothing to reset after each use.
        reset=_keep_session,
        **_session_options(place, timeouts=_TIMEOUTS),
    )


async def _keep_session(_connection: PostgresConnection) -> None:
    pass


def _session_options(place: DatabaseLocation, *, timeouts: dict[str, str]) -> dict[str, Any]:
    name = {"application_name": place.application_name}
    if place.is_pooled:  # a pooler refuses other parameters
        return {"server_settings": name, "statement_cache_size": 0}
    return {"server_settings": name | _KEEPALIVE | _ISOLATION | _PLANS | timeouts}


async def close_pool(pool: "asyncpg.Pool[Any]") -> None:
    """Close the connections; terminate those that do not end by themselves."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await pool.close()
    except TimeoutError:
        pool.terminate()
