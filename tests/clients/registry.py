"""A running registry for real clients, the skills that are published in it, and the clients."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.acceptance.program import Platform
from tests.browser.registry import own_words
from tests.missing import skip_without

CLIENTS = Path(__file__).parents[2] / ".clients"
_MODULES = CLIENTS / "node_modules"
_PATIENCE_SECONDS = 60


class Finished(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return f"{self.out}\n{self.err}"


class Registry(msgspec.Struct, frozen=True):
    """A server on loopback, and the database behind it."""

    platform: Platform
    url: str

    def add_publisher(self, name: str, *scopes: str) -> str:
        """Add a publisher with the namespace @name; return a token."""
        self._run("users", "add", name, "--role", "publisher")
        self._run("namespaces", "add-owner", f"@{name}", name)
        return self.add_token(name, *(scopes or ("read", "submit", "manage")))

    def add_token(self, name: str, *scopes: str) -> str:
        chosen = [part for scope in scopes for part in ("--scope", scope)]
        made = self._run("tokens", "add", name, "--label", "test", *chosen, "--json")
        return str(msgspec.json.decode(made)["token"])

    def publish(
        self, token: str, name: str, *, is_private: bool = False, **files: str
    ) -> dict[str, Any]:
        """Upload a skill over the API and wait until it is published; return its submission."""
        ended = self.upload(token, name, is_private=is_private, **files)
        assert ended["state"] == "PUBLISHED", ended
        self._wait_until_listed(name, ended["publishedSkillName"], token)
        return ended

    def upload(
        self, token: str, name: str, *, is_private: bool = False, **files: str
    ) -> dict[str, Any]:
        """Upload a skill over the API and wait for the end of its check."""
        content = {"SKILL.md": own_words(name), **files}
        made = httpx.post(
            f"{self.url}/api/v1/submissions/upload",
            headers={"Authorization": f"Bearer {token}"},
            files=[("files", (f"{name}/{path}", text)) for path, text in content.items()],
            data={"privacy": "private" if is_private else "public"},
            timeout=_PATIENCE_SECONDS,
        )
        assert made.status_code in {200, 201}, made.text
        return self._wait_for_end(made.json()["submissions"][0]["id"], token)

    def get_json(self, path: str, *, token: str = "") -> Any:
        answer = self.get(path, token=token)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def get(self, path: str, *, token: str = "") -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.get(f"{self.url}{path}", headers=headers, timeout=_PATIENCE_SECONDS)

    def _wait_for_end(self, submission_id: str, token: str) -> dict[str, Any]:
        patience = time.monotonic() + _PATIENCE_SECONDS
        while True:
            found: dict[str, Any] = self.get_json(
                f"/api/v1/submissions/{submission_id}", token=token
            )
            is_active = found["state"] in {"RECEIVED", "TIER1_SCANNING", "TIER2_SCANNING"}
            if not is_active and found["state"] != "AUTO_APPROVED":
                return found
            assert time.monotonic() < patience, found
            time.sleep(0.05)  # a real server in another process: there is nothing to await

    def _wait_until_listed(self, name: str, slug: str, token: str) -> None:
        """Wait until lists contain the version: on a busy machine, they may be a little behind."""
        patience = time.monotonic() + _PATIENCE_SECONDS
        version = self.get_json(f"/api/v1/skills/{slug}", token=token)["skill"]["version"]
        path = f"/api/v1/skills?q={name}&limit=100"
        while (slug, version) not in self._listed(path, token):
            assert time.monotonic() < patience, f"{slug} {version} is in no list"
            time.sleep(0.05)  # a real server in another process: there is nothing to await

    def _listed(self, path: str, token: str) -> set[tuple[str, str]]:
        found = self.get(path, token=token).json().get("skills", [])
        return {(one["slug"], one["currentVersion"]) for one in found}

    def _run(self, *arguments: str) -> str:
        finished = self.platform.run(*arguments)
        assert finished.code == 0, finished
        return finished.out


class Home(msgspec.Struct, frozen=True):
    """A person's machine: a home folder and a project, both empty at first."""

    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def run_node(
        self, package: str, script: str, *arguments: str | Path, node: str = "node22", **env: str
    ) -> Finished:
        """Run a script of an npm package."""
        return self.run(npm_file(node, "bin/node"), npm_file(package, script), *arguments, **env)

    def run(self, *command: str | Path, **env: str) -> Finished:
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            cwd=self.project,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE_SECONDS * 2,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """Nothing of this machine but the path; no client may report to its maker."""
        node = str(_MODULES / "node22/bin")
        return {
            "PATH": os.pathsep.join([node, os.environ["PATH"]]),
            "HOME": str(self.folder),
            "CI": "1",
            "NO_COLOR": "1",
            "DISABLE_TELEMETRY": "1",
            "DO_NOT_TRACK": "1",
            "CLAWHUB_DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            **more,
        }


def npm_file(package: str, path: str) -> Path:
    """Return a file of an installed npm package."""
    found = _MODULES / package / path
    if not found.is_file():
        skip_without(
            f"the npm package {package}",
            untested=f"the client {package}",
            get_it="install Node.js with npm, then `make test-clients`",
        )
    return found


def python_client(name: str) -> Path:
    """Return a program of the environment for Python clients."""
    found = CLIENTS / "venv/bin" / name
    if not found.is_file():
        skip_without(name, untested=f"the client {name}", get_it="`make test-clients`")
    return found


def make_tree(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


def read_tree(folder: Path, *, leave_out: Sequence[str] = ()) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(path.relative_to(folder).parts) & set(leave_out)
    }
