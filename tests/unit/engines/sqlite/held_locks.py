"""The POSIX locks that the kernel knows of."""

from pathlib import Path


def held_locks(path: Path, pid: int) -> list[str]:
    """Return the locks that a process holds on a file, as `kind first last`."""
    inode = str(path.stat().st_ino)
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sorted(
        f"{kind} {first} {last}"
        for _, family, _, kind, holder, file, first, last in (
            line
            for line in lines
            if len(line) == 8  # others wait for a lock
        )
        if family == "POSIX" and int(holder) == pid and file.rpartition(":")[2] == inode
    )
