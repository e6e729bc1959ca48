"""Which agents are there, and where their skills go."""

import os
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from tests.cases import all_cases
from vskill_platform.client.agents import Agents
from vskill_platform.client.install_folders import (
    LOCK_NAME,
    InstallScope,
    ScopeKind,
    SkillsFolder,
    check_folder_name,
    find_scope,
    skills_folders,
)
from vskill_platform.errors import InvalidInput


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> InstallScope:
    root = home / "work" / "app"
    root.mkdir(parents=True)
    monkeypatch.chdir(root)
    return InstallScope(kind=ScopeKind.PROJECT, root=root, lock=root / LOCK_NAME)


def user_scope(home: Path) -> InstallScope:
    return InstallScope(kind=ScopeKind.USER, root=home, lock=home / ".config" / LOCK_NAME)


def paths(folders: list[SkillsFolder]) -> dict[str, tuple[str, ...]]:
    return {folder.path: folder.agents for folder in folders}


def test_every_row_of_the_table_is_complete_and_stays_where_it_belongs(home: Path) -> None:
    table = tomllib.loads((files("vskill_platform.client") / "agents.toml").read_text())
    agents = Agents({}, home).all

    assert len(agents) > 60
    names = [name for agent in agents.values() for name in (agent.name, *agent.aliases)]
    programs = [program for agent in agents.values() for program in agent.programs]
    assert len(names) == len(set(names))
    assert len(programs) == len(set(programs))
    for agent in agents.values():
        assert agent.config
        for folder in agent.project:
            assert not folder.startswith(("/", "~", "$"))
            assert ".." not in folder
        for path in (agent.user, *agent.config):
            assert path.startswith("~/.") or path[1:].partition("/")[0] in table["variables"]


@pytest.mark.parametrize(
    ("name", "project_folder", "user_folder"),
    [
        ("claude-code", ".claude/skills", "~/.claude/skills"),
        ("codex", ".agents/skills", "~/.agents/skills"),
        ("cursor", ".agents/skills", "~/.cursor/skills"),
        ("gemini-cli", ".agents/skills", "~/.gemini/skills"),
        ("opencode", ".agents/skills", "~/.config/opencode/skills"),
        ("copilot", ".agents/skills", "~/.copilot/skills"),
        ("windsurf", ".windsurf/skills", "~/.codeium/windsurf/skills"),
        ("amp", ".agents/skills", "~/.config/agents/skills"),
    ],
)
def test_a_named_agent_has_its_folders(
    project: InstallScope, home: Path, name: str, project_folder: str, user_folder: str
) -> None:
    in_project = skills_folders(project, (name,), environ={})
    for_user = skills_folders(user_scope(home), (name,), environ={})

    assert list(paths(in_project)) == [project_folder]
    assert list(paths(for_user)) == [user_folder]


def test_agents_that_read_the_same_folder_share_it(project: InstallScope) -> None:
    found = skills_folders(project, ("codex", "amp", "claude", "gemini"), environ={})

    assert paths(found) == {
        ".agents/skills": ("amp", "codex", "gemini-cli"),
        ".claude/skills": ("claude-code",),
    }


def test_the_own_folder_of_an_agent_is_used_where_it_exists(project: InstallScope) -> None:
    (project.root / ".cursor" / "skills").mkdir(parents=True)

    found = skills_folders(project, ("cursor", "codex"), environ={})

    assert paths(found) == {".agents/skills": ("codex",), ".cursor/skills": ("cursor",)}


def test_an_agent_is_found_by_its_program_or_its_folders(project: InstallScope, home: Path) -> None:
    programs = home / "bin"
    programs.mkdir()
    (programs / "codex").write_text("#!/bin/sh\n")
    (programs / "codex").chmod(0o755)
    (programs / "gemini").write_text("not executable")
    (home / ".claude").mkdir()
    (project.root / ".windsurf").mkdir()
    (project.root / ".github").mkdir()  # of GitHub, not of an agent
    (home / ".config").mkdir()  # of everybody

    found = skills_folders(project, environ={"PATH": str(programs)})

    assert paths(found) == {
        ".agents/skills": ("codex",),
        ".claude/skills": ("claude-code",),
        ".windsurf/skills": ("windsurf",),
    }


def test_without_any_agent_the_shared_folder_is_used(project: InstallScope, home: Path) -> None:
    assert paths(skills_folders(project, environ={})) == {".agents/skills": ()}
    assert paths(skills_folders(user_scope(home), environ={})) == {"~/.agents/skills": ()}


def test_variables_move_the_folders_of_an_agent(home: Path, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    agents = Agents({"CLAUDE_CONFIG_DIR": elsewhere, "XDG_CONFIG_HOME": "relative"}, home)

    assert agents.place(agents.all["claude-code"].user) == Path(elsewhere, "skills")
    assert agents.place(agents.all["opencode"].user) == home / ".config" / "opencode" / "skills"


@pytest.mark.parametrize(("name", "hint"), [("claud", "did you mean"), ("zzzzzz", "known agents")])
def test_an_unknown_agent_is_an_error_with_a_hint(
    project: InstallScope, name: str, hint: str
) -> None:
    with pytest.raises(InvalidInput, match=hint):
        skills_folders(project, (name,), environ={})


def test_the_project_is_the_folder_with_the_lock_file_or_the_repo(
    project: InstallScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = project.root / "src" / "deep"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    without = find_scope(environ={}).root
    (project.root / ".git").mkdir()
    in_repo = find_scope(environ={}).root
    (inside.parent / LOCK_NAME).touch()
    with_lock = find_scope(environ={}).root

    assert (without, in_repo, with_lock) == (inside, project.root, inside.parent)


def test_in_the_home_folder_skills_are_for_the_user(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)

    scope = find_scope(environ={"XDG_CONFIG_HOME": str(home / "cfg")})

    assert scope.kind is ScopeKind.USER
    assert scope.lock == home / "cfg" / "vskill-platform" / LOCK_NAME
    assert scope.place("~/.claude/skills/demo") == home / ".claude/skills/demo"


def test_a_folder_has_a_lock_file_of_its_own(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    scope = find_scope(folder=Path("skills"), environ={})

    assert (scope.kind, scope.root) == (ScopeKind.FOLDER, tmp_path / "skills")
    assert scope.lock == tmp_path / "skills" / LOCK_NAME
    assert paths(skills_folders(scope, environ=dict(os.environ))) == {"": ()}


def test_only_one_scope_can_be_chosen() -> None:
    with pytest.raises(InvalidInput, match="only one"):
        find_scope(user=True, folder=Path("x"), environ={})


@all_cases(
    "name",
    ["", ".", "..", ".git", "a/b", "a\\b", "A", "é", "con", "nul.txt", "lpt9", "a\n", "a ", "a.",
     "-a", "a" * 65, "a\u202eb", "a:b", LOCK_NAME],
)  # fmt: skip
def test_a_name_that_some_system_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_folder_name(name)


@all_cases("name", ["a", "pdf-forms", "a1", "1password", "con-fig", "a.b", "a_b"])
def test_an_ordinary_name_is_fine(name: str) -> None:
    assert check_folder_name(name) == name
