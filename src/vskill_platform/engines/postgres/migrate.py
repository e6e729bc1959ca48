"""Create and upgrade the tables, one node at a time, even while another release is running."""

import re
from collections.abc import Sequence

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.postgres.connection import (
    ISOLATION,
    LIFT_TIMEOUTS,
    DatabaseLocation,
    PostgresConnection,
    connect,
    errors_translated,
    for_schema,
)
from vskill_platform.engines.sql_file import load_migrations
from vskill_platform.errors import ConfigError

log = get_logger(__name__)

_MIGRATIONS = load_migrations("vskill_platform.engines.postgres", "schema")
CURRENT_VERSION = len(_MIGRATIONS)
_USABLE_FROM = re.compile(r"-- usable from (\d+)\n")
#: The oldest release of PostgreSQL that has all required features and still gets fixes.
_OLDEST_SERVER = 14
#: The locks of migrations, one for each schema.
_MIGRATION_LOCK = 0x76736B6C  # "vskl"
#: Building an index on a large table takes minutes. Meanwhile other nodes retry to get the lock.
_MIGRATION_SECONDS = 3600.0


async def prepare_schema(place: DatabaseLocation, *, create: bool, migrate: bool = True) -> None:
    """Create or upgrade the tables; one node at a time does it while the others wait."""
    with errors_translated(place):
        connection = await connect(place)
        try:
            # One transaction, because behind a pooler the next one may get another session.
            async with connection.transaction(isolation=ISOLATION):
                await connection.execute(LIFT_TIMEOUTS)
                await _check_server(connection, place)
                if migrate:
                    await lock_schema(connection, place)
                await migrate_schema(connection, place, create=create, migrate=migrate)
        finally:
            await connection.close()


async def lock_schema(connection: PostgresConnection, place: DatabaseLocation) -> None:
    """Let no other process create, upgrade or replace the tables before the transaction ends."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock($1, hashtext($2))", _MIGRATION_LOCK, place.schema
    )


async def _check_server(connection: PostgresConnection, place: DatabaseLocation) -> None:
    version = connection.get_server_version()
    if version.major < _OLDEST_SERVER:
        raise ConfigError(
            f"{place.shown}: PostgreSQL {version.major} is too old; {_OLDEST_SERVER} or newer is "
            "needed"
        )
    encoding = await connection.fetchval("SHOW server_encoding")
    if encoding != "UTF8":
        raise ConfigError(
            f"{place.shown}: the database has the encoding {encoding}; create it with ENCODING "
            "'UTF8'"
        )


async def migrate_schema(
    connection: PostgresConnection, place: DatabaseLocation, *, create: bool, migrate: bool
) -> None:
    schema = place.schema
    found = await read_schema_version(connection, schema)
    version = found.version if found else None
    if version is None and not create:
        raise ConfigError(
            f"{place.shown}: there is no registry in schema {schema} yet. Start one with "
            "`vskill-platform serve`, or name the right database in VSKILL_DATABASE_URL."
        )
    if found and found.is_newer_but_usable:
        log.info("database has the schema of a newer release", version=version)
        return
    if (version or 0) > len(_MIGRATIONS):
        raise ConfigError(
            f"{place.shown}: the database has schema version {version}, this release knows "
            f"{len(_MIGRATIONS)}; use the newer release"
        )
    if version == len(_MIGRATIONS):
        return
    if not migrate:
        raise ConfigError(
            f"{place.shown}: the database has schema version {version}, this release needs "
            f"{len(_MIGRATIONS)}; start `serve` or `work` once to upgrade it"
        )
    async with connection.transaction():
        if version is None:
            await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            await connection.execute(f"CREATE TABLE {schema}.schema_version (version int NOT NULL)")
        await connection.execute(
            f"ALTER TABLE {schema}.schema_version ADD COLUMN IF NOT EXISTS usable_from int"
        )
        for script in _MIGRATIONS[version or 0 :]:
            await connection.execute(for_schema(script, schema), timeout=_MIGRATION_SECONDS)
        await connection.execute(f"TRUNCATE {schema}.schema_version")
        await connection.copy_records_to_table(
            "schema_version",
            schema_name=schema,
            columns=["version", "usable_from"],
            records=[(len(_MIGRATIONS), _usable_from(_MIGRATIONS))],
        )
    log.info("database schema upgraded", before=version or 0, after=len(_MIGRATIONS))


class SchemaVersion(msgspec.Struct, frozen=True):
    version: int
    #: The oldest version whose release can also use this schema.
    usable_from: int

    @property
    def is_newer_but_usable(self) -> bool:
        return self.version > len(_MIGRATIONS) >= self.usable_from


def _usable_from(migrations: Sequence[str]) -> int:
    """Return the oldest version whose release can use the schema after these scripts.

    That is the release of the script's own version, unless the first line names an older one,
    because the script only adds something: `-- usable from 2`.
    """
    found = [_USABLE_FROM.match(script) for script in migrations]
    return max(int(one[1]) if one else number for number, one in enumerate(found, 1))


async def read_schema_version(connection: PostgresConnection, schema: str) -> SchemaVersion | None:
    table = f"{schema}.schema_version"
    if await connection.fetchval("SELECT to_regclass($1)", table) is None:
        return None
    # As JSON, because the first databases have no column `usable_from`.
    row = msgspec.json.decode(
        await connection.fetchval(f"SELECT to_jsonb(found)::text FROM {table} AS found")  # noqa: S608 - checked name
    )
    return SchemaVersion(row["version"], row.get("usable_from") or row["version"])
