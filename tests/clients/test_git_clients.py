"""Claude Code and `openskills`: marketplaces of plugins, and git."""

import os
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from tests.clients.registry import Finished, Home, Registry, npm_file, read_tree

CLAUDE = "@anthropic-ai/claude-code-linux-x64"
MARKETPLACE = ".claude-plugin/marketplace.json"
_PATIENCE_SECONDS = 30
HOOKS = '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo hello"}]}]}}'


def run_claude(home: Home, *arguments: str) -> Finished:
    return home.run(npm_file(CLAUDE, "claude"), "plugin", *arguments)


def market_of(registry: Registry, path: str = "") -> str:
    return str(registry.get_json(f"{path}/{MARKETPLACE}")["name"])


def plugin_files(home: Home, market: str, plugin: str, version: str) -> dict[str, bytes]:
    folder = home.folder / ".claude/plugins/cache" / market / plugin / version
    return read_tree(folder, leave_out=[".git"])


def git(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_TERMINAL_PROMPT": "0"},
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"


@pytest.fixture(scope="module")
def plugin(registry: Registry, acme: str) -> str:
    registry.publish(acme, "plugin-skill", is_private=False, **{"scripts/hello.sh": "echo hello\n"})
    return "acme__plugin-skill"


@pytest.mark.parametrize("scope", ["", "/n/@acme", "/s/@acme/plugin-skill"])
def test_a_plugin_is_installed_from_a_marketplace(
    scope: str, registry: Registry, plugin: str, home: Home
) -> None:
    market = market_of(registry, scope)

    added = run_claude(home, "marketplace", "add", f"{registry.url}{scope}/{MARKETPLACE}")
    done = run_claude(home, "install", f"{plugin}@{market}")
    details = run_claude(home, "details", f"{plugin}@{market}")

    assert added.code == done.code == 0, (added, done)
    assert "scripts/hello.sh" in plugin_files(home, market, plugin, "1.0.0")
    assert "Skills (1)  plugin-skill" in details.out


def test_a_new_version_is_installed_by_update(registry: Registry, acme: str, home: Home) -> None:
    registry.publish(acme, "updated-skill", is_private=False, **{"references/a.md": "first"})
    market = market_of(registry, "/n/@acme")
    run_claude(home, "marketplace", "add", f"{registry.url}/n/@acme/{MARKETPLACE}")
    run_claude(home, "install", f"acme__updated-skill@{market}")
    registry.publish(acme, "updated-skill", is_private=False, **{"references/a.md": "second"})

    run_claude(home, "marketplace", "update", market)
    done = run_claude(home, "update", f"acme__updated-skill@{market}")

    assert done.code == 0, done
    files = plugin_files(home, market, "acme__updated-skill", "1.0.1")
    assert files["references/a.md"] == b"second"


def test_a_commit_that_is_not_in_the_repository_is_refused(
    registry: Registry, plugin: str, home: Home
) -> None:
    forged = registry.get_json(f"/n/@acme/{MARKETPLACE}")
    entry = next(item for item in forged["plugins"] if item["name"] == plugin)
    entry["source"]["sha"] = "0123456789" * 4
    forged["name"] = "forged-market"
    file = home.project / "marketplace.json"
    file.write_bytes(msgspec.json.encode(forged))
    run_claude(home, "marketplace", "add", "./marketplace.json")

    done = run_claude(home, "install", f"{plugin}@forged-market")

    assert done.code != 0, done
    assert not plugin_files(home, "forged-market", plugin, "1.0.0")


def test_a_skill_cannot_bring_hooks_and_servers_along(
    registry: Registry, acme: str, home: Home
) -> None:
    registry.publish(
        acme,
        "hooked-skill",
        is_private=False,
        **{
            "hooks/hooks.json": HOOKS,
            "commands/do-it.md": "Say hello.",
            ".mcp.json": '{"mcpServers":{"x":{"command":"echo"}}}',
        },
    )
    market = market_of(registry, "/n/@acme")
    run_claude(home, "marketplace", "add", f"{registry.url}/n/@acme/{MARKETPLACE}")

    done = run_claude(home, "install", f"acme__hooked-skill@{market}")
    details = run_claude(home, "details", f"acme__hooked-skill@{market}")

    assert done.code == 0, done
    assert "Skills (1)  hooked-skill" in details.out
    assert "Hooks (0)" in details.out
    assert "MCP servers (0)" in details.out


def test_openskills_installs_over_git(registry: Registry, plugin: str, home: Home) -> None:
    url = f"{registry.url}/git/@acme/plugin-skill.git"

    done = home.run_node("openskills", "dist/cli.js", "install", url, "-y")

    assert done.code == 0, done
    assert "scripts/hello.sh" in read_tree(home.project / ".claude/skills/plugin-skill")


@pytest.mark.parametrize("protocol", ["0", "1", "2"])
def test_every_version_has_a_commit_and_a_tag(
    protocol: str, registry: Registry, acme: str, tmp_path: Path
) -> None:
    name = f"versions-{protocol}"
    registry.publish(acme, name, is_private=False, **{"references/a.md": "first"})
    registry.publish(acme, name, is_private=False, **{"references/a.md": "second"})
    url = f"{registry.url}/git/@acme/{name}.git"

    version = ("-c", f"protocol.version={protocol}")
    git(*version, "clone", "-q", url, "copy", folder=tmp_path)
    git(*version, "clone", "-q", "--depth", "1", url, "shallow", folder=tmp_path)
    git(*version, "clone", "-q", "--filter=blob:none", url, "partial", folder=tmp_path)

    copy = tmp_path / "copy"
    assert git("rev-list", "--count", "HEAD", folder=tmp_path / "shallow").strip() == "1"
    assert (tmp_path / "partial/references/a.md").read_text() == "second"
    assert git("log", "--format=%s", folder=copy).split() == ["v1.0.1", "v1.0.0"]
    assert git("tag", folder=copy).split() == ["v1.0.0", "v1.0.1"]
    assert git("fsck", "--strict", folder=copy) == ""
    assert git("show", "v1.0.0:references/a.md", folder=copy) == "first"


def test_a_clone_is_updated_by_pull(registry: Registry, acme: str, tmp_path: Path) -> None:
    registry.publish(acme, "pulled-skill", is_private=False, **{"references/a.md": "first"})
    url = f"{registry.url}/git/@acme/pulled-skill.git"
    git("clone", "-q", url, "copy", folder=tmp_path)
    registry.publish(acme, "pulled-skill", is_private=False, **{"references/a.md": "second"})

    done = git("pull", "-q", "--ff-only", folder=tmp_path / "copy")

    assert done == ""
    assert (tmp_path / "copy/references/a.md").read_text() == "second"


def test_a_repository_without_a_blocked_version_can_be_cloned_and_updated(
    registry: Registry, acme: str, tmp_path: Path
) -> None:
    for text in ("first", "second", "third"):
        registry.publish(acme, "cut-skill", is_private=False, **{"references/a.md": text})
    url = f"{registry.url}/git/@acme/cut-skill.git"
    git("clone", "-q", url, "before", folder=tmp_path)
    message = git("log", "-1", "--format=%B", "v1.0.1", folder=tmp_path / "before")
    digest = message.strip().rsplit("sha256:", 1)[1]
    registry.platform.run("block", "add", "--digest", digest, "--reason", "it is a test")
    registry.publish(acme, "cut-skill", is_private=False, **{"references/a.md": "fourth"})

    cloned = git("clone", "-q", url, "after", folder=tmp_path)
    pulled = git("pull", "-q", "--ff-only", folder=tmp_path / "before")

    assert cloned == pulled == ""
    assert git("tag", folder=tmp_path / "after").split() == ["v1.0.0", "v1.0.2", "v1.0.3"]
    assert (tmp_path / "after/references/a.md").read_text() == "fourth"
    assert (tmp_path / "before/references/a.md").read_text() == "fourth"


def test_a_private_repository_needs_a_token_as_password(
    registry: Registry, acme: str, tmp_path: Path
) -> None:
    registry.publish(acme, "private-repo", is_private=True)
    token = registry.add_token("acme", "read")
    path = "/git/@acme/private-repo.git"
    with_token = registry.url.replace("//", f"//acme:{token}@") + path

    refused = git("clone", "-q", registry.url + path, "refused", folder=tmp_path)
    git("clone", "-q", with_token, "copy", folder=tmp_path)

    assert "failed" in refused
    assert (tmp_path / "copy/SKILL.md").is_file()


def test_a_private_plugin_is_installed_with_a_token_in_the_url(
    registry: Registry, acme: str, home: Home
) -> None:
    registry.publish(acme, "private-plugin", is_private=True)
    token = registry.add_token("acme", "read")
    path = f"/t/{token}/n/@acme/{MARKETPLACE}"
    listed = registry.get(path)
    run_claude(home, "marketplace", "add", f"{registry.url}{path}")

    done = run_claude(home, "install", f"acme__private-plugin@{listed.json()['name']}")

    assert token not in listed.text
    assert done.code == 0, done


def test_a_blocked_skill_is_gone_within_a_second_from_every_protocol(
    registry: Registry, acme: str, tmp_path: Path
) -> None:
    registry.publish(acme, "blocked-skill")
    git("clone", "-q", f"{registry.url}/git/@acme/blocked-skill.git", "before", folder=tmp_path)
    lists = [
        "/.well-known/agent-skills/index.json", "/n/@acme/.well-known/agent-skills/index.json",
        "/n/@acme/.well-known/skills/index.json", f"/{MARKETPLACE}", f"/n/@acme/{MARKETPLACE}",
        "/api/search?q=blocked-skill",
    ]  # fmt: skip
    single = [
        "/s/@acme/blocked-skill/.well-known/agent-skills/index.json",
        "/artifacts/@acme/blocked-skill/1.0.0.zip",
        "/apm/v1/packages/acme/blocked-skill/versions",
        "/apm/v1/packages/acme/blocked-skill/versions/1.0.0/download",
        "/git/@acme/blocked-skill.git/info/refs?service=git-upload-pack",
    ]
    assert [path for path in lists if "blocked-skill" not in registry.get(path).text] == []

    blocked = registry.platform.run(
        "block", "add", "--source", "@acme/blocked-skill", "--reason", "it is a test"
    )
    # The promise is a second, but not on a machine that is busy with other tests.
    patience = time.monotonic() + _PATIENCE_SECONDS
    while shown := [path for path in lists if "@acme/blocked-skill" in registry.get(path).text]:
        assert time.monotonic() < patience, shown
        time.sleep(0.1)  # a real server in another process: there is nothing to await

    assert blocked.code == 0, blocked
    assert {registry.get(path).status_code for path in single} <= {403, 404}
    again = git(
        "clone", "-q", f"{registry.url}/git/@acme/blocked-skill.git", "after", folder=tmp_path
    )
    assert "failed" in again
