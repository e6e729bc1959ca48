"""Find free ports of this machine, and send requests to a port."""

import json
import os
import socket
import urllib.error
import urllib.request
from itertools import count
from typing import Any

#: How many ports each process of the tests has for itself.
_PORTS = 2_000
_numbers = count(os.getpid())


def free_port() -> int:
    """Return a port on which nobody listens, and which the system gives to nobody.

    It gives those from 32768 on to outgoing connections and to servers that take any port. One of
    them could be taken before the program under test listens there.
    """
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = 10_000 + process % 10 * _PORTS
    return next(port for number in _numbers if _is_free(port := first + number % _PORTS))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def get(port: int, path: str) -> tuple[int, str]:
    """Return the status and the text of a page."""
    status, content = get_bytes(port, path)
    return status, content.decode()


def get_bytes(port: int, path: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def get_json(port: int, path: str) -> tuple[int, Any]:
    status, text = get(port, path)
    return status, json.loads(text)
