"""Where a skill comes from, in the one form that is compared and stored."""

import posixpath
import re
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import msgspec

from vskill_platform.errors import InvalidInput

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")


class SourceKind(StrEnum):
    GIT = "git"
    FOLDER = "folder"


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: SourceKind
    #: A canonical git URL, or the absolute path of a folder.
    url: str
    #: The skill's folder inside of it, "" for its root.
    path: str = ""

    @property
    def key(self) -> str:
        """What makes two submissions the same."""
        return f"{self.url}#{self.path}"

    @property
    def namespace(self) -> str:
        """The part of a slug that comes before the skill's name."""
        if self.kind is SourceKind.FOLDER:
            return "@local"
        owner, repo = PurePosixPath(urlsplit(self.url).path).parts[-2:]
        return f"{owner}/{repo}".lower().removesuffix(".git")

    @property
    def folder_name(self) -> str | None:
        """The name of the skill's folder; None at the root of a repo, whose folder is ours."""
        if self.path:
            return posixpath.basename(self.path)
        return posixpath.basename(self.url) if self.kind is SourceKind.FOLDER else None


def git_source(url: str, path: str = "") -> Source:
    """Check and normalise a git URL: https, or file for a repo on this machine."""
    parts = urlsplit(url)
    host = parts.netloc.lower()
    if parts.scheme not in {"https", "file"}:
        raise InvalidInput(f"{url!r}: a git URL starts with https:// (or file:// on this machine)")
    if _UNSAFE.search(url) or parts.query or parts.fragment:
        raise InvalidInput(f"{url!r}: a git URL has no spaces, query or fragment")
    if parts.scheme == "https" and not _HOST.fullmatch(host):
        raise InvalidInput(f"{url!r}: {parts.netloc!r} is not a host name (no user or password)")
    if parts.scheme == "file" and host:
        raise InvalidInput(f"{url!r}: a file URL has three slashes, file:///path/to/repo")
    trail = PurePosixPath(parts.path)
    if len(trail.parts) < 3 or ".." in trail.parts or trail.name.startswith("-"):  # noqa: PLR2004 - "/", owner, repo
        raise InvalidInput(f"{url!r}: a git URL names an owner and a repo, https://host/owner/repo")
    repo = str(trail).removesuffix(".git") if parts.scheme == "https" else str(trail)
    return Source(kind=SourceKind.GIT, url=f"{parts.scheme}://{host}{repo}", path=inner_path(path))


def folder_source(folder: str, path: str = "") -> Source:
    """Name a folder on this machine by its absolute path."""
    if not folder.startswith("/"):
        raise InvalidInput(f"{folder!r} is not an absolute path")
    return Source(kind=SourceKind.FOLDER, url=posixpath.normpath(folder), path=inner_path(path))


def inner_path(path: str) -> str:
    """Normalise a path inside of a source; refuse one that leads out of it."""
    clean = posixpath.normpath(path) if path else "."
    if clean.startswith(("/", "..")) or "\\" in path or any(ord(char) < 32 for char in path):  # noqa: PLR2004 - control characters
        raise InvalidInput(f"{path!r}: the path must lie inside of the repo or folder")
    return "" if clean == "." else clean
