"""Run a function in a process that is killed at one of its steps on the file system."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STEPS = frozenset(
    {
        "open", "os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.utime",
        "shutil.rmtree", "vskill_platform.exchange",
    }
)  # fmt: skip
_KILLED, _FAILED = 42, 43


def killed_at(step: int, root: Path, work: Callable[[], None]) -> bool:
    """Run *work* in a fork that dies right before its step number *step* below *root*.

    Nothing of it runs after that, as if it were killed by a signal. False if it had fewer steps.
    """
    child = os.fork()
    if not child:
        _die_at(step, str(root))
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - a fork must not return into the tests
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(_FAILED)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in {0, _KILLED}
    return code == _KILLED


def _die_at(step: int, root: str) -> None:
    left = step

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in _STEPS or not _writes(event, arguments):
            return
        if any(os.fsdecode(one).startswith(root) for one in arguments if _is_path(one)):
            if not left:
                os._exit(_KILLED)
            left -= 1

    sys.addaudithook(count)


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    if event != "open":
        return True
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _is_path(value: Any) -> bool:
    return isinstance(value, str | bytes | os.PathLike)
