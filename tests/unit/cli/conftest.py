"""A registry with scripted responses, at which the tests are logged in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.client.conftest import ScriptedServer
from vskill_platform.client.credentials import remember_registry


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    server = ScriptedServer()
    remember_registry("here", server.url, "vsk_token")
    yield server
    server.close()
