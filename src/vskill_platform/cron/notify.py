"""Telling somebody: the operator's own program, its arguments one by one, never a shell."""

import asyncio
import os
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from vskill_platform.errors import NotifyFailed
from vskill_platform.settings import format_duration, notify_arguments
from vskill_platform.stores.db import get_settings

#: A program that tells somebody has told them by then.
NOTIFY_DEADLINE = timedelta(seconds=30)
_MAX_COMPLAINT = 300


async def notify(message: Any) -> bool:
    """Hand *message* as JSON to the program's input; False if none is set.

    It gets the operator's PATH and HOME, and none of our settings and secrets.
    """
    arguments = notify_arguments(get_settings())
    if not arguments:
        return False
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments,
            env={
                "PATH": os.pathsep.join(os.get_exec_path()),
                "HOME": str(Path.home()),
                "LC_ALL": "C.UTF-8",
            },
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise NotifyFailed(f"{arguments[0]} cannot be run: {error.strerror}") from error
    try:
        async with asyncio.timeout(NOTIFY_DEADLINE.total_seconds()):
            _, complaint = await process.communicate(msgspec.json.encode(message) + b"\n")
    except TimeoutError as error:
        within = format_duration(NOTIFY_DEADLINE)
        raise NotifyFailed(f"{arguments[0]} did not end within {within}") from error
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if process.returncode:
        words = complaint.decode(errors="replace").strip()[-_MAX_COMPLAINT:]
        raise NotifyFailed(f"{arguments[0]} ended with {process.returncode}: {words}")
    return True
