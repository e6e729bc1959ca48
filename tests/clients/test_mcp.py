"""MCP Inspector verifies every file of the skills that are served, as both eras of clients do."""

from typing import Any

import msgspec
import pytest

from tests.browser.registry import own_words
from tests.clients.registry import Finished, Home, Registry

_PACKAGE = "@modelcontextprotocol/inspector"
_SCRIPT = "clients/launcher/build/index.js"
#: YAML that has types, quotes, blocks and nested values.
_MANIFEST = """\
---
name: mcp-typed
description: >-
  Handles typed values. Use when
  somebody asks for them.
license: "1.0"
metadata:
  version: 1.20
  count: 0x1F
  active: yes
  done: true
  nothing: ~
  date: 2026-01-02
  time: 12:30:45
  "quoted": '7'
  tags: [a, 1, 1e3]
---
"""


def inspect(home: Home, registry: Registry, *arguments: str, era: str = "legacy") -> Finished:
    return home.run_node(
        _PACKAGE, _SCRIPT, "--cli", f"{registry.url}/mcp", "--transport", "http",
        "--protocol-era", era, *arguments,
    )  # fmt: skip


@pytest.fixture(scope="session")
def served(registry: Registry, acme: str) -> str:
    """Publish a skill with files of several kinds; return its URI."""
    body = own_words("mcp-typed").partition("\n---\n")[2]
    registry.publish(
        acme, "mcp-typed", is_private=False,
        **{"SKILL.md": _MANIFEST + body, "references/Größe 1.md": "# Größe\r\n", "data/empty": ""},
    )  # fmt: skip
    return "skill://%40acme/mcp-typed/SKILL.md"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_every_listed_skill_is_verified(
    registry: Registry, served: str, home: Home, era: str
) -> None:
    done = inspect(
        home, registry, "--method", "skills/list", "--verify", "--require-digests", era=era
    )

    assert done.code == 0, done
    assert served in done.out


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_one_skill_is_verified_by_its_uri(
    registry: Registry, served: str, home: Home, era: str
) -> None:
    done = inspect(
        home, registry, "--method", "skills/get", "--uri", served,
        "--verify", "--require-digests", era=era,
    )  # fmt: skip

    assert done.code == 0, done
    assert '"outcome": "verified"' in done.out.replace('":"', '": "')


def test_tools_search_and_inspect(registry: Registry, served: str, home: Home) -> None:
    found = call_tool(home, registry, "search_skills", "query=typed")
    told = call_tool(home, registry, "inspect_skill", "skill=@acme/mcp-typed")

    assert served in [skill["uri"] for skill in found["skills"]]
    assert told["verdict"] == "pass"


def call_tool(home: Home, registry: Registry, name: str, argument: str) -> Any:
    done = inspect(
        home, registry, "--method", "tools/call", "--tool-name", name, "--tool-arg", argument,
        era="modern",
    )  # fmt: skip
    assert done.code == 0, done
    return msgspec.json.decode(done.out)["structuredContent"]


def test_a_private_skill_needs_a_token(
    registry: Registry, acme: str, served: str, home: Home
) -> None:
    registry.publish(acme, "mcp-secret", is_private=True)
    get = ("--method", "skills/get", "--uri", "skill://%40acme/mcp-secret/SKILL.md", "--verify")

    without = inspect(home, registry, *get)
    with_token = inspect(home, registry, *get, "--header", f"Authorization: Bearer {acme}")

    assert without.code != 0
    assert with_token.code == 0, with_token
