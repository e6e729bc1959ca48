"""Turn Ctrl-C and SIGTERM into an event, with a limit on how long stopping may take."""

import asyncio
import os
import signal
import socket
import sys
from datetime import timedelta
from threading import Timer

from vskill_platform.base.telemetry import get_logger

log = get_logger(__name__)

#: Time after the grace period to release messages and close the database.
CLOSE_SECONDS = 10.0


def stop_on_signals(grace: timedelta, *, control: socket.socket | None = None) -> asyncio.Event:
    """Return an event that the first signal sets; a second signal ends the process at once.

    A supervisor sets it through its socket, by sending a message or by ending. That does not count
    as a signal, because a service manager may send one to both the supervisor and this process.

    Anything that still runs well after *grace* is a thread that cannot be cancelled, or work that
    ignores cancellation. The process then exits as if it was killed, and nothing is lost.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def ask() -> None:
        if stop.is_set():
            return
        stop.set()
        last = Timer(grace.total_seconds() + CLOSE_SECONDS, _end_process)
        last.daemon = True
        last.start()

    def on_signal() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)
        ask()

    def on_control(sender: socket.socket) -> None:
        loop.remove_reader(sender)
        ask()

    for number in numbers:
        loop.add_signal_handler(number, on_signal)
    if control:
        loop.add_reader(control, on_control, control)
    return stop


def _end_process() -> None:
    log.error("shutdown timed out, exiting")
    sys.stderr.flush()
    os._exit(1)
