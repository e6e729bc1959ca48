"""Git through our proxy to hosts with TLS, with real certificates and names."""

import ipaddress
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.git_server import GitServer, a_git_server
from vskill_platform.errors import SourceMoved, SourceRefused, SourceUnavailable
from vskill_platform.fetch import ip_addresses
from vskill_platform.fetch.fetch_source import fetched
from vskill_platform.model.source import git_source

pytestmark = pytest.mark.usefixtures("bound", "leftovers")


class Names:
    """What names lead to, one answer after the other; the last one stays."""

    def __init__(self) -> None:
        self.answers = ["127.0.0.1"]
        self.asked: list[str] = []

    async def resolve(self, host: str, _port: int) -> list[ip_addresses.Address]:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [ipaddress.ip_address(answer)]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Make 127.0.0.1 the public internet of this test, and every name lead there."""
    names = Names()
    monkeypatch.setattr(ip_addresses, "resolve", names.resolve)
    monkeypatch.setattr(ip_addresses, "is_public", lambda address: str(address) == "127.0.0.1")
    return names


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Make a certificate for git.example, with its key in the same file."""
    place = tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=git.example",
         "-addext", "subjectAltName=DNS:git.example",
         "-keyout", place, "-out", tmp_path / "public"],
        check=True, capture_output=True,
    )  # fmt: skip
    with place.open("ab") as both:
        both.write((tmp_path / "public").read_bytes())
    return place


@pytest.fixture
def server(
    tmp_path: Path, names: Names, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GitServer]:
    """Serve one skill over TLS, with a certificate that the system of this test trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "public"))
    with a_git_server(tmp_path / "served", certificate) as server:
        server.serve_repo(a_skill_folder(tmp_path), "ada/notes")
        yield server


async def fetch(url: str) -> list[str]:
    async with fetched(git_source(url)) as snapshot:
        return [file.path for file in snapshot.files]


async def test_a_repo_is_fetched_through_tunnels(server: GitServer, names: Names) -> None:
    assert await fetch(f"https://git.example:{server.server_port}/ada/notes") == ["SKILL.md"]
    assert set(names.asked) == {"git.example"}


async def test_a_name_that_leads_inside_after_the_first_connection_is_refused(
    server: GitServer, names: Names
) -> None:
    names.answers = ["127.0.0.1", "10.0.0.7"]

    with pytest.raises(SourceUnavailable, match=r"no public host git\.example can be found"):
        await fetch(f"https://git.example:{server.server_port}/ada/notes")

    assert len(names.asked) == 2


async def test_a_certificate_for_another_name_is_refused(server: GitServer) -> None:
    with pytest.raises(SourceRefused, match="git could not"):
        await fetch(f"https://other.example:{server.server_port}/ada/notes")


@pytest.mark.parametrize("target", ["http://git.example:{port}/ada/notes", "file:///etc"])
async def test_a_redirect_away_from_tls_is_not_followed(server: GitServer, target: str) -> None:
    def redirect(request: BaseHTTPRequestHandler) -> None:
        place = target.format(port=server.server_port)
        request.send_response(301)
        request.send_header("Location", f"{place}/info/refs?service=git-upload-pack")
        request.send_header("Content-Length", "0")
        request.end_headers()

    server.answers["/eve/evil"] = redirect

    with pytest.raises(SourceMoved, match="redirects are not followed"):
        await fetch(f"https://git.example:{server.server_port}/eve/evil")


async def test_a_public_host_that_redirects_elsewhere_is_named_with_the_new_address(
    server: GitServer,
) -> None:
    def redirect(request: BaseHTTPRequestHandler) -> None:
        request.send_response(301)
        request.send_header("Location", "https://new.example/ada/notes.git/info/refs?service=x")
        request.send_header("Content-Length", "0")
        request.end_headers()

    server.answers["/ada/old"] = redirect

    with pytest.raises(SourceMoved, match=r"redirects to https://new\.example/ada/notes;"):
        await fetch(f"https://git.example:{server.server_port}/ada/old")
