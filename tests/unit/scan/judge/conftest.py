"""Addresses without a server."""

import socket

import pytest


@pytest.fixture
def unused_url() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"http://127.0.0.1:{port}/v1"
