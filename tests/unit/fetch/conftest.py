"""A git server that we may ask, and a place for temporary files that must be empty in the end."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.git_server import GitServer


@pytest.fixture
def leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go in this test; nothing may be left there."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.glob("*/*")) == []  # the process keeps its own folder, empty


@pytest.fixture
def git_server(leftovers: Path, git_server: GitServer) -> GitServer:
    """Return the git server, and find nothing left over from fetching after the test."""
    return git_server
