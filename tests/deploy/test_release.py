"""`make release` in a copy of the repo, and its wheel in an environment of its own."""

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.ports import free_port, get
from tests.acceptance.processes import Running

pytestmark = pytest.mark.deploy
ROOT = Path(__file__).parents[2]
VERSION = "9.8.7"


def run(folder: Path, *command: str | Path, **env: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "repo"
    run(ROOT, "git", "clone", "--quiet", "--no-hardlinks", ".", folder)
    for name, value in (("user.name", "Ada"), ("user.email", "ada@skills.example")):
        run(folder, "git", "config", name, value)
    run(folder, sys.executable, "deploy/release.py", VERSION)
    return folder


@pytest.fixture(scope="module")
def home(repo: Path) -> Path:
    """An environment that `uv tool install` made from the wheel and a lock file, with traces."""
    folder = repo.parent / "home"
    run(
        repo.parent, Path(sys.executable).with_name("uv"), "tool", "install", "--quiet",
        "--python", sys.executable, "--constraints", repo / "dist/otel.lock",
        f"{repo}/dist/vskill_platform-{VERSION}-py3-none-any.whl[otel]",
        UV_TOOL_DIR=str(folder / "tools"), UV_TOOL_BIN_DIR=str(folder / "bin"),
    )  # fmt: skip
    return folder


def test_the_release_is_one_commit_with_a_tag(repo: Path) -> None:
    assert run(repo, "git", "status", "--porcelain") == ""
    assert run(repo, "git", "log", "-1", "--format=%s %D").strip().startswith(f"Release {VERSION} ")
    assert run(repo, "git", "describe").strip() == f"v{VERSION}"
    changed = run(repo, "git", "diff", "--name-only", "HEAD~1").split()
    assert changed == [
        "CHANGELOG.md", "deploy/helm/vskill-platform/Chart.yaml", "src/vskill_platform/__init__.py",
    ]  # fmt: skip


def test_every_file_is_in_the_list_of_checksums(repo: Path) -> None:
    dist = repo / "dist"
    lines = [line.split("  ") for line in (dist / "SHA256SUMS").read_text().splitlines()]
    sums = {name: digest for digest, name in lines}

    assert sums == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in dist.iterdir()
        if file.name != "SHA256SUMS"
    }
    assert set(sums) == {
        "build.lock", "otel.lock", "runtime.lock", "sbom.cdx.json",
        f"vskill_platform-{VERSION}-py3-none-any.whl", f"vskill_platform-{VERSION}.tar.gz",
    }  # fmt: skip


def test_the_bill_of_materials_lists_every_runtime_package(repo: Path) -> None:
    bom = msgspec.json.decode((repo / "dist/sbom.cdx.json").read_bytes())
    locked = {
        line.split("==")[0]
        for line in (repo / "requirements/otel.lock").read_text().splitlines()
        if "==" in line
    }

    assert {component["name"] for component in bom["components"]} == locked
    assert bom["metadata"]["component"]["version"] == VERSION


def test_the_wheel_holds_the_program_and_the_sdist_its_sources(repo: Path) -> None:
    with zipfile.ZipFile(repo / f"dist/vskill_platform-{VERSION}-py3-none-any.whl") as wheel:
        names = wheel.namelist()
    with tarfile.open(repo / f"dist/vskill_platform-{VERSION}.tar.gz") as sdist:
        sources = sdist.getnames()

    assert not [name for name in names if not name.startswith("vskill_platform")]
    assert f"vskill_platform-{VERSION}/src/vskill_platform/__init__.py" in sources
    assert f"vskill_platform-{VERSION}/LICENSE" in sources


def test_a_release_with_uncommitted_changes_or_a_used_version_is_refused(repo: Path) -> None:
    def refused(version: str) -> str:
        done = subprocess.run(
            [sys.executable, "deploy/release.py", version],
            cwd=repo, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        return done.stderr

    assert "use VERSION=1.2.3" in refused("newest")
    assert f"there is a tag v{VERSION} already" in refused(VERSION)
    (repo / "stray").touch()
    assert "commit or remove your changes first" in refused("9.9.0")
    (repo / "stray").unlink()


def test_pip_installs_exactly_the_locked_packages(repo: Path, tmp_path: Path) -> None:
    run(tmp_path, sys.executable, "-m", "venv", "home")
    pip, dist = tmp_path / "home/bin/pip", repo / "dist"
    run(tmp_path, pip, "install", "--no-deps", "--require-hashes", "-r", dist / "runtime.lock")
    wheel = dist / f"vskill_platform-{VERSION}-py3-none-any.whl"
    run(tmp_path, pip, "install", "--no-deps", wheel)

    run(tmp_path, pip, "check")
    scanned = run(
        tmp_path, "home/bin/vskill-platform", "scan", repo / "demo/csv-profile", PYTHONPATH=""
    )
    assert "PASS" in scanned


def test_the_installed_program_scans_a_skill(repo: Path, home: Path) -> None:
    program = home / "bin/vskill-platform"

    assert run(home, program, "--version").strip().endswith(VERSION)
    assert "PASS" in run(home, program, "scan", repo / "demo/csv-profile", PYTHONPATH="")


@pytest.fixture
def port(home: Path, tmp_path: Path) -> Iterator[int]:
    port = free_port()
    server = Running(
        subprocess.Popen(
            [home / "bin/vskill-platform", "serve"],
            cwd=tmp_path,
            env={
                **os.environ,
                "VSKILL_PORT": str(port),
                "VSKILL_DATABASE_URL": f"sqlite:///{tmp_path}/skills.db",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    )
    server.wait_for(f"vskill-platform is at http://127.0.0.1:{port}")
    while get(port, "/readyz")[0] != 200:  # the search index is being built
        pass
    yield port
    assert server.end() == 0


def test_the_installed_program_serves_pages(port: int) -> None:
    status, page = get(port, "/")

    assert status == 200
    assert "<title>" in page
