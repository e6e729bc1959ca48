"""Plan what to install, from the registry or from the lock file, and what an update changes.

install_skills.py refuses plans that would overwrite local changes, and makes the changes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from enum import StrEnum
from typing import TypeVar

import msgspec

from vskill_platform.client.addresses import segment
from vskill_platform.client.credentials import REGISTRY_VARIABLE, TOKEN_VARIABLE, resolve_registry
from vskill_platform.client.find_release import (
    API,
    BLOCKED,
    STATUSES,
    YANKED,
    SkillRelease,
    VersionItem,
    add_files,
    best_version,
    check_not_blocked,
    find_release,
    get_release,
    list_versions,
)
from vskill_platform.client.install_folders import InstallScope, SkillsFolder
from vskill_platform.client.install_skills import Planned, lock_release, plan_skill
from vskill_platform.client.lock_file import LockedSkill
from vskill_platform.client.registry import Registry
from vskill_platform.client.used_registries import list_used_registries
from vskill_platform.client.version_range import VersionRange, parse_range
from vskill_platform.errors import (
    NotAllowed,
    NotFound,
    RegistryError,
    RegistryUnavailable,
    VskillError,
)
from vskill_platform.model.skill import Capabilities, new_capabilities

_AT_ONCE = 8
_FORBIDDEN, _NOT_FOUND, _GONE = 403, 404, 410

Item = TypeVar("Item")
Result = TypeVar("Result")


class InstalledState(StrEnum):
    """The state of an installed version in the registry."""

    AVAILABLE = "available"
    YANKED = "yanked"
    BLOCKED = "blocked"
    #: Taken down, made private, or unknown to the registry.
    GONE = "gone"
    #: The registry has different content under the same version.
    REPLACED = "replaced"


class InstalledStatus(msgspec.Struct, frozen=True):
    state: InstalledState
    reason: str = ""


class OpenRegistries:
    """The registries of the skills in a lock file: the chosen one, and those used before.

    A lock file may come from a foreign repo, so a registry that only it names is not contacted.
    """

    def __init__(
        self, chosen: Registry | None, stack: ExitStack, environ: Mapping[str, str]
    ) -> None:
        self._opened = {chosen.url: chosen} if chosen else {}
        self._stack = stack
        self._environ = environ

    def of(self, skill: LockedSkill) -> Registry:
        if found := self._opened.get(skill.registry):
            return found
        known = list_used_registries(self._environ)
        environ = dict(self._environ)
        if not environ.get(REGISTRY_VARIABLE):
            # The token is for the registry that the user chose, not for any that a lock file names.
            environ.pop(TOKEN_VARIABLE, None)
        target = resolve_registry(skill.registry, environ) if skill.registry in known else None
        if target is None:
            raise NotAllowed(
                f"{skill.slug} comes from {skill.registry}, a registry that you have not used; if "
                f"you trust it, sign in with `vskill-platform login {skill.registry}` or use "
                f"--registry {skill.registry}"
            )
        opened = self._stack.enter_context(target.open())
        self._opened[skill.registry] = opened
        return opened

    def of_each(self, skills: Iterable[LockedSkill]) -> dict[str, Registry | VskillError]:
        """Return the registry of each skill by slug, or the error why it must not be asked.

        They are opened here, one by one, because threads share them afterwards.
        """
        found: dict[str, Registry | VskillError] = {}
        for skill in skills:
            try:
                found[skill.slug] = self.of(skill)
            except VskillError as error:
                found[skill.slug] = error
        return found


def plan_install(
    registry: Registry,
    scope: InstallScope,
    locked: Mapping[str, LockedSkill],
    wanted: tuple[str, VersionRange],
    folders: Iterable[SkillsFolder],
    *,
    force: bool = False,
) -> Planned:
    """Plan to install the version that the user asked for."""
    release = find_release(registry, *wanted)
    check_not_blocked(registry, release.slug, release.sha)
    before = locked.get(release.slug)
    skill = lock_release(registry, release, wanted=wanted[1].text, folders=folders, before=before)
    gained = _gained(registry, before, release)
    return plan_skill(scope, locked, skill, release=release, gained=gained, force=force)


def plan_update(
    registry: Registry,
    scope: InstallScope,
    locked: Mapping[str, LockedSkill],
    skill: LockedSkill,
    *,
    force: bool = False,
) -> Planned:
    """Plan to install the newest version in the range that the user asked for."""
    versions = list_versions(registry, skill.slug)
    wanted = parse_range(skill.range)
    version = wanted.exact or best_version(versions, wanted, skill.slug)
    release = add_files(registry, get_release(registry, skill.slug, version))
    if release.slug != skill.slug:
        raise NotAllowed(
            f"{skill.slug} is now called {release.slug}; to follow it, remove {skill.slug} and "
            f"install {release.slug}"
        )
    check_not_blocked(registry, release.slug, release.sha)
    new = lock_release(registry, release, wanted=skill.range, folders=(), before=skill)
    gained = _compare(versions, skill, release)
    return plan_skill(scope, locked, new, release=release, gained=gained, force=force)


def check_installed(registry: Registry, skill: LockedSkill) -> InstalledStatus:
    """Ask the registry for the state of an installed version."""
    path = f"{API}/skills/{segment(skill.slug)}/versions/{segment(skill.version)}"
    try:
        found: VersionItem = registry.get_json(path, VersionItem)
    except RegistryUnavailable:
        raise
    except RegistryError as error:
        if error.status == _FORBIDDEN:
            return InstalledStatus(InstalledState.BLOCKED, str(error))
        if error.status not in {_NOT_FOUND, _GONE}:
            raise
        return _why_gone(registry, skill, error)
    if found.version != skill.version or found.standing not in STATUSES:
        raise RegistryError(
            f"{registry.url} sent a response about {skill.slug} that is not understood: version "
            f"{found.version[:80]!r} is {found.standing[:80]!r}"
        )
    digests = (found.content_hash, found.archive_sha256)
    if digests != (skill.content_hash, skill.archive_sha256):
        return InstalledStatus(
            InstalledState.REPLACED, "the registry has other content under this version"
        )
    if found.standing in BLOCKED:
        return InstalledStatus(InstalledState.BLOCKED, found.reason)
    if found.standing == YANKED:
        return InstalledStatus(InstalledState.YANKED, found.reason)
    return InstalledStatus(InstalledState.AVAILABLE)


def _why_gone(registry: Registry, skill: LockedSkill, error: RegistryError) -> InstalledStatus:
    try:
        check_not_blocked(registry, skill.slug, skill.content_hash)
    except NotAllowed as blocked:
        return InstalledStatus(InstalledState.BLOCKED, str(blocked))
    return InstalledStatus(InstalledState.GONE, str(error))


class Outdated(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    version: str
    range: str
    #: The newest version in the range, and the newest one of all; None if there is none.
    wanted: str | None
    latest: str | None
    #: Why the installed version is no longer available.
    reason: str = ""
    #: Why the installed version should no longer be used; empty if it may be.
    deprecated: str = ""

    @property
    def is_outdated(self) -> bool:
        newer = {self.wanted, self.latest} - {None, self.version}
        return bool(self.reason or self.deprecated or newer)


def check_outdated(registry: Registry, skill: LockedSkill) -> Outdated:
    """Return the versions that an installed skill could be updated to."""
    try:
        versions = list_versions(registry, skill.slug)
    except RegistryUnavailable:
        raise
    except RegistryError as error:
        if error.status not in {_FORBIDDEN, _NOT_FOUND, _GONE}:
            raise
        return _without_versions(skill, check_installed(registry, skill))
    wanted = parse_range(skill.range)
    try:
        newest: str | None = wanted.exact or best_version(versions, wanted, skill.slug)
    except NotFound:
        newest = None
    mine = next((item for item in versions if item.version == skill.version), None)
    return Outdated(
        slug=skill.slug,
        version=skill.version,
        range=skill.range,
        wanted=newest,
        latest=next((item.version for item in versions if item.standing == "latest"), None),
        reason=f"{mine.standing}: {mine.reason}" if mine and mine.reason else "",
        deprecated=mine.deprecated.words if mine and mine.deprecated else "",
    )


def _without_versions(skill: LockedSkill, status: InstalledStatus) -> Outdated:
    """Return what to show for a skill that is no longer available."""
    return Outdated(
        slug=skill.slug,
        version=skill.version,
        range=skill.range,
        wanted=None,
        latest=None,
        reason=f"{status.state}: {status.reason}",
    )


def settle_all(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result | VskillError]:
    """Run *work* on all items, a few at a time; return each result or error in order."""

    def settle(item: Item) -> Result | VskillError:
        try:
            return work(item)
        except VskillError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(settle, items))


def _gained(
    registry: Registry, before: LockedSkill | None, release: SkillRelease
) -> Capabilities | None:
    if before is None or before.version == release.version:
        return {}
    return _compare(list_versions(registry, release.slug), before, release)


def _compare(
    versions: Iterable[VersionItem], before: LockedSkill, release: SkillRelease
) -> Capabilities | None:
    if before.version == release.version:
        return {}
    old = next((item for item in versions if item.version == before.version), None)
    if old is None or old.capabilities is None or release.capabilities is None:
        return None
    return new_capabilities(old.capabilities, release.capabilities)
