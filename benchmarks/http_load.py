"""Clients that send requests to a local server as fast as it answers; run in a separate process."""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE, Popen

import msgspec
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

_END_OF_HEAD = b"\r\n\r\n"


class Load(msgspec.Struct, frozen=True):
    port: int
    paths: list[str]
    clients: int


class Loaded(msgspec.Struct, frozen=True):
    #: How long each request took.
    seconds: list[float]
    took: float


def put_under_load(load: Load) -> Loaded:
    """Let clients in another process ask for all paths, each once."""
    with Popen([sys.executable, __file__], stdin=PIPE, stdout=PIPE) as process:
        answer, _ = process.communicate(msgspec.json.encode(load))
    assert process.returncode == 0
    return msgspec.json.decode(answer, type=Loaded)


async def ask(port: int, paths: Sequence[str]) -> tuple[list[float], list[bytes]]:
    """Ask one after the other on one connection; return how long each took, and the bodies."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seconds, bodies = [], []
    for path in paths:
        started = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(_END_OF_HEAD)
        bodies.append(await reader.readexactly(_length(head)))
        seconds.append(time.perf_counter() - started)
        assert head.startswith(b"HTTP/1.1 200 "), (path, head, bodies[-1])
    writer.close()
    return seconds, bodies


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next(
        int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")
    )


async def main() -> None:
    load = msgspec.json.decode(sys.stdin.buffer.read(), type=Load)
    started = time.perf_counter()
    answers = await asyncio.gather(
        *(ask(load.port, load.paths[first :: load.clients]) for first in range(load.clients))
    )
    took = time.perf_counter() - started
    seconds = [second for some, _ in answers for second in some]
    sys.stdout.buffer.write(msgspec.json.encode(Loaded(seconds, took)))


if __name__ == "__main__":
    uvloop.run(main())
