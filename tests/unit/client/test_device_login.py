from typing import Any

import msgspec
import pytest

from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.client.device_login import DeviceCode, request_code, wait_for_token
from vskill_platform.client.registry import Registry
from vskill_platform.errors import NotSignedIn, RegistryError

CODE = DeviceCode(
    device_code="secret", user_code="BCDF-GHJK", verification_uri="x", expires_in=600, interval=3
)


def said(status: int = 400, **body: Any) -> Reply:
    return Reply(status, msgspec.json.encode(body))


class Time:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now, self.waits = 0.0, list[float]()

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)

    def wait_for_token(self, registry: Registry) -> str:
        return wait_for_token(registry, CODE, sleep=self.sleep, clock=lambda: self.now)


def test_the_program_says_what_it_is_and_wants(server: ScriptedServer) -> None:
    server.replies = [
        said(200, device_code="d", user_code="u", verification_uri="v", expires_in=600, interval=3)
    ]

    with Registry(server.url) as registry:
        code = request_code(registry, label="laptop", scopes=("read", "submit"))

    assert (code.user_code, code.interval) == ("u", 3)
    sent = msgspec.json.decode(server.seen[0].body)
    assert (sent["scope"], sent["label"]) == ("read submit", "laptop")


def test_it_asks_until_the_user_has_approved(server: ScriptedServer) -> None:
    server.replies = [
        said(error="authorization_pending"),
        said(error="slow_down", interval=8),
        said(200, access_token="vsk_1", token_type="Bearer", scope="read"),
    ]
    time = Time()

    with Registry(server.url) as registry:
        token = time.wait_for_token(registry)

    assert token == "vsk_1"
    assert time.waits == [3, 3, 8]


@pytest.mark.parametrize(
    ("error", "words"), [("access_denied", "denied in the browser"), ("expired_token", "expired")]
)
def test_a_refusal_ends_the_wait(server: ScriptedServer, error: str, words: str) -> None:
    server.replies = [said(error=error)]

    with Registry(server.url) as registry, pytest.raises(NotSignedIn, match=words):
        Time().wait_for_token(registry)


def test_another_error_is_shown(server: ScriptedServer) -> None:
    server.replies = [said(error="invalid_request", title="Invalid", detail="no code")]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="no code"):
        Time().wait_for_token(registry)


def test_the_wait_ends_with_the_code(server: ScriptedServer) -> None:
    server.replies = [said(error="authorization_pending")]
    time = Time()

    with Registry(server.url) as registry, pytest.raises(NotSignedIn, match="expired"):
        time.wait_for_token(registry)

    assert time.now == 600


def test_a_registry_without_codes_says_to_use_a_token(server: ScriptedServer) -> None:
    server.replies = [said(404)]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="--token"):
        request_code(registry, label="x", scopes=("read",))


def test_an_answer_without_codes_is_an_error(server: ScriptedServer) -> None:
    server.replies = [said(200, nothing=1)]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="no usable code"):
        request_code(registry, label="x", scopes=("read",))
