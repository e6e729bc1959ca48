"""SSL_CERT_FILE decides which servers are trusted: those of an organization's own, too."""

import ssl
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from vskill_platform.base.tls import VARIABLE, certificate_file, describe_failure, tls_context
from vskill_platform.errors import ConfigError


class _Ok(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _loaded_again() -> Iterator[None]:
    tls_context.cache_clear()
    yield
    tls_context.cache_clear()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Make a certificate for this machine that no public authority has signed."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=login.example",
         "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", tmp_path / "key.pem", "-out", tmp_path / "certificate.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return tmp_path / "certificate.pem"


@pytest.fixture
def server(certificate: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.parent / "key.pem")
    with HTTPServer(("127.0.0.1", 0), _Ok) as listening:
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
        thread = Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


async def ask(url: str) -> int:
    async with httpx2.AsyncClient(verify=tls_context(), trust_env=False) as client:
        return (await client.get(url)).status_code


async def test_a_server_of_an_own_authority_is_trusted(
    server: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(certificate))

    assert await ask(server) == 204
    assert certificate_file() == str(certificate)


async def test_it_is_not_trusted_without_the_variable(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)

    with pytest.raises(httpx2.ConnectError) as raised:
        await ask(server)

    why = "its certificate is not trusted: self-signed certificate; see SSL_CERT_FILE"
    assert describe_failure(raised.value) == why


async def test_any_other_failure_is_described_without_an_address() -> None:
    with pytest.raises(httpx2.ConnectError) as raised:
        await ask("https://127.0.0.1:1")

    assert describe_failure(raised.value) == "ConnectError"


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone.pem"))

    with pytest.raises(ConfigError, match=r"SSL_CERT_FILE: .*gone\.pem cannot be read"):
        tls_context()
