"""Ctrl-C and SIGTERM, as an event to wait for."""

import asyncio
import signal


def stop_on_signals() -> asyncio.Event:
    """Return an event that the first signal sets; the second one ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def ask() -> None:
        stop.set()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, ask)
    return stop
