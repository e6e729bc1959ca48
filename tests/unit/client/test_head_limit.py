"""A registry that sends interim responses without an end is left early."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from vskill_platform.client.head_limit import MAX_HEAD_BYTES
from vskill_platform.client.http_client import open_client
from vskill_platform.client.registry import Registry
from vskill_platform.errors import RegistryUnavailable

_INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
_DONE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


@contextmanager
def _server(before: int | None) -> Iterator[str]:
    """Send *before* interim responses and an answer to each request; None: no end of them."""

    def answer(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while connection.recv(65536):
                while before is None:
                    connection.sendall(_INTERIM * 100)
                connection.sendall(_INTERIM * before + _DONE)

    def accept(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_endless_interim_responses_are_cut() -> None:
    with (
        _server(None) as url,
        Registry(url, sleep=lambda _: None) as registry,
        pytest.raises(RegistryUnavailable, match="the head of the response is too long"),
    ):
        registry.get_json("/x")


def test_endless_interim_responses_of_a_proxy_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    with _server(None) as url:
        monkeypatch.setenv("HTTP_PROXY", url)
        with (
            Registry("http://skills.example", sleep=lambda _: None) as registry,
            pytest.raises(RegistryUnavailable, match="the head of the response is too long"),
        ):
            registry.get_json("/x")


def test_each_request_has_the_whole_limit() -> None:
    half = MAX_HEAD_BYTES // len(_INTERIM) // 2
    with _server(half) as url, open_client(url, 20) as client:
        answers = [client.get(url) for _ in range(5)]

    assert [answer.json() for answer in answers] == [{}] * 5
