"""Stopping takes a limited time, even if something is still running."""

import signal
import subprocess
import sys

_STUCK = """
import asyncio, threading
from datetime import timedelta
from vskill_platform.cli.node import stop_signals

async def main():
    printed, end_process = threading.Event(), stop_signals._end_process
    stop_signals.CLOSE_SECONDS = 0.1
    stop_signals._end_process = lambda: (printed.wait(), end_process())
    stop = stop_signals.stop_on_signals(timedelta(0))
    stuck = asyncio.create_task(asyncio.to_thread(threading.Event().wait))
    print("ready", flush=True)
    await stop.wait()
    print("asked to stop", flush=True)
    printed.set()

asyncio.run(main())
"""


def test_a_thread_that_never_ends_does_not_keep_the_process_from_stopping() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _STUCK], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"

        process.send_signal(signal.SIGTERM)
        said = process.stdout.read()

    assert process.returncode == 1
    assert said.startswith("asked to stop\n")
    assert "shutdown timed out" in said
