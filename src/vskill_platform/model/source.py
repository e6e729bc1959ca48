"""The source of a skill in its canonical form, and the namespace and slug that follow from it."""

import posixpath
import re
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import SplitResult, urlsplit

import msgspec

from vskill_platform.errors import InvalidInput

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
#: Characters in a repo's path. No `%`: a server may read `%2e` as a dot.
_REPO_PATH = re.compile(r"[\w.~+@/-]+", re.ASCII)
#: Names that git allows for a branch or tag, without those with a special meaning in a refspec.
_REF = re.compile(r"[A-Za-z0-9_][\w.+/@=-]*")
_DEFAULT_PORTS = {"https": 443, "http": 80}
#: Hosts that treat `Ada/Notes` and `ada/notes` as the same repo, so we also do.
_IGNORES_CASE = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
_MAX_REF = 200
#: The default host: its owners need no host prefix.
_BEST_KNOWN_HOST = "github.com"
#: Prefix of the canonical source of an upload.
_UPLOAD = "upload:"
#: Prefix of the canonical source of a mirrored skill, and of the name of its submitter.
MIRROR_PREFIX = "mirror:"
#: Prefix of the ref of a mirrored version that was requested by its number.
_PINNED = "="
LOCAL_NAMESPACE = "@local"


class SourceKind(StrEnum):
    GIT = "git"
    #: A folder on this machine that is read in place.
    FOLDER = "folder"
    #: Uploaded files, stored in our own database.
    UPLOAD = "upload"
    #: A skill of another registry.
    MIRROR = "mirror"


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: SourceKind
    #: A canonical git URL, the absolute path of a folder, or the slug of an upload or a mirrored
    #: skill after its prefix.
    url: str
    #: The skill's folder inside the source, "" for its root.
    path: str = ""
    #: The branch or tag, "" for the repo's default branch; of a mirrored skill, the version or
    #: digest that the other registry gave, or `=1.2.0` if this version was requested.
    ref: str = ""
    #: The digest of the uploaded bytes; a later upload of the same skill has another one.
    upload_sha256: str = ""

    @property
    def key(self) -> str:
        """Submissions with the same key are the same submission."""
        # The latest versions of a mirrored skill are one submission, like those of an upload.
        is_of_ref = (self.ref and self.kind is SourceKind.GIT) or self.is_pinned
        return f"{self.url}?ref={self.ref}#{self.path}" if is_of_ref else self.owner_key

    @property
    def owner_key(self) -> str:
        """Sources with the same owner key are the same skill, on any branch or tag."""
        return f"{self.url}#{self.path}"

    @property
    def origin(self) -> str:
        """Scheme, host and port of a git URL, always with the port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}:{parts.port or _DEFAULT_PORTS.get(parts.scheme)}"

    @property
    def remote_host(self) -> str:
        """The origin it is fetched from; empty if that is this machine."""
        if self.kind is SourceKind.MIRROR:
            return self.mirror
        is_remote = self.kind is SourceKind.GIT and not self.url.startswith("file:")
        return self.origin if is_remote else ""

    @property
    def namespace(self) -> str:
        """The part of a slug before the skill's name."""
        if self.kind is SourceKind.FOLDER:
            return LOCAL_NAMESPACE
        if self.kind is SourceKind.UPLOAD:
            return posixpath.dirname(self.url.removeprefix(_UPLOAD))
        if self.kind is SourceKind.MIRROR:
            return posixpath.dirname(self.mirrored_slug)
        parts = urlsplit(self.url)
        _, *names = PurePosixPath(parts.path).parts
        owner, *rest = names[-2:] if parts.scheme == "file" else names
        # Nested groups are joined with a character that no name contains: otherwise someone could
        # create a group with another owner's name and publish in their namespace.
        repo = ",".join(rest)
        return f"{self._host_prefix}{owner}/{repo}".lower().removesuffix(".git")

    def slug_of(self, name: str) -> str:
        """Return the slug of the skill *name* from this source, unless it was renamed since."""
        return f"{self.namespace}/{name}"

    @property
    def _host_prefix(self) -> str:
        """Return the host prefix; the default host has none.

        Without it, an owner of the same name on another host could publish in their namespace.
        """
        parts = urlsplit(self.url)
        if parts.scheme == "file" or parts.hostname == _BEST_KNOWN_HOST:
            return ""
        is_usual = parts.port in {None, _DEFAULT_PORTS.get(parts.scheme)}
        return f"{parts.hostname}/" if is_usual else f"{parts.hostname}_{parts.port}/"

    @property
    def mirrored_slug(self) -> str:
        """The slug of a mirrored skill."""
        return self.url.removeprefix(MIRROR_PREFIX)

    @property
    def is_pinned(self) -> bool:
        """Whether it is a version of a mirrored skill that was requested by its number."""
        return self.kind is SourceKind.MIRROR and self.ref.startswith(_PINNED)

    @property
    def revision(self) -> str:
        """The version or digest of a mirrored skill in the other registry."""
        return self.ref.removeprefix(_PINNED)

    @property
    def mirror(self) -> str:
        """The submitter of mirrored skills: the prefix and the name of the mirror."""
        return MIRROR_PREFIX + self.mirrored_slug.removeprefix("@").partition("_")[0]

    @property
    def publisher(self) -> str:
        """The publisher: the owner at its host, or the namespace of an upload."""
        if self.kind is not SourceKind.GIT:
            return self.namespace
        parts = urlsplit(self.url)
        _, *folders, _ = PurePosixPath(parts.path).parts
        # On a host, the first path segment is the account, with or without groups; on this machine
        # it is the folder that contains the repo.
        owner = folders[-1] if parts.scheme == "file" else folders[0]
        return f"{parts.netloc or parts.scheme}/{owner}".lower()

    @property
    def folder_name(self) -> str | None:
        """The name of the skill's folder; None at the root of a repo, whose folder we create."""
        if self.path:
            return posixpath.basename(self.path)
        return None if self.kind is SourceKind.GIT else posixpath.basename(self.url)


def git_source(url: str, path: str = "", *, ref: str = "") -> Source:
    """Validate and normalise a git URL: https, or another scheme that the operator allows."""
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
    """Return the source for a folder on this machine, by its absolute path."""
    if not folder.startswith("/"):
        raise InvalidInput(f"{folder!r} is not an absolute path")
    return Source(kind=SourceKind.FOLDER, url=posixpath.normpath(folder), path=inner_path(path))


def upload_source(name: str, sha256: str, *, namespace: str = LOCAL_NAMESPACE) -> Source:
    """Return the source for uploaded files, by namespace and skill."""
    if not name or "/" in name or not name.isprintable():
        raise InvalidInput(f"{name!r} cannot be the name of a skill")
    return Source(kind=SourceKind.UPLOAD, url=f"{_UPLOAD}{namespace}/{name}", upload_sha256=sha256)


def mirror_source(slug: str, revision: str) -> Source:
    """Return the source for a skill of another registry, by its slug here."""
    return Source(kind=SourceKind.MIRROR, url=f"{MIRROR_PREFIX}{slug}", ref=revision)


def pinned_source(slug: str, version: str) -> Source:
    """Return the source for one version of a skill of another registry."""
    return mirror_source(slug, _PINNED + version)


def public_source(url: str) -> str:
    """Return the public form of a source; "" for files on this machine.

    Only operators see paths on the registry's own machine.
    """
    return url if url.startswith(("https://", "http://", _UPLOAD, MIRROR_PREFIX)) else ""


def without_local_path(text: str, source: Source) -> str:
    """Return *text* without the path of *source*, if that is on the registry's own machine."""
    if public_source(source.url):
        return text
    path = source.url.removeprefix("file://")
    return text.replace(source.url, "the folder").replace(path, "the folder")


def inner_path(path: str) -> str:
    """Normalise a path inside a source; refuse one that leads outside."""
    clean = posixpath.normpath(path) if path else "."
    if clean.startswith(("/", "..")) or "\\" in path or not path.isprintable():
        raise InvalidInput(f"{path!r}: the path must be inside the repo or folder")
    if any(part.startswith("-") for part in clean.split("/")):
        raise InvalidInput(f"{path!r}: no part of a path may start with a hyphen")
    return "" if clean == "." else clean


def checked_ref(ref: str) -> str:
    """Validate the name of a branch or tag, or a full commit sha; refuse what git could misread."""
    if not ref:
        return ""
    is_odd = ".." in ref or "//" in ref or "@{" in ref or ref.endswith((".lock", ".", "/"))
    if len(ref) > _MAX_REF or is_odd or not _REF.fullmatch(ref):
        raise InvalidInput(f"{ref!r} is not the name of a branch or tag")
    return ref


def _repo_path(url: str, parts: SplitResult) -> str:
    trail = PurePosixPath(posixpath.normpath(parts.path.replace("//", "/") or "/"))
    is_odd = ".." in PurePosixPath(parts.path).parts or any(
        part.startswith("-") and part != "-" for part in trail.parts
    )
    if len(trail.parts) < 3 or is_odd:  # noqa: PLR2004 - "/", owner, repo
        raise InvalidInput(f"{url!r}: a git URL has an owner and a repo, https://host/owner/repo")
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
