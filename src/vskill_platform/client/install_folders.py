"""Choose the folders to install into: those of agents, in a project or for a user, or --dir."""

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path, PurePosixPath

import msgspec

from vskill_platform.base.windows_names import is_valid_on_windows
from vskill_platform.client.agents import SHARED_FOLDER, Agent, Agents
from vskill_platform.errors import InvalidInput

#: Not `vskill.lock`: another tool uses that name, with another format.
LOCK_NAME = "vskill-platform.lock"
#: Contains new and old folders during an installation, next to the skills.
STAGING = ".vskill-platform"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)


class ScopeKind(StrEnum):
    PROJECT = "project"
    USER = "user"
    FOLDER = "folder"


class SkillsFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder from which agents load skills."""

    #: Its name in the lock file.
    path: str
    agents: tuple[str, ...] = ()


class InstallScope(msgspec.Struct, frozen=True, kw_only=True):
    kind: ScopeKind
    #: The project, the user's home or the folder. Paths in the lock file start here.
    root: Path
    lock: Path

    def place(self, path: str) -> Path:
        """Return where a path from the lock file is on this machine.

        It refuses one that leads elsewhere: lock files come with repos, so they are untrusted.
        """
        if self.kind is ScopeKind.USER:
            found = self.root / path[2:] if path.startswith("~/") else Path(path)
            if not found.is_absolute() or ".." in found.parts:
                raise InvalidInput(f"{self.lock} names the path {path!r}, which is not valid")
            return found
        parts = PurePosixPath(path).parts
        is_git = any(part.casefold().rstrip(". ") == ".git" for part in parts)
        if path.startswith("/") or "\\" in path or {"..", ""} & set(path.split("/")) or is_git:
            raise InvalidInput(f"{self.lock} names the path {path!r}, which is not in {self.root}")
        found = self.root / path
        try:
            is_inside = found.parent.resolve().is_relative_to(self.root.resolve())
        except RuntimeError as error:  # a link to itself
            raise InvalidInput(f"{found.parent} is a link that leads nowhere; delete it") from error
        if not is_inside:
            raise InvalidInput(
                f"{found.parent} is a link that leads out of {self.root}; replace it with a "
                "folder, or use --dir"
            )
        return found

    def stored(self, folder: Path) -> str:
        """Return the name of a folder in the lock file."""
        if folder.is_relative_to(self.root):
            inside = folder.relative_to(self.root).as_posix()
            return f"~/{inside}" if self.kind is ScopeKind.USER else inside
        return str(folder)


def check_folder_name(name: str) -> str:
    """Return the name of a skill; raise if some system cannot have a folder with this name."""
    if not _NAME.fullmatch(name) or not is_valid_on_windows(name) or LOCK_NAME in name:
        raise InvalidInput(
            f"{name[:80]!r} cannot be the name of a folder on every system; not installed"
        )
    return name


def find_scope(
    *,
    user: bool = False,
    project: bool = False,
    folder: Path | None = None,
    environ: Mapping[str, str],
) -> InstallScope:
    """Return the scope that the options choose; without any, the project around this folder."""
    if user + project + (folder is not None) > 1:
        raise InvalidInput("use only one of --user, --project and --dir")
    if folder is not None:
        root = folder.absolute()
        return InstallScope(kind=ScopeKind.FOLDER, root=root, lock=root / LOCK_NAME)
    home = Path.home().resolve()  # like the current folder
    root = Path.cwd() if user else _find_project(Path.cwd(), home)
    # In the home folder, project folders are the same as user folders, so there is one lock file.
    if user or (root == home and not project):
        from vskill_platform.client.credentials import config_folder  # noqa: PLC0415 - loads HTTP

        return InstallScope(kind=ScopeKind.USER, root=home, lock=config_folder(environ) / LOCK_NAME)
    return InstallScope(kind=ScopeKind.PROJECT, root=root, lock=root / LOCK_NAME)


def skills_folders(
    scope: InstallScope, names: tuple[str, ...] = (), *, environ: Mapping[str, str]
) -> list[SkillsFolder]:
    """Return the skills folders of the named agents, or of those on this machine.

    Agents that read the same folder share it. Without any agent, it is the shared folder.
    """
    if scope.kind is ScopeKind.FOLDER:
        if names:
            raise InvalidInput("use either --agent or --dir")
        return [SkillsFolder(path="")]
    is_project = scope.kind is ScopeKind.PROJECT
    agents = Agents(environ, Path.home() if is_project else scope.root)
    chosen = agents.named(names) if names else agents.detected(scope.root if is_project else None)
    found: dict[str, list[str]] = {}
    for agent in chosen:
        path = _folder_of(agent, scope, agents)
        if path:
            found.setdefault(path, []).append(agent.name)
        elif names:
            raise InvalidInput(f"{agent.title} has no folder in a project; use --user or --dir")
    if not found:
        found = {SHARED_FOLDER if is_project else f"~/{SHARED_FOLDER}": []}
    return [SkillsFolder(path=path, agents=tuple(sorted(found[path]))) for path in sorted(found)]


def _folder_of(agent: Agent, scope: InstallScope, agents: Agents) -> str:
    if scope.kind is ScopeKind.PROJECT:
        return agent.project_folder(scope.root)
    return scope.stored(agents.place(agent.user))


def _find_project(here: Path, home: Path) -> Path:
    """Return the closest folder with a lock file or a git repo, or else this folder."""
    for folder in (here, *here.parents):
        if (folder / LOCK_NAME).exists() or (folder / ".git").exists():
            return folder
        if folder == home:
            break
    return here
