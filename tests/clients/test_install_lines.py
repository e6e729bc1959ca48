"""The commands that a skill's page shows work as they are copied."""

import os
import re
import shlex
import sys
from html import unescape
from pathlib import Path

import pytest

from tests.browser.registry import own_words
from tests.clients.registry import (
    CLIENTS,
    Finished,
    Home,
    Registry,
    make_tree,
    npm_file,
    python_client,
)
from tests.repos import a_repo

_CLAUDE = "@anthropic-ai/claude-code-linux-x64"
_LINE = re.compile(r'id="install-(\w+)".*?data-copy="([^"]+)"', re.DOTALL)
#: Where each tool puts a skill.
_PLACES = {
    "vskill": ".claude/skills",
    "codex": ".agents/skills",
    "cursor": ".agents/skills",
    "skills": ".claude/skills",
    "clawhub": "skills/OWNER",
    "openskills": ".claude/skills",
    "apm": ".claude/skills",
    "download": ".",
}


@pytest.fixture(scope="session")
def upload(registry: Registry, acme: str) -> str:
    registry.publish(acme, "line-upload")
    return "@acme/line-upload"


@pytest.fixture(scope="session")
def repo(registry: Registry) -> str:
    folder = registry.platform.folder / "bea" / "lines"
    make_tree(folder, {"skills/line-repo/SKILL.md": own_words("line-repo")})
    registry.platform.run("submit", a_repo(folder), "--path", "skills/line-repo", "--watch")
    return "bea/lines/line-repo"


@pytest.fixture(scope="session")
def private(registry: Registry, acme: str) -> str:
    registry.publish(acme, "line-private", is_private=True)
    return "@acme/line-private"


def lines_of(registry: Registry, slug: str, *, token: str = "") -> dict[str, str]:
    page = registry.get(f"/skills/{slug}", token=token).text
    return {tool: unescape(line) for tool, line in _LINE.findall(page)}


def run_line(home: Home, line: str, **env: str) -> Finished:
    """Run a line in a project of Claude Code, with the tools of the lock files on the path."""
    tools = home.folder / "bin"
    programs = {
        "apm": python_client("apm"),
        "claude": npm_file(_CLAUDE, "claude"),
        "vskill-platform": Path(sys.executable).with_name("vskill-platform"),
    }
    shims = {name: f'exec {shlex.quote(str(path))} "$@"' for name, path in programs.items()}
    # Like npx, but with what is installed and nothing else.
    bins = shlex.quote(str(CLIENTS / "node_modules/.bin"))
    shims["npx"] = f'name=$1; shift; exec {bins}/"$name" "$@"'
    make_tree(tools, {name: f"#!/bin/sh\n{text}\n" for name, text in shims.items()})
    for name in shims:
        (tools / name).chmod(0o755)
    (home.project / ".claude").mkdir(exist_ok=True)
    node = CLIENTS / "node_modules/node22/bin"
    path = os.pathsep.join([str(tools), str(node), os.environ["PATH"]])
    return home.run("/bin/sh", "-c", line, PATH=path, **env)


@pytest.mark.parametrize("tool", _PLACES)
def test_the_line_for_an_upload_installs_it(
    registry: Registry, upload: str, home: Home, tool: str
) -> None:
    done = run_line(home, lines_of(registry, upload)[tool])

    assert done.code == 0, done
    place = _PLACES[tool].replace("OWNER", "@acme")
    assert (home.project / place / "line-upload/SKILL.md").is_file(), done


@pytest.mark.parametrize("tool", sorted(_PLACES.keys() - {"apm"}))
def test_the_line_for_a_skill_of_a_repo_installs_it(
    registry: Registry, repo: str, home: Home, tool: str
) -> None:
    done = run_line(home, lines_of(registry, repo)[tool])

    assert done.code == 0, done
    place = _PLACES[tool].replace("OWNER", "@bea.lines")
    assert (home.project / place / "line-repo/SKILL.md").is_file(), done
    assert "apm" not in lines_of(registry, repo)


# Not apm, which sends tokens over HTTPS only: see test_apm.py.
@pytest.mark.parametrize("tool", sorted(_PLACES.keys() - {"apm"}))
def test_the_line_for_a_private_skill_installs_it_with_a_token_and_not_without(
    registry: Registry, private: str, home: Home, tool: str
) -> None:
    token = registry.add_token("acme", "read")
    line = lines_of(registry, private, token=token)[tool]
    ask = home.folder / "ask"
    ask.write_text('#!/bin/sh\necho "$VSKILL_TOKEN"\n')
    ask.chmod(0o755)
    env = {"GIT_ASKPASS": str(ask), "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}

    run_line(home, line, **env, VSKILL_TOKEN="")
    before = list(home.project.rglob("SKILL.md"))
    if tool == "clawhub":  # as the note of the line says
        server = line.partition(" npx ")[0]
        signed_in = run_line(home, f"{server} npx clawhub login --token {token}")
        assert signed_in.code == 0, signed_in
    done = run_line(home, line, **env, VSKILL_TOKEN=token)

    assert before == []
    assert done.code == 0, done
    place = _PLACES[tool].replace("OWNER", "@acme")
    assert (home.project / place / "line-private/SKILL.md").is_file(), done
    assert token not in line


def test_the_line_for_claude_code_installs_a_private_plugin(
    registry: Registry, private: str, home: Home
) -> None:
    token = registry.add_token("acme", "read")
    line = lines_of(registry, private, token=token)["claude"]

    done = run_line(home, line, VSKILL_TOKEN=token)

    assert done.code == 0, done
    plugins = home.folder / ".claude/plugins/cache"
    names = {path.relative_to(plugins).parts[1] for path in plugins.rglob("SKILL.md")}
    assert names == {"acme__line-private"}


def test_the_line_for_claude_code_installs_a_plugin(
    registry: Registry, upload: str, repo: str, home: Home
) -> None:
    for slug in (upload, repo):
        done = run_line(home, lines_of(registry, slug)["claude"])
        assert done.code == 0, done

    plugins = home.folder / ".claude/plugins/cache"
    names = {path.relative_to(plugins).parts[1] for path in plugins.rglob("SKILL.md")}
    assert names == {"acme__line-upload", "bea__lines__line-repo"}


def test_the_line_for_mcp_is_the_url_of_a_server(
    registry: Registry, upload: str, home: Home
) -> None:
    url = lines_of(registry, upload)["mcp"]

    done = home.run_node(
        "@modelcontextprotocol/inspector", "clients/launcher/build/index.js", "--cli", url,
        "--transport", "http", "--method", "tools/list",
    )  # fmt: skip

    assert done.code == 0, done
    assert "search_skills" in done.out
