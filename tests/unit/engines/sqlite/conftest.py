"""A file for each test."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "skills.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"
