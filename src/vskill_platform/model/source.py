"""Where a skill comes from, in the one form that is compared and stored."""

import posixpath
import re
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import SplitResult, urlsplit

import msgspec

from vskill_platform.errors import InvalidInput

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
#: What a repo's path is made of. No `%`: a server may read `%2e` as a dot.
_REPO_PATH = re.compile(r"[\w.~+@/-]+", re.ASCII)
#: What git lets a branch or a tag be called, without what means something in a refspec.
_REF = re.compile(r"[A-Za-z0-9_][\w.+/@=-]*")
_DEFAULT_PORTS = {"https": 443, "http": 80}
#: Hosts that take `Ada/Notes` and `ada/notes` for the same repo, so that we must too.
_IGNORES_CASE = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
_MAX_REF = 200
#: Its owners need no host before their names.
_BEST_KNOWN_HOST = "github.com"
#: What an upload's canonical source begins with.
_UPLOAD = "upload:"
LOCAL_NAMESPACE = "@local"


class SourceKind(StrEnum):
    GIT = "git"
    #: A folder of this machine that is read where it is.
    FOLDER = "folder"
    #: Files that were handed in; they lie in our own database.
    UPLOAD = "upload"


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: SourceKind
    #: A canonical git URL, the absolute path of a folder, or the namespace and name of an upload.
    url: str
    #: The skill's folder inside of it, "" for its root.
    path: str = ""
    #: The branch or tag, "" for whatever the repo's default branch is.
    ref: str = ""
    #: Names the bytes that were handed in; a later upload of the same skill brings others.
    upload_sha256: str = ""

    @property
    def key(self) -> str:
        """What makes two submissions the same."""
        return f"{self.url}?ref={self.ref}#{self.path}" if self.ref else self.owner_key

    @property
    def owner_key(self) -> str:
        """What makes two skills the same: each ref of a repo may bring its next version."""
        return f"{self.url}#{self.path}"

    @property
    def origin(self) -> str:
        """Scheme, host and port of a git URL, always with the port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}:{parts.port or _DEFAULT_PORTS.get(parts.scheme)}"

    @property
    def remote_host(self) -> str:
        """The origin that it is fetched from; empty if that is this machine."""
        is_remote = self.kind is SourceKind.GIT and not self.url.startswith("file:")
        return self.origin if is_remote else ""

    @property
    def namespace(self) -> str:
        """The part of a slug that comes before the skill's name."""
        if self.kind is SourceKind.FOLDER:
            return LOCAL_NAMESPACE
        if self.kind is SourceKind.UPLOAD:
            return posixpath.dirname(self.url.removeprefix(_UPLOAD))
        parts = urlsplit(self.url)
        _, *names = PurePosixPath(parts.path).parts
        owner, *rest = names[-2:] if parts.scheme == "file" else names
        # Groups within groups are told apart by a character that no name has: else whoever makes
        # a group of another's name could publish in their place.
        repo = ",".join(rest)
        return f"{self._host_prefix}{owner}/{repo}".lower().removesuffix(".git")

    @property
    def _host_prefix(self) -> str:
        """Name the host, but for the one whose names everybody knows.

        Else whoever has the same owner's name at another host could publish in their place.
        """
        parts = urlsplit(self.url)
        if parts.scheme == "file" or parts.hostname == _BEST_KNOWN_HOST:
            return ""
        is_usual = parts.port in {None, _DEFAULT_PORTS.get(parts.scheme)}
        return f"{parts.hostname}/" if is_usual else f"{parts.hostname}_{parts.port}/"

    @property
    def publisher(self) -> str:
        """Who answers for it: the owner at its host, or the namespace of what was handed in."""
        if self.kind is not SourceKind.GIT:
            return self.namespace
        parts = urlsplit(self.url)
        _, *folders, _ = PurePosixPath(parts.path).parts
        # At a host the first part of the path is the account, whatever groups stand below it; on
        # this machine it is the folder that the repo lies in.
        owner = folders[-1] if parts.scheme == "file" else folders[0]
        return f"{parts.netloc or parts.scheme}/{owner}".lower()

    @property
    def folder_name(self) -> str | None:
        """The name of the skill's folder; None at the root of a repo, whose folder is ours."""
        if self.path:
            return posixpath.basename(self.path)
        return None if self.kind is SourceKind.GIT else posixpath.basename(self.url)


def git_source(url: str, path: str = "", *, ref: str = "") -> Source:
    """Check and normalise a git URL: https, or what the operator may allow beside it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput(f"{url!r}: {error}") from error
    host = parts.netloc.lower()
    if parts.scheme not in {"https", "http", "file"}:
        raise InvalidInput(f"{url!r}: a git URL starts with https:// (or file:// on this machine)")
    if _UNSAFE.search(url) or parts.query or parts.fragment:
        raise InvalidInput(f"{url!r}: a git URL has no spaces, query or fragment")
    if parts.scheme != "file" and not _HOST.fullmatch(host):
        raise InvalidInput(f"{url!r}: {parts.netloc!r} is not a host name (no user or password)")
    if parts.scheme == "file" and host:
        raise InvalidInput(f"{url!r}: a file URL has three slashes, file:///path/to/repo")
    if port == _DEFAULT_PORTS.get(parts.scheme):
        host = parts.hostname or ""
    return Source(
        kind=SourceKind.GIT,
        url=f"{parts.scheme}://{host}{_repo_path(url, parts)}",
        path=inner_path(path),
        ref=checked_ref(ref),
    )


def folder_source(folder: str, path: str = "") -> Source:
    """Name a folder on this machine by its absolute path."""
    if not folder.startswith("/"):
        raise InvalidInput(f"{folder!r} is not an absolute path")
    return Source(kind=SourceKind.FOLDER, url=posixpath.normpath(folder), path=inner_path(path))


def upload_source(name: str, sha256: str, *, namespace: str = LOCAL_NAMESPACE) -> Source:
    """Name uploaded files by the skill that they are."""
    if not name or "/" in name or not name.isprintable():
        raise InvalidInput(f"{name!r} cannot be the name of a skill")
    return Source(kind=SourceKind.UPLOAD, url=f"{_UPLOAD}{namespace}/{name}", upload_sha256=sha256)


def public_source(url: str) -> str:
    """Return where something comes from, as everybody may know it; "" for files of this machine.

    Paths on the registry's own machine are for its operators alone.
    """
    return url if url.startswith(("https://", "http://", _UPLOAD)) else ""


def without_local_path(text: str, source: Source) -> str:
    """Return *text* without the path of *source*, if that is on the registry's own machine."""
    if public_source(source.url):
        return text
    path = source.url.removeprefix("file://")
    return text.replace(source.url, "the folder").replace(path, "the folder")


def inner_path(path: str) -> str:
    """Normalise a path inside of a source; refuse one that leads out of it."""
    clean = posixpath.normpath(path) if path else "."
    if clean.startswith(("/", "..")) or "\\" in path or not path.isprintable():
        raise InvalidInput(f"{path!r}: the path must lie inside of the repo or folder")
    if any(part.startswith("-") for part in clean.split("/")):
        raise InvalidInput(f"{path!r}: no part of a path may begin with a hyphen")
    return "" if clean == "." else clean


def checked_ref(ref: str) -> str:
    """Take the name of a branch or a tag, or a full commit sha; refuse what git could misread."""
    if not ref:
        return ""
    is_odd = ".." in ref or "//" in ref or "@{" in ref or ref.endswith((".lock", ".", "/"))
    if len(ref) > _MAX_REF or is_odd or not _REF.fullmatch(ref):
        raise InvalidInput(f"{ref!r} is not the name of a branch or a tag")
    return ref


def _repo_path(url: str, parts: SplitResult) -> str:
    trail = PurePosixPath(posixpath.normpath(parts.path.replace("//", "/") or "/"))
    is_odd = ".." in PurePosixPath(parts.path).parts or any(
        part.startswith("-") and part != "-" for part in trail.parts
    )
    if len(trail.parts) < 3 or is_odd:  # noqa: PLR2004 - "/", owner, repo
        raise InvalidInput(f"{url!r}: a git URL names an owner and a repo, https://host/owner/repo")
    if parts.scheme == "file":
        return str(trail)
    if not _REPO_PATH.fullmatch(str(trail)):
        raise InvalidInput(f"{url!r}: a repo's path has only letters, digits and . _ ~ + @ - /")
    if "-" in trail.parts or {"tree", "blob"} & set(trail.parts[3:4]):
        raise InvalidInput(
            f"{url!r} is a page of the repo; submit https://host/owner/repo with --ref and --path"
        )
    repo = str(trail).removesuffix(".git")
    return repo.lower() if parts.hostname in _IGNORES_CASE else repo
