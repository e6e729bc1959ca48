"""A TLS proxy before a registry on loopback, for clients that publish over HTTPS only."""

import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import msgspec

_HOP = frozenset({"connection", "content-length", "transfer-encoding", "content-encoding"})


class TlsFront(msgspec.Struct, frozen=True):
    url: str
    #: The certificate that a client has to trust.
    certificate: Path


@contextmanager
def tls_front(upstream: str, folder: Path) -> Iterator[TlsFront]:
    """Pass requests on to *upstream* within the block."""
    certificate, key = _make_certificate(folder)
    server = _Front(("127.0.0.1", 0), _Handler)
    server.upstream = upstream
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield TlsFront(f"https://127.0.0.1:{server.server_port}", certificate)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Front(ThreadingHTTPServer):
    daemon_threads = True
    upstream: str


class _Handler(BaseHTTPRequestHandler):
    server: _Front

    def do_GET(self) -> None:
        self._pass_on()

    def do_PUT(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        sent = {name: text for name, text in self.headers.items() if name.lower() not in _HOP}
        answer = httpx.request(
            self.command,
            self.server.upstream + self.path,
            headers={**sent, "Accept-Encoding": "identity"},
            content=self.rfile.read(length),
            timeout=60,
        )
        self.send_response(answer.status_code)
        for name, text in answer.headers.items():
            if name.lower() not in _HOP:
                self.send_header(name, text)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *_: object) -> None:
        """Keep the output of the tests clean."""


def _make_certificate(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key
