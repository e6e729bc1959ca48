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


def given(url: str, **fields: Any) -> dict[str, Any]:
    """Return the codes that a registry gives."""
    codes = {"device_code": "d", "user_code": "u", "verification_uri": f"{url}/device"}
    return {**codes, "expires_in": 600, "interval": 3, **fields}


class Time:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now, self.waits = 0.0, list[float]()

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)

    def wait_for_token(self, registry: Registry, code: DeviceCode = CODE) -> str:
        return wait_for_token(registry, code, sleep=self.sleep, clock=lambda: self.now)


def test_the_program_says_what_it_is_and_wants(server: ScriptedServer) -> None:
    server.replies = [said(200, **given(server.url))]

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
    short = msgspec.structs.replace(CODE, expires_in=30)

    with Registry(server.url) as registry, pytest.raises(NotSignedIn, match="expired"):
        time.wait_for_token(registry, short)

    assert time.now == 30


def test_a_registry_without_codes_says_to_use_a_token(server: ScriptedServer) -> None:
    server.replies = [said(404)]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="--token"):
        request_code(registry, label="x", scopes=("read",))


def test_an_answer_without_codes_is_an_error(server: ScriptedServer) -> None:
    server.replies = [said(200, nothing=1)]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="no usable code"):
        request_code(registry, label="x", scopes=("read",))


@pytest.mark.parametrize("field", ["verification_uri", "verification_uri_complete"])
def test_a_registry_cannot_send_the_user_to_another_one(server: ScriptedServer, field: str) -> None:
    """Its code may be one of the other registry, whose token it would get."""
    page = "https://other.example/device?user_code=u"
    server.replies = [said(200, **given(server.url, **{field: page}))]

    with Registry(server.url) as registry, pytest.raises(RegistryError) as caught:
        request_code(registry, label="x", scopes=("read",))

    assert "vskill-platform login https://other.example" in str(caught.value)


def test_all_names_of_this_machine_are_the_same_registry(server: ScriptedServer) -> None:
    page = f"{server.url.replace('127.0.0.1', 'localhost')}/device"
    server.replies = [said(200, **given(server.url, verification_uri=page))]

    with Registry(server.url) as registry:
        code = request_code(registry, label="x", scopes=("read",))

    assert code.verification_uri == page


@pytest.mark.parametrize(("told", "used"), [(-1, 1), (0, 1), (1e308, 60), (4, 4)])
def test_a_registry_cannot_make_the_client_ask_all_the_time_or_never(
    server: ScriptedServer, told: float, used: float
) -> None:
    code_given = said(200, **given(server.url, interval=told, expires_in=told))
    slower = said(error="slow_down", interval=told)
    server.replies = [code_given, slower, said(200, access_token="vsk_1")]
    time = Time()

    with Registry(server.url) as registry:
        code = request_code(registry, label="x", scopes=("read",))
        code = msgspec.structs.replace(code, expires_in=600)
        wait_for_token(registry, code, sleep=time.sleep, clock=lambda: time.now)

    assert time.waits == [used, used]
