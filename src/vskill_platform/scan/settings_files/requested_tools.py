"""Read the tools that a skill requests, and report unrestricted access."""

import re
from collections.abc import Iterator

from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole, shorten
from vskill_platform.scan.read.frontmatter import Field, FrontmatterError, read_frontmatter
from vskill_platform.scan.read.skill_files import ScanFile

_FIELDS = ("allowed-tools", "allowed_tools", "tools")
#: A tool name with its restriction; separators are spaces or commas.
_TOOL = re.compile(r"([\w*:-]+)(?:\(([^()]*)\))?")
_EVERYTHING = frozenset({"*", "all", "any"})
_SHELLS = frozenset({"bash", "shell", "execute", "exec", "terminal", "run_terminal_cmd"})
_NETWORK = frozenset({"webfetch", "websearch", "fetch", "http", "browser", "web_fetch"})
_NETWORK_PROGRAMS = re.compile(r"^(?:curl|wget|nc|ssh|scp|http|https)\b")
#: Restrictions that allow everything.
_ANYTHING = frozenset({"", "*", "*:*", ":*", "**"})


def tool_facts(file: ScanFile) -> Iterator[LocatedFact]:
    """Yield a fact for each excessive tool request in the frontmatter of a text."""
    if file.role is not PartRole.INSTRUCTION or not file.text.startswith("---"):
        return
    try:
        fields = read_frontmatter(file.text).fields
    except FrontmatterError:
        return
    for name in _FIELDS:
        if found := fields.get(name):
            yield from _broad(file, found)


def _broad(file: ScanFile, field: Field) -> Iterator[LocatedFact]:
    value = field.value
    text = ", ".join(value) if isinstance(value, list | dict) else value or ""
    tools = [(name.lower(), limit.strip()) for name, limit in _TOOL.findall(text)]
    shell = [limit for name, limit in tools if name in _SHELLS]
    is_open = any(limit in _ANYTHING for limit in shell)
    details = {
        "everything": any(name in _EVERYTHING for name, _ in tools),
        "every command": any(limit and limit in _ANYTHING for limit in shell),
        "any command and the network": is_open and _reaches_network(tools),
    }
    for detail, holds in details.items():
        if holds:
            fact = Fact(act=Act.TOOLS, line=field.line, text=shorten(text), detail=detail)
            yield LocatedFact(fact=fact, path=file.path, role=file.role)


def _reaches_network(tools: list[tuple[str, str]]) -> bool:
    return any(
        name in _NETWORK or (name in _SHELLS and _NETWORK_PROGRAMS.match(limit))
        for name, limit in tools
    )
