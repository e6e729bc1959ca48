"""A real git server on loopback: git's own http-backend and malicious responses."""

import os
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import cast
from urllib.parse import urlsplit

from tests.repos import a_repo

Answer = Callable[[BaseHTTPRequestHandler], None]


class GitServer(ThreadingHTTPServer):
    """Serves every repo below a folder; a path may be given an answer of the test's own."""

    daemon_threads = True

    def __init__(self, root: Path, certificate: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Bridge)
        self._scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        self.root = root
        #: What to answer below a path instead of a repo.
        self.answers: dict[str, Answer] = {}
        #: What to answer to a request for objects, when all before it was as it should be.
        self.packs: dict[str, Answer] = {}
        #: The paths that were asked for, in order.
        self.asked: list[str] = []
        #: Set when the test ends, so that an answer without an end finds one.
        self.ended = Event()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.server_port}"

    @property
    def origin(self) -> str:
        """What VSKILL_PRIVATE_HOSTS must hold so that we may be asked."""
        return self.url

    def serve_repo(self, folder: Path, name: str) -> str:
        """Commit what is in *folder*; return the URL under which it can be had."""
        a_repo(folder)
        return self.serve_bare(folder / ".git", name)

    def serve_bare(self, repo: Path, name: str) -> str:
        """Serve a repo that is there already, as the large hosts do: with filters."""
        with (repo / "config").open("a") as config:
            config.write("[uploadpack]\n\tallowFilter = true\n[http]\n\tuploadpack = true\n")
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(repo)
        return f"{self.url}/{name}"


@contextmanager
def a_git_server(root: Path, certificate: Path | None = None) -> Iterator[GitServer]:
    root.mkdir(parents=True, exist_ok=True)
    server = GitServer(root, certificate)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


@cache
def _backend() -> str:
    """Return the program that `git http-backend` starts."""
    folder = subprocess.run(["git", "--exec-path"], check=True, capture_output=True, text=True)
    return f"{folder.stdout.strip()}/git-http-backend"


class _Bridge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self._body())

    def _answer(self, body: bytes) -> None:
        server = cast("GitServer", self.server)
        server.asked.append(self.path)
        self.close_connection = True
        answers = server.packs if b"command=fetch" in body else server.answers
        for prefix, answer in answers.items():
            if self.path.startswith(prefix):
                answer(self)
                return
        self._run_backend(server, body)

    def _run_backend(self, server: GitServer, body: bytes) -> None:
        parts = urlsplit(self.path)
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(
            [_backend()], input=body, env=environment, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = fields.pop("Status", "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().strip(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Print nothing."""
