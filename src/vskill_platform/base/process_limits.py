"""Resource limits of processes, never above those that the operator or the system has set.

Only root may raise a hard limit, so nothing here tries to. A limit that is already lower than ours
(`ulimit -v`, `LimitAS=` of systemd, `prlimit`) is kept.
"""

import resource
from pathlib import Path

from vskill_platform.errors import ConfigError

_MIB = 1024 * 1024
#: A higher limit is useless and slows down programs that close all descriptors one by one.
_MANY_FILES = 65_536
_OPEN_FILES = Path("/dev/fd")
#: A typical skill needs a fifth of this address space, the largest legitimate ones nearly all.
MIN_CHECK_MEMORY_BYTES = 256 * _MIB


def effective_limit(kind: int, wanted: int) -> int:
    """Return *wanted*, or the limit of this process where that is lower."""
    return _lowest(wanted, *resource.getrlimit(kind))


def limit_memory(memory_bytes: int) -> None:
    """Limit the address space of this process (the soft limit)."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (effective_limit(resource.RLIMIT_AS, memory_bytes), hard)
    )


def limit_cpu(seconds: int) -> None:
    """End this process once it has used this much processor time, counted from its start.

    A later call may raise it: a long-lived process gets new time for each piece of work.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (_lowest(seconds, hard), hard))


def forbid_core_dumps() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_child(
    pid: int, *, file_bytes: int | None = None, memory_bytes: int | None = None
) -> None:
    """Permanently limit a program that was just started, and everything that it starts."""
    if not hasattr(resource, "prlimit"):  # pragma: no cover - not on Linux
        return
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_AS: memory_bytes,
    }
    for kind, limit in wanted.items():
        if limit is None:
            continue
        try:
            lowest = _lowest(limit, *resource.prlimit(pid, kind))
            resource.prlimit(pid, kind, (lowest, lowest))
        except ProcessLookupError:  # it has ended already
            return


def raise_file_limit() -> int:
    """Raise the limit of open files to the hard limit; return how many more can be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _lowest(_MANY_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return _lowest(_MANY_FILES, soft) - sum(1 for _ in _OPEN_FILES.iterdir())


def check_memory_limit() -> None:
    """Refuse to start under a memory limit that would make every check fail and reject good skills.

    Each check is a process with the same limit as this one.
    """
    limit = effective_limit(resource.RLIMIT_AS, MIN_CHECK_MEMORY_BYTES)
    if limit < MIN_CHECK_MEMORY_BYTES:
        raise ConfigError(
            f"the memory limit of this process is {limit // _MIB} MiB, too little for a check; "
            f"raise it to at least {MIN_CHECK_MEMORY_BYTES // _MIB} MiB (`ulimit -v`, `LimitAS=`)"
        )


def _lowest(wanted: int, *limits: int) -> int:
    return min([wanted, *(limit for limit in limits if limit != resource.RLIM_INFINITY)])
