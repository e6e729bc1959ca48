"""Ports of this machine on which nobody listens, and asking those on which somebody does."""

import json
import socket
import urllib.error
import urllib.request
from typing import Any


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def get(port: int, path: str) -> tuple[int, str]:
    """Return the status and the text of a page."""
    status, content = get_bytes(port, path)
    return status, content.decode()


def get_bytes(port: int, path: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def get_json(port: int, path: str) -> tuple[int, Any]:
    status, text = get(port, path)
    return status, json.loads(text)
