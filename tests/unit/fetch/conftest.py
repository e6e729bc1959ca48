"""A git server that we may ask, and a place for temporary files that must be empty in the end."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.git_server import GitServer, a_git_server
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage


@pytest.fixture
def leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go in this test; nothing may be left there."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.glob("*/*")) == []  # the process keeps its own folder, empty


@pytest.fixture
async def git_server(env: WorkerEnv, tmp_path: Path, leftovers: Path) -> AsyncIterator[GitServer]:
    """Return a git server on loopback, named by the operator as one that may be asked."""
    with a_git_server(tmp_path / "served") as server:
        settings = msgspec.structs.replace(env.settings, private_hosts=server.origin)
        token = worker_env_storage.set(replace(env, settings=settings))
        yield server
        worker_env_storage.reset(token)
