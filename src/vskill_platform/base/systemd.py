"""Tell systemd that this process is ready, and that its event loop still runs (`sd_notify`)."""

import asyncio
import os
import socket
from contextlib import suppress

_SOCKET, _WATCHDOG = "NOTIFY_SOCKET", "WATCHDOG_USEC"
#: systemd recommends two reports in each interval of the watchdog.
_REPORTS = 2


async def report_alive() -> None:
    """Report that the process is ready; with a watchdog, also that it is alive, until cancelled.

    Without systemd it does nothing. A lost report must not stop the process: systemd restarts it.
    """
    _notify("READY=1")
    every = _watchdog_seconds() / _REPORTS
    while every:
        _notify("WATCHDOG=1")
        await asyncio.sleep(every)


def _watchdog_seconds() -> float:
    text = os.environ.get(_WATCHDOG, "")
    return int(text) / 1_000_000 if text.isdecimal() else 0


def _notify(state: str) -> None:
    address = os.environ.get(_SOCKET, "")
    if not address:
        return
    # An @ stands for the null character of an abstract socket.
    path = f"\0{address[1:]}" if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(state.encode(), path)
