"""`admin mirrors` on this machine: the list, a comparison, and fetching a skill."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from vskill_platform.cli.main import cli
from vskill_platform.cli.run_command import run_command

INDEX = "/.well-known/agent-skills/index.json"
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"


@contextmanager
def a_site(names: list[str]) -> Iterator[str]:
    """Serve an index of these skills from another thread; the list may change meanwhile."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            digest = "sha256:" + hashlib.sha256(b"x").hexdigest()
            entry = {"type": "skill-md", "url": "/x", "digest": digest}
            skills = [{"name": name, **entry} for name in names]
            body = msgspec.json.encode({"$schema": SCHEMA, "skills": skills})
            self.send_response(200 if self.path == INDEX else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def names() -> list[str]:
    return ["demo"]


@pytest.fixture(autouse=True)
def own_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> Iterator[None]:
    with a_site(names) as url:
        path = tmp_path / "mirrors.toml"
        path.write_text(f'[site]\nkind = "discovery"\nurl = "{url}"\ndeny = ["no-*"]\n')
        monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'skills.db'}")
        monkeypatch.setenv("VSKILL_MIRRORS", str(path))
        monkeypatch.setenv("VSKILL_PRIVATE_HOSTS", url)
        run_command(_nothing, create=True)
        yield


async def _nothing() -> None:
    pass


def mirrors(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["admin", "mirrors", *arguments])


def test_a_skill_is_fetched_listed_and_compared(names: list[str]) -> None:
    fetched = mirrors("fetch", "site", "demo")
    listed = msgspec.json.decode(mirrors("list", "--json").stdout)
    table = mirrors("list")
    names.remove("demo")
    checked = mirrors("check", "site")

    assert fetched.exit_code == 0, fetched.output
    assert "@site_skills/demo: submission sub_" in fetched.stdout
    assert [one["name"] for one in listed["mirrors"]] == ["site"]
    assert [(one["slug"], one["status"]) for one in listed["skills"]] == [
        ("@site_skills/demo", "current")
    ]
    assert "site" in table.stdout
    assert checked.exit_code == 1
    assert "missing" in checked.stdout
    assert "the index of site has no skill 'demo'" in checked.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("fetch", "other", "demo"), "'other' is not a mirror in the settings; there are: site"),
        (("fetch", "site", "../demo"), "is not the name of a skill of site"),
        (("fetch", "site", "no-demo"), "the operator does not mirror no-demo of site"),
        (("fetch", "site", "none"), "the index of site has no skill 'none'"),
        (("fetch", "site", "demo", "1.0.0"), "site has only the latest version"),
        (("check", "other"), "'other' is not a mirror in the settings; there are: site"),
    ],
)
def test_errors_have_a_clear_message(arguments: tuple[str, ...], problem: str) -> None:
    result = mirrors(*arguments)

    assert result.exit_code != 0
    assert problem in str(result.exception)
