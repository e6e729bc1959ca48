"""What can be wrong with the environment of the user is an error that names the variable."""

from pathlib import Path

import pytest

from tests.cases import all_cases
from vskill_platform.client.http_client import open_client
from vskill_platform.errors import ConfigError

OUTSIDE = "https://skills.example"


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_loaded_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    path = tmp_path / "certificates.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))

    with pytest.raises(ConfigError, match="SSL_CERT_FILE"):
        open_client(OUTSIDE, 1)


@all_cases("proxy", ["socks5://127.0.0.1:9", "junk://me:secret@proxy.example", "http://x\ny"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)

    with pytest.raises(ConfigError, match="ALL_PROXY") as caught:
        open_client(OUTSIDE, 1)

    assert "secret" not in str(caught.value)


def test_a_proxy_does_not_matter_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")

    open_client("http://127.0.0.1:8000", 1).close()
