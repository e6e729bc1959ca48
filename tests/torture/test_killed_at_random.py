"""Web nodes, workers and PostgreSQL are killed at random moments while users upload skills.

TORTURE_KILLS=300 TORTURE_SKILLS=600 TORTURE_SEED=2 make torture
"""

import asyncio
import os
from collections import Counter
from random import Random
from typing import Any

import asyncpg
import pytest

from tests.postgres_server import OwnServer
from tests.torture.audit import find_mistakes
from tests.torture.bystanders import bystanders
from tests.torture.conftest import StartNodes
from tests.torture.nodes import Load, Nodes
from tests.torture.skills import make_skills, submitted_by_program, with_updates

_KILLS = int(os.environ.get("TORTURE_KILLS", "60"))
_SKILLS = int(os.environ.get("TORTURE_SKILLS", "150"))
_SEED = int(os.environ.get("TORTURE_SEED", "1"))
#: How long a process may work before it is killed; it starts in about one second.
_LONGEST_SECONDS = 4.0
_SHARES = {"web": 4, "worker": 4, "children": 1, "backend": 2, "postgres": 1, "restart": 1}

#: How often workers have begun a submission that is not finished.
_CLAIMS = """
SELECT coalesce(sum((convert_from(value, 'UTF8')::jsonb->>'tries')::int), 0) FROM vskill.kv
WHERE key >= 'sub:' AND key < 'sub;'
"""


@pytest.mark.timeout(3600)
async def test_nothing_is_lost_or_doubled_whatever_is_killed(
    server: OwnServer, start_nodes: StartNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.torture.nodes.PATIENCE_SECONDS", 1800.0)
    nodes = start_nodes(server.url, workers=2)
    skills = with_updates(make_skills(_SKILLS, seed=_SEED))
    by_program = submitted_by_program(make_skills(_SKILLS // 20, seed=_SEED + 1))
    dice = Random(_SEED)

    load = Load()
    async with nodes.under_review(load, Random(_SEED)):
        async with (
            bystanders(nodes, load, by_program, Random(_SEED)),
            nodes.under_load(skills, users=4, load=load),
        ):
            kills = await _kill_at_random(nodes, server, load, dice)
        await nodes.settled()
    await nodes.settled()

    assert kills.total() >= _KILLS
    assert load.decided
    assert load.answers["backup: 0"]
    assert load.answers["read: 200"]
    assert await find_mistakes(nodes, [*skills, *by_program], load) == []
    assert await nodes.stop() == []


async def _kill_at_random(
    nodes: Nodes, server: OwnServer, load: Load, dice: Random
) -> Counter[str]:
    """Kill until there were enough kills, and spread them over all submissions."""
    kills: Counter[str] = Counter()
    while kills.total() < _KILLS:
        await load.reached(_SKILLS * kills.total() // _KILLS)
        await asyncio.sleep(dice.uniform(0, _LONGEST_SECONDS))
        (what,) = dice.choices(list(_SHARES), list(_SHARES.values()))
        kills[what] += 1
        await asyncio.to_thread(_kill, what, nodes, server, dice)
    return kills


def _kill(what: str, nodes: Nodes, server: OwnServer, dice: Random) -> None:
    if what == "backend":
        server.kill_a_backend(dice.randrange(100))
    elif what == "postgres":
        server.kill()
        server.start()
    elif what == "restart":
        server.stop()
        server.start()
    elif what == "children":
        dice.choice(nodes.workers).kill_a_child(dice)
    else:
        node = dice.choice(nodes.web if what == "web" else nodes.workers)
        node.kill()
        node.restart()


@pytest.mark.timeout(1800)
async def test_dead_letters_after_kills_have_a_reason_and_can_be_requeued(
    server: OwnServer, start_nodes: StartNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.torture.nodes.PATIENCE_SECONDS", 1800.0)
    skills = make_skills(12, seed=_SEED, kind="plain")
    nodes = await asyncio.to_thread(start_nodes, server.url, max_retries="1")

    connection = await asyncpg.connect(server.admin_url)
    async with nodes.under_load(skills) as load:
        before = 0
        while not await connection.fetchval("SELECT count(*) FROM vskill.dead_letter"):
            claims = await connection.fetchval(_CLAIMS)
            if claims > before:
                await asyncio.to_thread(nodes.workers[0].kill)
                nodes.workers[0].restart()
            before = claims
    await connection.close()
    await nodes.settled()
    async with nodes.platform.env() as env:
        letters = await env.engine.queue.dead_letters()
    dead = [await _submission(nodes, each.key) for each in letters]
    for letter in letters:
        await asyncio.to_thread(
            nodes.run, "admin", "dead-letters", "requeue", str(letter.message_id)
        )
    await nodes.settled()

    assert letters
    assert all(letter.reason for letter in letters)
    assert {each["state"] for each in dead} <= {"TIER1_FAILED", "REJECTED"}
    assert all(each["reason"] for each in dead)
    assert await find_mistakes(nodes, skills, load) == []
    assert await nodes.stop() == []


async def _submission(nodes: Nodes, key: str | None) -> dict[str, Any]:
    assert key
    found: dict[str, Any] = await nodes.get_json(f"/api/v1/submissions/{key.rpartition(':')[2]}")
    return found
