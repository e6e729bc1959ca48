"""Install, update and remove skills; never overwrite local changes without `--force`."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from vskill_platform.client.addresses import segment
from vskill_platform.client.compare_folder import compare_folder
from vskill_platform.client.find_release import API, SkillRelease
from vskill_platform.client.install_folders import InstallScope, SkillsFolder
from vskill_platform.client.lock_file import (
    LockedSkill,
    format_lock,
    place_of,
    read_lock,
    real_place,
)
from vskill_platform.client.registry import Registry
from vskill_platform.client.replace_folders import FolderChange, exclusive, replace_folders
from vskill_platform.client.responses import OnProgress
from vskill_platform.client.version_range import parse_range
from vskill_platform.errors import NotAllowed, NotFound, RegistryError, SourceRefused
from vskill_platform.fetch.archive import MAX_RATIO, unpack
from vskill_platform.model.skill import Capabilities, SkillFile, parse_version

_FOLDER_MODE = 0o755


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """The planned state of a skill in the lock file and on disk."""

    skill: LockedSkill
    #: Its current entry in the lock file.
    before: LockedSkill | None = None
    #: The metadata from the registry; None if it was not asked.
    release: SkillRelease | None = None
    #: The capabilities that only the new version has; None if unknown.
    gained: Capabilities | None = msgspec.field(default_factory=dict)
    #: Whether everything is already in place.
    is_current: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the reasons to ask before installing it, even without a terminal."""
        found = self.release.warnings if self.release else ()
        if self.before is None or parse_range(self.skill.range).exact:
            return found
        old, new = parse_version(self.before.version), parse_version(self.skill.version)
        if old is None or new is None or new >= old:
            return found
        older = f"version {self.skill.version} is older than the installed {self.before.version}"
        return (*found, older)

    @property
    def is_first(self) -> bool:
        return self.before is None

    @property
    def has_new_content(self) -> bool:
        return self.before is None or self.before.content_hash != self.skill.content_hash


def plan_skill(
    scope: InstallScope,
    locked: Mapping[str, LockedSkill],
    skill: LockedSkill,
    *,
    release: SkillRelease | None = None,
    gained: Capabilities | None = None,
    force: bool = False,
) -> Planned:
    """Plan one skill; without *force*, refuse to replace local changes or other skills."""
    before = locked.get(skill.slug)
    if before and before.registry != skill.registry and not force:
        raise NotAllowed(
            f"{skill.slug} was installed from {before.registry}, not from {skill.registry}; "
            "use --force to replace it"
        )
    if before and not force:
        _check_unchanged(before, skill)
    is_current = before == skill
    for place in skill.places(scope):
        is_current &= _check_place(scope, locked, place, skill, force=force)
    return Planned(
        skill=skill, before=before, release=release, gained=gained, is_current=is_current
    )


def _check_unchanged(before: LockedSkill, skill: LockedSkill) -> None:
    """Refuse other content under the installed version, because a version never changes."""
    known = (before.content_hash, before.archive_sha256)
    if before.version == skill.version and known != (skill.content_hash, skill.archive_sha256):
        raise NotAllowed(
            f"{skill.slug} {skill.version} has other content than when it was installed: "
            f"{skill.registry} or the lock file was changed. Find out why before you use --force"
        )


def _check_place(
    scope: InstallScope,
    locked: Mapping[str, LockedSkill],
    place: Path,
    skill: LockedSkill,
    *,
    force: bool,
) -> bool:
    """Return whether the skill is already in this place; refuse to replace other files."""
    state = compare_folder(place, skill.files)
    if state.is_clean:
        return True
    if state.is_absent or force:
        return False
    real = real_place(place)
    owner = next((one for one in locked.values() if real in one.real_places(scope)), None)
    if owner is None:
        raise NotAllowed(
            f"{place} exists and was not installed by vskill-platform; move it away, or use "
            "--force to replace it"
        )
    if owner.slug != skill.slug:
        raise NotAllowed(
            f"{place} contains {owner.slug}, a skill of another publisher with the same name; "
            f"remove it first, or use --force to replace it"
        )
    found = compare_folder(place, owner.files)
    if found.has_local_changes:
        raise NotAllowed(
            f"{place} has local changes ({found.in_words()}); save them, or use --force to discard "
            "them"
        )
    return False


def lock_release(
    registry: Registry,
    release: SkillRelease,
    *,
    wanted: str,
    folders: Iterable[SkillsFolder],
    before: LockedSkill | None = None,
) -> LockedSkill:
    """Return the lock file's entry for a release; it keeps the folders of an earlier entry."""
    joined: dict[str, set[str]] = {}
    for folder in (*(before.folders if before else ()), *folders):
        joined.setdefault(folder.path, set()).update(folder.agents)
    try:
        return LockedSkill(
            slug=release.slug,
            name=release.name,
            registry=registry.url,
            version=release.version,
            range=wanted,
            archive_sha256=release.archive_sha256,
            content_hash=release.sha,
            folders=tuple(
                SkillsFolder(path=path, agents=tuple(sorted(joined[path])))
                for path in sorted(joined)
            ),
            files=tuple(sorted(release.files, key=lambda file: file.path)),
        )
    except ValueError as error:
        raise RegistryError(f"{registry.url} sent a response that is not valid: {error}") from error


def load_archive(
    registry: Registry, skill: LockedSkill, *, on_progress: OnProgress | None = None
) -> bytes:
    """Download the archive of a version; raise if its digest is not the expected one."""
    return registry.download(
        f"{API}/skills/{segment(skill.slug)}/download?version={skill.version}",
        sha256=skill.archive_sha256,
        on_progress=on_progress,
    )


def apply_plans(
    scope: InstallScope,
    plans: Sequence[Planned],
    archives: Mapping[str, Path],
    *,
    force: bool = False,
    keep_lock: bool = False,
) -> None:
    """Write all planned skills, from their *archives* by digest, and the lock file.

    With *keep_lock* the lock file must not change.
    """
    with exclusive(scope):
        before = locked = read_lock(scope)
        changes: dict[Path, FolderChange] = {}
        for planned in plans:
            # Checked again: another run may have changed something since it was planned.
            now = plan_skill(scope, locked, planned.skill, force=force)
            archive = archives[planned.skill.archive_sha256]
            for folder, place in zip(now.skill.folders, now.skill.places(scope), strict=True):
                if not compare_folder(place, now.skill.files).is_clean:
                    write = partial(write_skill, archive, now.skill.files)
                    changes[real_place(place)] = FolderChange(
                        folder=folder.path, name=now.skill.name, write=write
                    )
            locked = _with_skill(scope, locked, now.skill)
        is_same = locked == before
        if keep_lock and not is_same:
            raise NotAllowed(f"{scope.lock} would change, which --frozen does not allow")
        text = None if is_same else format_lock(locked.values())
        replace_folders(scope, list(changes.values()), text)


def _with_skill(
    scope: InstallScope, locked: Mapping[str, LockedSkill], skill: LockedSkill
) -> dict[str, LockedSkill]:
    """Add a skill; another skill with the same name loses the folders in which it is replaced."""
    taken = set(skill.real_places(scope))
    kept: dict[str, LockedSkill] = {}
    for slug, other in locked.items():
        folders = tuple(
            folder for folder in other.folders
            if real_place(place_of(scope, folder.path, other.name)) not in taken
        )  # fmt: skip
        if slug != skill.slug and folders:
            kept[slug] = msgspec.structs.replace(other, folders=folders)
    return {**kept, skill.slug: skill}


def write_skill(archive: Path, files: Sequence[SkillFile], folder: Path) -> None:
    """Unpack an archive into the new *folder*, and check that it contains exactly *files*."""
    unpack(archive, folder, max_ratio=MAX_RATIO)
    folder.chmod(_FOLDER_MODE)
    state = compare_folder(folder, files)
    if not state.is_clean:
        raise SourceRefused(
            f"the archive does not contain the files that the registry lists ({state.in_words()}); "
            "nothing was installed"
        )


def find_installed(locked: Mapping[str, LockedSkill], name: str) -> LockedSkill:
    """Return the installed skill with this slug, or with this name if there is only one."""
    if name in locked:
        return locked[name]
    same = [skill for skill in locked.values() if skill.name == name]
    if len(same) == 1:
        return same[0]
    if same:
        raise NotFound(
            f"several installed skills are called {name!r}: "
            f"{', '.join(skill.slug for skill in same)}; use the full slug"
        )
    some = ", ".join(sorted(locked)) or "none"
    raise NotFound(f"{name!r} is not installed here; installed: {some}")


def remove_skills(
    scope: InstallScope,
    names: Sequence[str],
    *,
    folders: Sequence[SkillsFolder] | None = None,
    force: bool = False,
) -> list[LockedSkill]:
    """Remove skills and their entries in the lock file; return what was removed.

    With *folders*, remove them only from these: the skills stay installed for other agents.
    """
    for name in names:  # before anything is locked or created
        _part_in(scope, find_installed(read_lock(scope), name), folders)
    with exclusive(scope):
        locked = read_lock(scope)
        found_skills = [find_installed(locked, name) for name in names]
        removed = {skill.slug: _part_in(scope, skill, folders) for skill in found_skills}
        changes: dict[Path, FolderChange] = {}
        for skill in removed.values():
            for folder, place in zip(skill.folders, skill.places(scope), strict=True):
                found = compare_folder(place, skill.files)
                if found.has_local_changes and not force:
                    raise NotAllowed(
                        f"{place} has local changes ({found.in_words()}); save them, or use "
                        "--force to delete them"
                    )
                if not found.is_absent:
                    changes[real_place(place)] = FolderChange(folder=folder.path, name=skill.name)
        rest = [_without(skill, removed.get(skill.slug)) for skill in locked.values()]
        kept = [skill for skill in rest if skill.folders]
        replace_folders(scope, list(changes.values()), format_lock(kept))
    return list(removed.values())


def _part_in(
    scope: InstallScope, skill: LockedSkill, folders: Sequence[SkillsFolder] | None
) -> LockedSkill:
    """Return the skill with only these folders; raise if it cannot be removed from them alone."""
    if folders is None:
        return skill
    wanted = {folder.path: folder for folder in folders}
    found = tuple(folder for folder in skill.folders if folder.path in wanted)
    if not found:
        agents = sorted(agent for folder in skill.folders for agent in folder.agents)
        for_whom = ", ".join(agents) or "no agent in particular"
        raise NotFound(f"{skill.slug} is not installed for this agent; it is for: {for_whom}")
    part = msgspec.structs.replace(skill, folders=found)
    gone = set(part.real_places(scope))
    for folder, place in zip(skill.folders, skill.real_places(scope), strict=True):
        named = wanted[folder.path].agents if folder.path in wanted else ()
        others = sorted(set(folder.agents).difference(named))
        if place in gone and (others or folder.path not in wanted):
            raise NotAllowed(
                f"{', '.join(others) or 'other agents'} use the same folder, {folder.path}: name "
                "them with --agent as well, or remove the skill for all"
            )
    return part


def _without(skill: LockedSkill, removed: LockedSkill | None) -> LockedSkill:
    gone = removed.folders if removed else ()
    left = tuple(folder for folder in skill.folders if folder not in gone)
    return msgspec.structs.replace(skill, folders=left)
