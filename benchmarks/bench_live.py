"""The cost of 200 open queue pages for one node: while idle, and while skills are checked.

It uses a real server in a separate process. Each open page listens like a browser, and loads the
page again whenever it is told that something has changed. The same skills are submitted twice,
first without open pages; the processor time of the server (without the scan processes) is compared.
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import scratch

PAGES = 200
SKILLS = 60
IDLE_SECONDS = 10.0
PROGRAM = Path(sys.executable).with_name("vskill-platform")
_TICKS = os.sysconf("SC_CLK_TCK")
_PATIENCE_SECONDS = 300
_MANIFEST = "---\nname: {name}\ndescription: Notes {name}. Use for {name}.\n---\n{text}\n"


class Watching(msgspec.Struct):
    told: int = 0
    loaded: int = 0


async def main() -> None:
    with scratch() as folder:
        port = _free_port()
        environment = {
            **os.environ,
            "VSKILL_DATABASE_URL": f"sqlite:///{folder}/skills.db",
            "VSKILL_PORT": str(port),
            "VSKILL_LOG_LEVEL": "ERROR",
            "VSKILL_READS_PER_MINUTE": "1000000",
        }
        server = await asyncio.create_subprocess_exec(
            str(PROGRAM), "serve", env=environment, cwd=folder, stderr=subprocess.DEVNULL
        )
        try:
            await _wait_for(port, "/readyz")
            await _measure(server.pid, port, folder, environment)
        finally:
            server.terminate()
            await server.wait()


async def _measure(pid: int, port: int, folder: Path, environment: dict[str, str]) -> None:
    alone_idle = await _idle(pid)
    alone = await _busy(pid, port, folder / "alone", environment)
    watching = Watching()
    pages = [asyncio.create_task(_page(port, number, watching)) for number in range(PAGES)]
    await asyncio.sleep(2)
    watched_idle = await _idle(pid)
    watched = await _busy(pid, port, folder / "watched", environment)
    for page in pages:
        page.cancel()
    print(f"{PAGES} open queue pages on one node, {SKILLS} skills submitted and checked")
    print(f"  idle, share of a core     {alone_idle:7.2%}   with pages {watched_idle:7.2%}")
    print(f"  server, processor seconds {alone:7.2f}   with pages {watched:7.2f}", end="")
    print(f"   ratio {watched / alone:.2f}")
    loads = max(watching.loaded, 1)
    print(f"  pages were told {watching.told} times and loaded {watching.loaded} times,", end="")
    print(f" {(watched - alone) / loads * 1000:.1f} ms of the server each")


async def _idle(pid: int) -> float:
    before = _cpu(pid)
    await asyncio.sleep(IDLE_SECONDS)
    return (_cpu(pid) - before) / IDLE_SECONDS


async def _busy(pid: int, port: int, folder: Path, environment: dict[str, str]) -> float:
    for number in range(SKILLS):
        name = f"{folder.name}-{number}"
        skill = folder / name
        skill.mkdir(parents=True)
        words = " ".join(f"{name}{word * number}" for word in range(40))
        (skill / "SKILL.md").write_text(_MANIFEST.format(name=name, text=words))
    before = _cpu(pid)
    command = [str(PROGRAM), "submit", str(folder), "--all"]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    await process.wait()
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        stats = msgspec.json.decode(await _get(port, "/api/v1/queue/stats"))
        if stats["active"] == 0 and stats["total"] >= SKILLS:
            return _cpu(pid) - before
        await asyncio.sleep(0.5)
    raise SystemExit("the checks do not come to an end")


async def _page(port: int, number: int, watching: Watching) -> None:
    """Listen as a page does, each of another visitor, and look again when told."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"GET /live/queue HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        b"X-Forwarded-For: 198.51.100.%d\r\n\r\n" % number
    )
    try:
        while line := await reader.readline():
            if line.startswith(b"event: changed"):
                watching.told += 1
                await _get(port, "/queue")
                watching.loaded += 1
    finally:
        writer.close()


async def _get(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
    return answer.partition(b"\r\n\r\n")[2]


async def _wait_for(port: int, path: str) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        try:
            await _get(port, path)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            return
    raise SystemExit("the server does not answer")


def _cpu(pid: int) -> float:
    """Return the processor seconds that a process used, without those of its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


if __name__ == "__main__":
    asyncio.run(main())
