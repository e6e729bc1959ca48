"""Serve a folder of repositories as git itself does: `git http-backend` and a minimal server."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_END_OF_HEAD = b"\r\n\r\n"


@contextmanager
def serving_folder(folder: Path) -> Iterator[int]:
    """Serve the repositories of a folder; give the port."""

    class Handler(_Handler):
        root = str(folder)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    #: A response is sent in one piece.
    wbufsize = -1
    root = ""

    def do_GET(self) -> None:
        self._run()

    def do_POST(self) -> None:
        self._run()

    def log_message(self, *_: object) -> None:
        pass

    def _run(self) -> None:
        path, _, query = self.path.partition("?")
        size = self.headers.get("Content-Length", "0")
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": size,
            "REMOTE_ADDR": "127.0.0.1",
        }
        body = self.rfile.read(int(size))
        command = ["git", "http-backend"]
        output = subprocess.run(command, input=body, env=env, stdout=subprocess.PIPE, check=True)
        head, _, content = output.stdout.partition(_END_OF_HEAD)
        assert not head.startswith(b"Status:"), head
        length = f"\r\nContent-Length: {len(content)}".encode()
        answer = (b"HTTP/1.1 200 OK\r\n", head, length, _END_OF_HEAD, content)
        self.wfile.write(b"".join(answer))
