"""One run of `install` or `update`: plan with the registry, or without it, and apply."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec

from vskill_platform.cli.install.options import (
    ENVIRON,
    chosen_folders,
    find_target,
    installed_in,
    no_registry,
)
from vskill_platform.cli.install.show import warn
from vskill_platform.cli.lazy import load
from vskill_platform.client.archive_cache import ArchiveCache, user_cache
from vskill_platform.client.install_folders import InstallScope, SkillsFolder
from vskill_platform.client.install_skills import (
    Planned,
    apply_plans,
    find_installed,
    load_archive,
    plan_skill,
)
from vskill_platform.client.lock_file import LockedSkill
from vskill_platform.client.plan_installs import (
    InstalledState,
    OpenRegistries,
    check_installed,
    plan_install,
    plan_update,
    settle_all,
)
from vskill_platform.client.registry import Registry
from vskill_platform.client.used_registries import remember_used_registry
from vskill_platform.client.version_range import VersionRange
from vskill_platform.errors import (
    InvalidInput,
    NotAllowed,
    NotFound,
    RegistryUnavailable,
    VskillError,
)


class InstallRun:
    """One run of a command: its folders, and the registries that it asks."""

    def __init__(
        self, scope: InstallScope, stack: ExitStack, option: str | None, *,
        is_offline: bool = False, force: bool = False, quiet: bool = False,
    ) -> None:  # fmt: skip
        self.scope = scope
        self.locked = installed_in(scope)
        self._stack = stack
        self._is_offline, self._force, self._quiet = is_offline, force, quiet
        self._cache: ArchiveCache = user_cache(ENVIRON)
        target = None if is_offline else find_target(option)
        self._chosen: Registry | None = stack.enter_context(target.open()) if target else None
        self._registries = OpenRegistries(self._chosen, stack, ENVIRON)

    def plan_named(
        self, wanted: Sequence[tuple[str, VersionRange]], agents: tuple[str, ...]
    ) -> list[Planned]:
        folders = chosen_folders(self.scope, agents)
        plans = []
        for name, span in wanted:
            if self._is_offline:
                plans.append(self._plan_offline(name, span))
                continue
            if self._chosen is None:
                raise no_registry()
            try:
                plan = plan_install(
                    self._chosen, self.scope, self.locked, (name, span), folders,
                    force=self._force,
                )  # fmt: skip
            except RegistryUnavailable as error:
                plan = self._plan_without_answer(name, span, error)
            plans.append(plan)
        plans = _once_each(plans)
        _check_distinct(self.scope, plans)
        if self._chosen:
            remember_used_registry(self._chosen.url, ENVIRON)
        return plans

    def plan_locked(self, agents: tuple[str, ...]) -> list[Planned]:
        if not self.locked:
            raise NotFound(
                f"there is nothing to install: {self.scope.lock} "
                f"{'is empty' if self.scope.lock.exists() else 'does not exist'}; name a skill"
            )
        skills = list(self.locked.values())
        if agents:
            skills = [_with_folders(skill, chosen_folders(self.scope, agents)) for skill in skills]
        plans = [self._plan_as_locked(skill) for skill in skills]
        if self._is_offline:
            warn("offline: not checked whether these skills have been blocked or yanked since")
        else:
            self._check_not_blocked(plans)
        return plans

    def plan_updates(self, names: Sequence[str]) -> tuple[list[Planned], list[VskillError]]:
        skills = [find_installed(self.locked, name) for name in names] or list(self.locked.values())
        registries = self._registries.of_each(skills)

        def plan(skill: LockedSkill) -> Planned:
            registry = registries[skill.slug]
            if isinstance(registry, VskillError):
                raise registry
            return plan_update(registry, self.scope, self.locked, skill, force=self._force)

        found = settle_all(plan, skills)
        plans = [one for one in found if isinstance(one, Planned)]
        return plans, [one for one in found if isinstance(one, VskillError)]

    def apply(self, plans: Iterable[Planned], *, keep_lock: bool = False) -> None:
        todo = [plan for plan in plans if not plan.is_current]
        if not todo:
            return
        archives: dict[str, Path] = {}
        for plan in todo:
            digest = plan.skill.archive_sha256
            if digest not in archives:
                opened = self._cache.opened(digest, partial(self._load, plan.skill))
                archives[digest] = self._stack.enter_context(opened)
        apply_plans(self.scope, todo, archives, force=self._force, keep_lock=keep_lock)

    def _load(self, skill: LockedSkill) -> bytes:
        if self._is_offline:
            raise NotFound(
                f"{skill.slug} {skill.version} is not in the cache, which --offline needs"
            )
        registry = self._registries.of(skill)
        if self._quiet or not sys.stderr.isatty():
            return load_archive(registry, skill)
        bar = load("vskill_platform.cli.output.transfer_bar:transfer_bar")
        with bar(f"downloading {skill.slug}", quiet=False) as on_progress:
            return load_archive(registry, skill, on_progress=on_progress)

    def _plan_as_locked(self, skill: LockedSkill) -> Planned:
        return plan_skill(self.scope, self.locked, skill, gained={}, force=self._force)

    def _plan_offline(self, name: str, span: VersionRange) -> Planned:
        skill = find_installed(self.locked, name)
        if skill.version not in span:
            raise NotFound(
                f"offline, only {skill.slug} {skill.version} can be installed, which the lock file "
                f"names; it does not match {span.text!r}"
            )
        return self._plan_as_locked(skill)

    def _plan_without_answer(
        self, name: str, span: VersionRange, error: RegistryUnavailable
    ) -> Planned:
        """Use the lock file and the cache if the registry cannot be reached."""
        try:
            plan = self._plan_offline(name, span)
        except NotFound:
            raise error from None
        if not plan.is_current and self._cache.find(plan.skill.archive_sha256) is None:
            raise error
        warn(
            f"{error}. Using the lock file and the cache; not checked whether it was blocked since"
        )
        return plan

    def _check_not_blocked(self, plans: Sequence[Planned]) -> None:
        """Refuse versions that were blocked since they were locked; use the cache if offline."""
        registries = {plan.skill.slug: self._registries.of(plan.skill) for plan in plans}
        skills = [plan.skill for plan in plans]
        found = settle_all(lambda skill: check_installed(registries[skill.slug], skill), skills)
        unchecked: dict[str, list[str]] = {}
        for plan, status in zip(plans, found, strict=True):
            skill = plan.skill
            if isinstance(status, RegistryUnavailable):
                if not plan.is_current and self._cache.find(skill.archive_sha256) is None:
                    raise status
                unchecked.setdefault(str(status), []).append(skill.slug)
            elif isinstance(status, VskillError):
                raise status
            elif status.state is InstalledState.YANKED:
                warn(f"{skill.slug} {skill.version} was yanked: {status.reason}")
            elif status.state is not InstalledState.AVAILABLE:
                raise NotAllowed(f"{skill.slug} {skill.version} is {status.state}: {status.reason}")
        for reason, slugs in unchecked.items():
            were = "was" if len(slugs) == 1 else "were"
            warn(f"{reason}. Not checked whether {', '.join(slugs)} {were} blocked since")


def _with_folders(skill: LockedSkill, folders: Iterable[SkillsFolder]) -> LockedSkill:
    joined = {folder.path: folder for folder in (*folders, *skill.folders)}
    return msgspec.structs.replace(skill, folders=tuple(joined[path] for path in sorted(joined)))


def _once_each(plans: Sequence[Planned]) -> list[Planned]:
    """Return one plan for each skill, because only one version of a skill can be installed."""
    found: dict[str, Planned] = {}
    for plan in plans:
        skill = plan.skill
        other = found.setdefault(skill.slug, plan).skill
        if (other.version, other.range) != (skill.version, skill.range):
            raise InvalidInput(
                f"{skill.slug} is named twice, as {other.range} ({other.version}) and as "
                f"{skill.range} ({skill.version}); name it once"
            )
    return list(found.values())


def _check_distinct(scope: InstallScope, plans: Sequence[Planned]) -> None:
    owners: dict[Path, str] = {}
    for plan in plans:
        for place in plan.skill.real_places(scope):
            other = owners.setdefault(place, plan.skill.slug)
            if other != plan.skill.slug:
                raise NotAllowed(
                    f"{other} and {plan.skill.slug} have the same name, and an agent can have only "
                    "one of them; install one"
                )
