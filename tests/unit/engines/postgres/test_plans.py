"""The server reads no whole table, although it has no statistics about it, and keeps its plans."""

import asyncpg
import pytest

from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Send
from vskill_platform.engines.postgres.connection import open_pool, read_url

_DUE = "SELECT 1 FROM vskill.message WHERE NOT is_ready AND ready_at <= 5"
_ACKNOWLEDGED = (
    "DELETE FROM vskill.message AS m USING unnest('{1,2,3}'::bigint[]) AS d (id) WHERE m.id = d.id"
)


@pytest.mark.parametrize(
    ("statement", "index"), [(_DUE, "message_waiting"), (_ACKNOWLEDGED, "message_pkey")]
)
async def test_statements_on_the_queue_use_an_index(url: str, statement: str, index: str) -> None:
    place = read_url(url)
    engine = await open_engine(url)
    await engine.commit([Send(b"%d" % number) for number in range(200)])
    await engine.close()
    pool = await open_pool(place, size=1)

    rows = await pool.fetch("EXPLAIN " + statement.replace("vskill.", f"{place.schema}."))
    await pool.close()

    plan = "\n".join(row[0] for row in rows)
    assert index in plan
    assert "Seq Scan" not in plan


async def test_functions_of_every_call_keep_their_plans(url: str) -> None:
    place = read_url(url)
    connection = await asyncpg.connect(place.dsn)
    rows = await connection.fetch(
        "SELECT proname, pronargs FROM pg_proc JOIN pg_language ON pg_language.oid = prolang "
        "WHERE lanname = 'sql' AND pronamespace = $1::text::regnamespace ORDER BY proname",
        place.schema,
    )
    await connection.close()

    # One is part of the plan of its caller, one is for nodes of an earlier release, one for prune.
    assert [tuple(row) for row in rows] == [("now_micros", 0), ("receive", 7), ("sum_up_counts", 0)]
