"""Readers, clients with invalid requests, and backups, while the test causes faults."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random

import httpx
import msgspec

from tests.torture.nodes import Load, Nodes
from tests.torture.skills import Skill

_PATHS = (
    "/", "/queue", "/readyz", "/api/v1/queue/stats", "/api/v1/skills?limit=5",
    "/api/v1/submissions?limit=5", "/api/v1/skills/search?q=ba",
)  # fmt: skip
_LONGEST_PAUSE_SECONDS = 0.5
#: Between two backups; each starts two programs.
_BACKUP_PAUSE_SECONDS = 10.0
#: How long `submit` may run before it is killed: it starts in about one second.
_LONGEST_SUBMIT_SECONDS = 2.0
_MOST_KILLED_SUBMITS = 3


@asynccontextmanager
async def bystanders(
    nodes: Nodes, load: Load, skills: Sequence[Skill], dice: Random
) -> AsyncIterator[None]:
    """Let them act; what no outage explains is added to `load.odd`."""
    async with asyncio.TaskGroup() as tasks:
        endless = [
            tasks.create_task(_read(nodes, load, Random(dice.random()))),
            tasks.create_task(_send_rubbish(nodes, load, Random(dice.random()))),
            tasks.create_task(_back_up(nodes, load)),
        ]
        tasks.create_task(_submit_by_program(nodes, load, skills, Random(dice.random())))
        yield
        for task in endless:
            task.cancel()


async def _read(nodes: Nodes, load: Load, dice: Random) -> None:
    """Look at pages and lists: an outage is a 503, and what was listed stays listed."""
    most = dict.fromkeys([node.port for node in nodes.web], 0)
    while True:
        await asyncio.sleep(dice.uniform(0, _LONGEST_PAUSE_SECONDS))
        node, path = dice.choice(nodes.web), dice.choice(_PATHS)
        try:
            answer = await nodes.request("GET", path, node=node)
        except httpx.TransportError as error:
            load.answers[f"read: {type(error).__name__}"] += 1
            continue
        load.answers[f"read: {answer.status_code}"] += 1
        if answer.status_code not in {200, 429, 503}:
            load.odd.append(f"GET {path}: {answer.status_code} {answer.text[:300]}")
        if answer.status_code == 200 and path.startswith("/api/v1/skills?"):
            total = answer.json()["pagination"]["total"]
            if total < most[node.port]:
                load.odd.append(f"{node.port}: {total} skills after {most[node.port]}")
            most[node.port] = max(most[node.port], total)


async def _send_rubbish(nodes: Nodes, load: Load, dice: Random) -> None:
    """Upload truncated archives; each must be refused."""
    while True:
        await asyncio.sleep(dice.uniform(0, 10 * _LONGEST_PAUSE_SECONDS))
        rubbish = b"\x1f\x8b\x08\0" + dice.randbytes(dice.randint(1, 400))
        files = {"files": ("skill.tar.gz", rubbish, "application/gzip")}
        try:
            answer = await nodes.request("POST", "/api/v1/submissions/upload", files=files)
        except httpx.TransportError:
            continue
        load.answers[f"rubbish: {answer.status_code}"] += 1
        if answer.status_code not in {400, 413, 422, 429, 503}:
            load.odd.append(f"rubbish: {answer.status_code} {answer.text[:300]}")


async def _back_up(nodes: Nodes, load: Load) -> None:
    """Make backups: each is whole, or it is not there."""
    number = 0
    while True:
        number += 1
        file = nodes.platform.folder / f"backup-{number}"
        done, printed = await _run(nodes, "admin", "backup", str(file))
        load.answers[f"backup: {done}"] += 1
        if "Traceback" in printed:
            load.odd.append(f"backup: {printed[-500:]}")
        if done == 0:
            verified, printed = await _run(nodes, "admin", "restore", "--verify", str(file))
            if verified:
                load.odd.append(f"the backup is not whole: {printed[-500:]}")
            await asyncio.to_thread(file.unlink)
        elif file.exists():
            load.odd.append(f"a backup that failed is there: {printed[-500:]}")
        await asyncio.sleep(_BACKUP_PAUSE_SECONDS)


async def _submit_by_program(
    nodes: Nodes, load: Load, skills: Sequence[Skill], dice: Random
) -> None:
    """Submit folders by the command, which is killed now and then."""
    for skill in skills:
        folder = nodes.platform.folder / "submitted" / skill.name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_bytes(skill.manifest)
        for _ in range(dice.randint(0, _MOST_KILLED_SUBMITS)):
            killed = nodes.platform.start_anew("submit", str(folder), "--json")
            await asyncio.sleep(dice.uniform(0, _LONGEST_SUBMIT_SECONDS))
            await asyncio.to_thread(killed.kill)
        while skill.name not in load.ids:
            code, printed = await _run(nodes, "submit", str(folder), "--json")
            load.answers[f"submit: {code}"] += 1
            if code == 0:
                load.ids[skill.name] = msgspec.json.decode(printed)["submission"]["id"]
            elif "Traceback" in printed:
                load.odd.append(f"submit: {printed[-500:]}")


async def _run(nodes: Nodes, *arguments: str) -> tuple[int, str]:
    running = nodes.platform.start_anew(*arguments)
    try:
        code = await asyncio.to_thread(running.wait)
    finally:
        if running.is_alive:
            running.kill()
    return code, running.rest()
