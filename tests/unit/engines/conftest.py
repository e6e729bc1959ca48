"""Tests of an engine open it as the program does."""

import pytest


@pytest.fixture(autouse=True)
def as_installed(all_readers: None) -> None:
    """Read through as many connections as the program."""
