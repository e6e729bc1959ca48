"""A server on loopback that answers the requests of the client one after the other."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import keyring
import msgspec
import pytest
from keyring.backend import KeyringBackend


class Reply(msgspec.Struct):
    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = {}


class Seen(msgspec.Struct):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ScriptedServer:
    """Gives the replies in order, the last one for ever, and keeps what was asked."""

    def __init__(self) -> None:
        self.replies: list[Reply] = [Reply()]
        self.seen: list[Seen] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _reply(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size)
                server.seen.append(Seen(self.command, self.path, dict(self.headers), body))
                reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in reply.headers:
                    self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            do_GET = do_POST = do_PATCH = do_DELETE = _reply  # noqa: N815 - names of the standard library

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@pytest.fixture
def elsewhere() -> Iterator[ScriptedServer]:
    """Another server: its port differs, so it is another origin."""
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


class MemoryKeyring(KeyringBackend):
    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the library has no types
        self.kept: dict[tuple[str, str], str] = {}

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def system_keyring() -> Iterator[MemoryKeyring]:
    before, backend = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@pytest.fixture
def no_keyring() -> Iterator[None]:
    from keyring.backends.fail import Keyring  # noqa: PLC0415 - registers itself

    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())  # type: ignore[no-untyped-call]  # the library has no types
    yield
    keyring.set_keyring(before)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with a configuration folder of its own."""
    return {"XDG_CONFIG_HOME": str(tmp_path)}
