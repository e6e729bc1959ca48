"""Find the version of a skill to install, with its metadata from the registry.

Everything that a registry sends is untrusted, so it is checked before it is used or shown.
"""

from typing import Any, TypeVar

import msgspec

from vskill_platform.client.addresses import segment
from vskill_platform.client.install_folders import check_folder_name
from vskill_platform.client.lock_file import check_files
from vskill_platform.client.moderation_shapes import BlockCheck
from vskill_platform.client.registry import ANY_OBJECT, Registry
from vskill_platform.client.shapes import Skill, Suggestions
from vskill_platform.client.version_range import VersionRange
from vskill_platform.errors import NotAllowed, NotFound, RegistryError, SourceRefused
from vskill_platform.model.skill import Capabilities, SkillFile, parse_version

API = "/api/v1"
_PAGE = 100
_MAX_PAGES = 100
_MAX_NAMED = 10
_MAX_SUGGESTED = 3
_NOT_FOUND = 404
#: The trust tiers of skills that passed a check.
_VERIFIED = frozenset({"T2", "T3", "T4"})
_AVAILABLE = frozenset({"latest", "offered"})
YANKED = "yanked"
BLOCKED = frozenset({"blocked", "taken down"})
STATUSES = _AVAILABLE | BLOCKED | {YANKED}

Kind = TypeVar("Kind")


class _Response(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class Deprecated(_Response, frozen=True, kw_only=True):
    message: str
    use_instead: str | None = None

    @property
    def words(self) -> str:
        use = f" Use {self.use_instead} instead." if self.use_instead else ""
        return f"deprecated: {self.message}{use}"


class SkillRelease(_Response, frozen=True, kw_only=True):
    """A version of a skill, with the field names of the API."""

    slug: str
    name: str
    author: str
    description: str
    version: str
    current_version: str | None
    #: The digest of the content.
    sha: str
    archive_sha256: str
    cert_tier: str
    trust_tier: str
    trust_score: int
    license: str | None = None
    is_private: bool = False
    #: Why the version was yanked.
    yanked: str | None = None
    #: Older registries do not send it.
    deprecated: Deprecated | None = None
    verdict: str | None = None
    capabilities: Capabilities | None = None
    files: tuple[SkillFile, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the reasons to ask before installing it, even without a terminal."""
        found = []
        if self.yanked is not None:
            found.append(f"version {self.version} was yanked: {self.yanked}")
        if self.trust_tier not in _VERIFIED:
            found.append(f"not verified: its trust tier is {self.trust_tier}")
        if self.verdict == "block":
            found.append("it fails the registry's current scan")
        return tuple(found)


class VersionItem(_Response, frozen=True, kw_only=True):
    """One row of the list of versions, with the field names of the API."""

    version: str
    standing: str
    reason: str = ""
    content_hash: str = ""
    archive_sha256: str = ""
    verdict: str | None = None
    capabilities: Capabilities | None = None
    deprecated: Deprecated | None = None


class _File(_Response, frozen=True, kw_only=True):
    path: str
    size: int
    sha256: str
    is_executable: bool


class _FileList(_Response, frozen=True, kw_only=True):
    version: str
    digest: str
    files: tuple[_File, ...]


class _Versions(_Response, frozen=True, kw_only=True):
    versions: tuple[VersionItem, ...]
    next_cursor: str | None = None


def find_release(
    registry: Registry, name: str, wanted: VersionRange, *, with_files: bool = True
) -> SkillRelease:
    """Return the version that *wanted* means; without files, even if all are yanked.

    For an installation, yanked versions are found only by their exact number, and blocked versions
    never.
    """
    try:
        release = get_release(registry, name, pick_version(registry, name, wanted))
    except RegistryError as error:
        raise _with_suggestions(registry, name, error) from error
    if not with_files:
        return release
    if wanted.is_latest and release.current_version is None:
        raise NotFound(
            f"every version of {release.slug} is yanked; to install one anyway, use its "
            f"exact version: {release.slug}@{release.version}"
        )
    return add_files(registry, release)


def pick_version(registry: Registry, name: str, wanted: VersionRange) -> str | None:
    """Return the version that *wanted* means; None for the latest."""
    if wanted.exact is not None or wanted.is_latest:
        return wanted.exact
    return best_version(list_versions(registry, name), wanted, name)


def _with_suggestions(registry: Registry, name: str, error: RegistryError) -> RegistryError:
    """Name similar skills in an error about a skill that does not exist."""
    if error.status != _NOT_FOUND:
        return error
    found = _similar(registry, name)
    if not found or any(slug == name or slug.endswith(f"/{name}") for slug in found):
        return error  # the skill exists, but not this version
    words = f"{error} Did you mean {' or '.join(found)}?"
    return RegistryError(words, status=error.status, code=error.code, problem=error.problem)


def _similar(registry: Registry, name: str) -> list[str]:
    found: Suggestions = registry.get_json(
        f"{API}/skills/search", Suggestions, q=name.rpartition("/")[2], limit=_MAX_SUGGESTED
    )
    return [row["slug"] for row in found["results"]]


def get_release(registry: Registry, name: str, version: str | None) -> SkillRelease:
    """Return the metadata of a version, without its files."""
    response: Skill = registry.get_json(f"{API}/skills/{segment(name)}", Skill, version=version)
    found = _read(registry, response["skill"], SkillRelease)
    check_folder_name(found.name)
    if version is not None and found.version != version:
        raise RegistryError(f"{registry.url} answered with another version of {found.slug}")
    return found


def add_files(registry: Registry, release: SkillRelease) -> SkillRelease:
    """Add the list of files, checked against the digest of the content."""
    path = f"{API}/skills/{segment(release.slug)}/files"
    listed = _read(
        registry, registry.get_json(path, ANY_OBJECT, version=release.version), _FileList
    )
    files = tuple(msgspec.convert(file, SkillFile, from_attributes=True) for file in listed.files)
    if listed.version != release.version:
        raise RegistryError(f"{registry.url} answered with another version of {release.slug}")
    check_files(files, release.sha)
    if not any(file.path == "SKILL.md" for file in files):
        raise SourceRefused(f"{release.slug} {release.version} has no SKILL.md")
    return msgspec.structs.replace(release, files=files)


def check_not_blocked(registry: Registry, slug: str, content_hash: str) -> None:
    """Ask the blocklist about the content of a skill; raise if it is blocked.

    The name is not asked about: a blocked name or source takes the skill down, and other content
    that was blocked under the same name has nothing to do with this one.
    """
    response: BlockCheck = registry.get_json(
        f"{API}/blocklist/check", BlockCheck, hash=content_hash
    )
    if response["blocked"]:
        reason = (response.get("entry") or {}).get("reason") or "no reason given"
        raise NotAllowed(f"{slug} is blocked by {registry.url}: {reason}")


def list_versions(registry: Registry, name: str) -> list[VersionItem]:
    """Return all versions of a skill, newest first."""
    found: list[VersionItem] = []
    cursor = None
    for _ in range(_MAX_PAGES):
        path = f"{API}/skills/{segment(name)}/versions"
        response = registry.get_json(path, ANY_OBJECT, limit=_PAGE, cursor=cursor)
        page = _read(registry, response, _Versions)
        found += page.versions
        cursor = page.next_cursor
        if cursor is None or not page.versions:
            break
    return found


def best_version(versions: list[VersionItem], wanted: VersionRange, name: str) -> str:
    """Return the highest available version in a range."""
    available = [item.version for item in versions if item.standing in _AVAILABLE]
    found = wanted.best_of(available)
    if found:
        return found
    if not available:
        raise NotFound(f"{name} has no version that can be installed without its exact version")
    some = ", ".join(available[:_MAX_NAMED]) + (", …" if len(available) > _MAX_NAMED else "")
    yanked = [item.version for item in versions if item.standing == YANKED]
    left_out = wanted.best_of(yanked)
    hint = (
        f" {left_out} matches, but was yanked: use its exact version to install it."
        if left_out
        else ""
    )
    raise NotFound(f"no version of {name} matches {wanted.text!r}; available: {some}.{hint}")


def _read(registry: Registry, response: Any, kind: type[Kind]) -> Kind:
    """Check a response of the registry; refuse an invalid version."""
    try:
        found = msgspec.convert(response, kind)
    except msgspec.ValidationError as error:
        raise RegistryError(
            f"{registry.url} sent a response that this release does not understand ({error}); is "
            "it a vskill-platform registry of about the same release?"
        ) from error
    version = getattr(found, "version", None)
    if isinstance(version, str) and not parse_version(version):
        raise RegistryError(f"{registry.url} gave a version that is not one: {version[:80]!r}")
    return found
