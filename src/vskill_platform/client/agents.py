"""The agents that load skills: their folders, and which of them are installed on this machine.

`agents.toml` lists them; install_folders.py chooses among them.
"""

import difflib
import os
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

import msgspec

from vskill_platform.errors import InvalidInput

#: The folder that many agents read, used if no agent was found.
SHARED_FOLDER = ".agents/skills"


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    #: Below the project; the first that exists is used, else the last.
    project: tuple[str, ...] = ()
    user: str
    #: Folders that exist only if the agent is installed.
    config: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    #: Other names for `--agent`.
    aliases: tuple[str, ...] = ()

    def project_folder(self, root: Path) -> str:
        """Return its folder below *root*; empty if it has none."""
        there = (folder for folder in self.project if (root / folder).is_dir())
        return next(there, self.project[-1] if self.project else "")


class Agents:
    """All known agents, for one user's environment."""

    def __init__(self, environment: Mapping[str, str], home: Path) -> None:
        table = tomllib.loads((files("vskill_platform.client") / "agents.toml").read_text("utf-8"))
        self._environment = environment
        self._home = home
        self._variables: dict[str, str] = table["variables"]
        self.all = {
            name: msgspec.convert({"name": name, **row}, Agent)
            for name, row in table["agents"].items()
        }

    def named(self, names: Iterable[str]) -> list[Agent]:
        """Return the agents that the user named; an unknown name is an error."""
        by_name = {alias: agent for agent in self.all.values() for alias in agent.aliases}
        by_name |= self.all
        found = {}
        for name in names:
            agent = by_name.get(name.strip().lower())
            if agent is None:
                close = difflib.get_close_matches(name, by_name, n=3)
                known = f"known agents: {', '.join(self.all)}."
                hint = f"did you mean {' or '.join(close)}?" if close else known
                raise InvalidInput(
                    f"there is no agent {name!r}; {hint} For any other agent, use --dir"
                )
            found[agent.name] = agent
        return list(found.values())

    def detected(self, project: Path | None) -> list[Agent]:
        """Return the agents on this machine, and those for which *project* has a folder."""
        path = self._environment.get("PATH", "")
        return [
            agent
            for agent in self.all.values()
            if any(shutil.which(program, path=path) for program in agent.programs)
            or any(self.place(folder).is_dir() for folder in agent.config)
            or (project is not None and _has_folder(agent, project))
        ]

    def place(self, path: str) -> Path:
        """Expand a path of the table for this user: `~/…` or `$VARIABLE/…`."""
        first, _, rest = path.partition("/")
        if first.startswith("$"):
            name = first[1:]
            value = self._environment.get(name, "").strip()
            # The XDG specification requires that a relative path is ignored.
            path = value if os.path.isabs(value) else self._variables[name]  # noqa: PTH117 - a path of a setting, as text
            return self.place(path) / rest if path.startswith("~") else Path(path) / rest
        return self._home / rest


def _has_folder(agent: Agent, project: Path) -> bool:
    """Return whether the project has a folder that only this agent uses, such as `.claude`."""
    own = [folder for folder in agent.project if folder != SHARED_FOLDER]
    # A folder that other software also uses, such as `.github`, counts only with skills in it.
    return any(
        (project / folder).is_dir() or (_is_own(folder) and (project / folder).parent.is_dir())
        for folder in own
    )


def _is_own(folder: str) -> bool:
    return not folder.startswith(".github/")
