"""Notifications to systemd: that the process is ready, and that its event loop still runs."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from vskill_platform.base.systemd import report_alive

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The socket of a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listener


async def test_systemd_is_notified_that_the_process_is_ready_and_alive(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "20000")
    reporting = asyncio.create_task(report_alive())

    heard = [await asyncio.to_thread(manager.recv, 100) for _ in range(3)]
    reporting.cancel()

    assert heard == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]


async def test_without_a_watchdog_systemd_is_notified_once(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)

    await report_alive()

    manager.settimeout(0)
    assert manager.recv(100) == b"READY=1"
    with pytest.raises(BlockingIOError):
        manager.recv(100)


@pytest.mark.parametrize("address", ["", "/nonexistent/notify", "@nobody-listens-here", "odd"])
async def test_a_service_manager_that_does_not_listen_stops_nothing(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    monkeypatch.setenv("WATCHDOG_USEC", "odd")

    await report_alive()
