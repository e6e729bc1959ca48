"""Create the schema of a copy, and rename that of the registry that a backup replaces."""

from datetime import UTC, datetime

from vskill_platform.engines.copy_database import UNFINISHED, first_mark, is_mark_of
from vskill_platform.engines.exported import Export
from vskill_platform.engines.postgres.connection import (
    ISOLATION,
    LIFT_TIMEOUTS,
    DatabaseLocation,
    PostgresConnection,
    connect,
    errors_translated,
    read_url,
)
from vskill_platform.engines.postgres.migrate import lock_schema, migrate_schema
from vskill_platform.engines.postgres.transfer import write_record
from vskill_platform.errors import EngineError


async def set_aside(url: str, export: Export) -> str | None:
    """Rename the schema; return its new name, or None if there was nothing to keep.

    The same transaction creates the new schema as an unfinished copy: if the restore is killed,
    no process finds the database empty and begins a new registry. An unfinished restore of the
    same backup stays, so that it can be finished.
    """
    return await _begin(url, export, renames=True)


async def begin_schema(url: str, export: Export) -> None:
    """Create the schema as an unfinished copy, if there is none, for the same reason."""
    await _begin(url, export, renames=False)


async def _begin(url: str, export: Export, *, renames: bool) -> str | None:
    place = read_url(url)
    with errors_translated(place):
        connection = await connect(place)
        try:
            async with connection.transaction(isolation=ISOLATION):
                await connection.execute(LIFT_TIMEOUTS)
                await lock_schema(connection, place)
                found = await connection.fetchval("SELECT to_regclass($1)", f"{place.schema}.kv")
                kept = await _rename(connection, place, export) if found and renames else None
                if kept or not found:
                    await migrate_schema(connection, place, create=True, migrate=True)
                    await write_record(connection, place, first_mark(export))
                return kept
        finally:
            await connection.close()


async def _rename(
    connection: PostgresConnection, place: DatabaseLocation, export: Export
) -> str | None:
    schema = place.schema
    await _refuse_in_use(connection, place)
    unfinished = await connection.fetchval(
        f"SELECT value FROM {schema}.kv WHERE key = $1",  # noqa: S608 - a checked name
        UNFINISHED,
    )
    if unfinished and is_mark_of(export, unfinished):
        return None
    kept = f"{schema}_replaced_{datetime.now(UTC):%Y%m%d%H%M%S}"
    await connection.execute(f"ALTER SCHEMA {schema} RENAME TO {kept}")
    return kept


async def _refuse_in_use(connection: PostgresConnection, place: DatabaseLocation) -> None:
    others = await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND application_name = $1 AND pid <> pg_backend_pid()",
        place.application_name,
    )
    if others:
        raise EngineError(
            f"{place.shown}: {others} connections of the platform are open. Stop every `serve`, "
            "`work` and `tick` on every node, then try again"
        )
