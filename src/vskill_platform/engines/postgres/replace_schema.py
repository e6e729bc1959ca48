"""Rename the schema of a registry before a backup replaces it."""

from datetime import UTC, datetime

import msgspec

from vskill_platform.engines.copy_database import UNFINISHED
from vskill_platform.engines.postgres.connection import (
    DatabaseLocation,
    PostgresConnection,
    connect,
    errors_translated,
    read_url,
)
from vskill_platform.errors import EngineError


async def set_aside(url: str, history_id: str) -> str | None:
    """Rename the schema; return its new name, or None if there was nothing to keep.

    An unfinished restore of the same backup stays, so that it can be finished.
    """
    place = read_url(url)
    with errors_translated(place):
        connection = await connect(place)
        try:
            return await _rename(connection, place, history_id)
        finally:
            await connection.close()


async def _rename(
    connection: PostgresConnection, place: DatabaseLocation, history_id: str
) -> str | None:
    schema = place.schema
    if await connection.fetchval("SELECT to_regclass($1)", f"{schema}.kv") is None:
        return None
    await _refuse_in_use(connection, place)
    unfinished = await connection.fetchval(
        f"SELECT value FROM {schema}.kv WHERE key = $1",  # noqa: S608 - a checked name
        UNFINISHED,
    )
    if unfinished and msgspec.json.decode(unfinished)["history_id"] == history_id:
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
