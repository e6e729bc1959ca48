"""Check whether a URL or folder may be fetched; guarded_proxy.py checks the IP addresses."""

import os
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from vskill_platform.model.source import Source, SourceKind
from vskill_platform.settings import Settings, allowed_folders, allowed_origins, variable


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """What fetches may reach, and how long they may take."""

    #: Scheme, host and port of hosts that may have private addresses or use plain http.
    private_hosts: frozenset[str] = frozenset()
    #: Local folders that may be read, including their subfolders.
    local_folders: tuple[Path, ...] = ()
    #: Timeout of a whole fetch, from the first connection to the last file.
    seconds: float = 300.0
    #: Timeout for a host to accept a connection or answer a request.
    host_seconds: float = 10.0


@lru_cache(maxsize=4)
def reach_of(settings: Settings) -> Reach:
    return Reach(
        private_hosts=allowed_origins(settings),
        local_folders=allowed_folders(settings),
        seconds=settings.fetch_deadline.total_seconds(),
        host_seconds=settings.host_timeout.total_seconds(),
    )


def why_out_of_reach(source: Source, reach: Reach) -> str | None:
    """Return why a source may not be fetched, or None, without network access.

    Addresses are checked when the proxy connects, not here.
    """
    if source.kind in {SourceKind.UPLOAD, SourceKind.MIRROR}:
        return None
    if source.kind is SourceKind.FOLDER:
        return None if is_local(Path(source.url), reach) else why_not_local(Path(source.url))
    scheme = urlsplit(source.url).scheme
    if scheme == "file":
        folder = Path(urlsplit(source.url).path)
        return None if is_local(folder, reach) else why_not_local(folder)
    if scheme == "http" and source.origin not in reach.private_hosts:
        return (
            f"{source.url}: a git URL starts with https://; plain http is only for hosts that "
            f"the operator lists in {variable('private_hosts')}"
        )
    return None


def is_local(folder: Path, reach: Reach) -> bool:
    """Return whether a folder is allowed by the operator, after resolving links."""
    return find_local(folder, reach) is not None


def find_local(folder: Path, reach: Reach) -> Path | None:
    """Return the real path of a folder, with links resolved; None if it is not allowed."""
    real = os.path.realpath(folder)
    # Allowed folders need to be resolved only if the plain comparison fails.
    is_allowed = any(_is_in(real, str(allowed)) for allowed in reach.local_folders) or any(
        _is_in(real, os.path.realpath(allowed)) for allowed in reach.local_folders
    )
    return Path(real) if is_allowed else None


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def why_not_local(folder: Path) -> str:
    return (
        f"{folder} is not in a local folder that the operator lists in {variable('local_folders')}"
    )
