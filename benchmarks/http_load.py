"""Clients that send requests to a local server as fast as it answers; run in a separate process.

They share the processors with the server, so they do as little as possible: all of them together
are one loop over sockets.
"""

import select
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE, Popen

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"
_AT_ONCE_BYTES = 1 << 18


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


def ask(port: int, path: str) -> bytes:
    """Ask once, and return the body."""
    client = _Client(port, [path])
    client.start()
    while not client.receive():
        pass
    client.connection.close()
    return client.body


class _Client:
    """One connection, which asks for its paths one after the other."""

    def __init__(self, port: int, paths: Sequence[str]) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.seconds: list[float] = []
        self.body = b""
        self._left = deque(paths)
        self._received = b""
        self._started = 0.0

    def start(self) -> bool:
        """Send the next request, if there is one."""
        if not self._left:
            return False
        request = f"GET {self._left[0]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        self._received, self._started = b"", time.perf_counter()
        self.connection.sendall(request)
        return True

    def receive(self) -> bool:
        """Read what has come; return whether that completes the answer."""
        some = self.connection.recv(_AT_ONCE_BYTES)
        assert some, "the server has closed the connection"
        self._received += some
        head, end, body = self._received.partition(_END_OF_HEAD)
        if not end or len(body) < _length_in(head):
            return False
        self.seconds.append(time.perf_counter() - self._started)
        path, self.body = self._left.popleft(), body
        assert head.startswith(b"HTTP/1.1 200 "), (path, head, body)
        return True


def _length_in(head: bytes) -> int:
    after = head.lower().partition(_LENGTH)[2]
    return int(after.partition(b"\r\n")[0])


def put_load(load: Load) -> Loaded:
    started = time.perf_counter()
    clients = [_Client(load.port, load.paths[at :: load.clients]) for at in range(load.clients)]
    by_number = {client.connection.fileno(): client for client in clients}
    with select.epoll() as waiting:
        busy = 0
        for number, client in by_number.items():
            waiting.register(number, select.EPOLLIN)
            busy += client.start()
        while busy:
            for number, _ in waiting.poll():
                client = by_number[number]
                if client.receive() and not client.start():
                    waiting.unregister(number)
                    busy -= 1
    took = time.perf_counter() - started
    for client in clients:
        client.connection.close()
    return Loaded([second for client in clients for second in client.seconds], took)


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.buffer.read(), type=Load)
    sys.stdout.buffer.write(msgspec.json.encode(put_load(given)))
