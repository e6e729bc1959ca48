"""Parse settings files: commands, agent tool servers, and texts for people or agents.

Editors, agents, package managers and CI systems run commands from JSON, YAML and TOML. A command is
recognised by its key; all other texts are returned as words.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any

import msgspec
import re2
import yaml

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import classify_host, hosts_in
from vskill_platform.scan.settings_files.line_finder import LineFinder

FORMATS = {
    ".json": "json", ".jsonc": "json", ".json5": "json", ".ipynb": "json", ".yaml": "yaml",
    ".yml": "yaml", ".toml": "toml", ".desktop": "ini", ".service": "ini", ".ini": "ini",
    ".cfg": "ini", ".conf": "ini",
}  # fmt: skip
#: The labels of fences with these formats.
FENCES = {"json": "json", "jsonc": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml"}
#: A YAML parser needs a second per megabyte; settings files are far smaller.
_MAX_YAML = 200_000
_MAX_DEPTH = 40
#: For each token, the YAML parser checks every open bracket. It also recurses once per level, so
#: very many levels would crash the process.
_MAX_OPEN = 500
_ITEMS_IN_ITEMS = re.compile(r"(?:[-?:][^\S\n]+){500}")
_BRACKETS = re.compile(r"[][{}]")
_MAX_VALUES = 20_000
_MAX_TEXT = 400_000
_MAX_COMMANDS = 2_000
#: Keys whose values are commands.
_COMMAND_KEY = re.compile(
    r"(?:.*[_-])?(?:commands?|cmds?|run|exec(?:start(?:pre|post)?|stop)?|shell|entry|entrypoint|"
    r"install|preinstall|postinstall|(?:before|after)_?script|script|setup|build|start|test|"
    r"apiKeyHelper|fsmonitor|sshcommand|sshCommand|pager|editor|inline|smudge|clean|textconv|"
    r"external|helper|askpass|process|program)$"
    r"|\w+(?:Command|Cmd|Script)s?$",
)
_names_command = lru_cache(maxsize=1000)(_COMMAND_KEY.match)  # data repeats its keys
#: A program and its arguments, each under its own key.
_PROGRAM_AND_ARGUMENTS = (("command", "args"), ("runtimeExecutable", "runtimeArgs"))
#: Every value directly below these keys is a command.
_COMMAND_TABLES = frozenset({"scripts", "tasks", "aliases", "alias", "cmds", "commands", "hooks"})
#: Permission for any command.
_EVERYTHING = re.compile(r"\*|(?:Bash|Shell|PowerShell)(?:\(\*?(?::\*)?\))?")
_SERVER_TABLES = frozenset({"mcpservers", "mcp_servers", "mcp-servers", "mcp"})
_SERVER_ADDRESS = ("url", "serverUrl", "server_url", "httpUrl", "endpoint", "uri", "baseUrl")
#: An unclosed string extends to the end; otherwise every quote in it would be tried as a start.
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\\?\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_JSON_STRING = re.compile(
    r'(?:"([^"\\\n]{1,80})"\s{0,20}:\s{0,20})?"((?:[^"\\\n]|\\.)*+)(?:"|(?=\n)|\\?\Z)'
)
#: Consecutive comment lines are one text.
_COMMENT_LINES = {
    "json": re.compile(r"^[^\S\n]*//[^\n]*(?:\n[^\S\n]*//[^\n]*)*", re.MULTILINE),
    "ini": re.compile(r"^[^\S\n]*[#;][^\n]*(?:\n[^\S\n]*[#;][^\n]*)*", re.MULTILINE),
}
_COMMENT_LINES |= dict.fromkeys(
    ("yaml", "toml"),
    re.compile(r"(?:^|(?<=\s))#[^\n]*(?:\n[^\S\n]*#[^\n]*)*", re.MULTILINE),
)
_COMMENT_SIGNS = {"json": "//", "yaml": "#", "toml": "#", "ini": "#"}
_COMMENT_MARK = re.compile(r"^[^\S\n]*(?:#+|;+|//+)[^\S\n]*", re.MULTILINE)
_TRAILING = re.compile(r",(?=\s*[}\]])")
#: A dotted key with more parts than any real setting.
_LONG_KEY = re2.compile(r"(?:[\w\"'-]+[ \t]*\.[ \t]*){50}")
_INI = re.compile(r"^[^\S\n]*([\w.-]+)\s*[=:]\s*(\S.*)$", re.MULTILINE)
_INI_ESCAPE = re.compile(r"\\([nt\"\\])")
_YAML_LINE = re.compile(r"^[^\S\n]*(?:-\s+)?(?:([\w.-]+)\s*:\s+)?(\S.*)$", re.MULTILINE)
_RUN_MAGIC = re.compile(r"\s*%(?:run|load|pycat)\s+(?:-\w+\s+)*(\S{1,500})")
#: A line of a notebook that a shell or a package manager runs.
_LINE_MAGIC = re.compile(r"\s*%(?:(?:sx|sc|system)\s+|(?=(?:pip|conda|mamba)\s))(\S.{0,1000})")
_MAGIC = re.compile(r"^%%(?:bash|sh|script\s+(?:ba)?sh)[^\n]*\n")


class FoundSettings(msgspec.Struct):
    """The values found, each with its line."""

    commands: list[tuple[int, str]] = []
    #: Code in other languages: line, language, code.
    programs: list[tuple[int, str, str]] = []
    #: Commands that an agent or editor runs at certain events.
    hooks: list[tuple[int, str]] = []
    texts: list[tuple[int, str]] = []
    facts: list[Fact] = []
    #: Whether there are more texts or commands than were read.
    is_cut: bool = False
    has_more_commands: bool = False


def read_settings(text: str, kind: str) -> FoundSettings:
    """Read a text in one of FORMATS; malformed text is read line by line."""
    found = FoundSettings()
    try:
        tree = _PARSERS[kind](text)
    except (ValueError, RecursionError, yaml.YAMLError):
        tree = _strings(text) if kind == "json" else _lines(text)
    visit = _Walk(text, found)
    visit.visit(tree)
    visit.read_comments(kind)
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        bare = _COMMENT.sub(lambda part: part[0] if part[0][0] == '"' else "", text)
        return json.loads(_TRAILING.sub("", bare))


def _strings(text: str) -> list[dict[str, str]]:
    """Read the strings of JSON that is not well-formed, each under its key if it has one."""
    found = []
    for key, value in islice(_JSON_STRING.findall(text), _MAX_VALUES):
        try:
            found.append({key: json.loads(f'"{value}"', strict=False)})
        except ValueError:
            found.append({key: value})
    return found


def _yaml(text: str) -> Any:
    if len(text) > _MAX_YAML or _is_nested_deeply(text):
        return _lines(text)
    documents = yaml.compose_all(text, Loader=yaml.CSafeLoader)
    return [_plain(document, {}, 0) for document in documents]


def _is_nested_deeply(text: str) -> bool:
    if _ITEMS_IN_ITEMS.search(text):
        return True
    if text.count("[") + text.count("{") <= _MAX_OPEN:
        return False
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKETS.findall(text))
    return max(accumulate(steps), default=0) > _MAX_OPEN


def _plain(node: yaml.Node, known: dict[int, Any], depth: int) -> Any:
    """Convert a node to plain values; a node with aliases is converted once."""
    if depth > _MAX_DEPTH:
        raise RecursionError
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = None  # an alias inside its own target is skipped
    value: Any = node.value
    if isinstance(node, yaml.SequenceNode):
        value = [_plain(item, known, depth + 1) for item in node.value]
    elif isinstance(node, yaml.MappingNode):
        value = {
            str(key.value): _plain(item, known, depth + 1)
            for key, item in node.value
            if isinstance(key, yaml.ScalarNode)
        }
    known[id(node)] = value
    return value


def _toml(text: str) -> Any:
    # The parser's time grows with the square of the number of parts of a key.
    return _ini(text) if _LONG_KEY.search(text.encode(errors="replace")) else tomllib.loads(text)


def _ini(text: str) -> Any:
    return [{key: _INI_ESCAPE.sub(_ini_character, value)} for key, value in _INI.findall(text)]


def _ini_character(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(found[1], found[1])


def _lines(text: str) -> list[dict[str, str]]:
    """Read line by line; lines with the same key, or without one, do not replace each other."""
    return [{key: value.strip("'\"")} for key, value in _YAML_LINE.findall(text)]


_PARSERS: dict[str, Callable[[str], Any]] = {
    "json": _json, "yaml": _yaml, "toml": _toml, "ini": _ini,
}  # fmt: skip


class _Walk:
    """Traverses parsed settings once, with a list of pending nodes instead of recursion."""

    def __init__(self, text: str, found: FoundSettings) -> None:
        self._text, self._found = text, found
        self._seen: set[int] = set()
        self._room = _MAX_TEXT
        self._lines = LineFinder(text)
        #: The tables above the current one.
        self._keys: tuple[str, ...] = ()

    def visit(self, tree: Any) -> None:
        todo: list[tuple[tuple[str, ...], Any]] = [((), tree)]
        left = _MAX_VALUES
        while todo and left:
            left -= 1
            keys, value = todo.pop()
            if isinstance(value, (dict, list)):
                if id(value) in self._seen:
                    continue
                self._seen.add(id(value))
            if isinstance(value, dict):
                self._table(keys, value)
                todo += [((*keys, str(key))[-6:], item) for key, item in reversed(value.items())]
            elif isinstance(value, list):
                todo += [(keys, item) for item in reversed(value)]
            elif isinstance(value, str):
                self._leaf(keys, value)
        self._found.is_cut |= bool(todo)

    def _table(self, keys: tuple[str, ...], table: dict[str, Any]) -> None:
        self._keys = keys
        self._server(keys, table)
        self._permissions(keys, table)
        if "cell_type" in table:
            self._cell(table)
        for name, more in _PROGRAM_AND_ARGUMENTS:
            command, args = table.get(name), table.get(more)
            if isinstance(command, str) and isinstance(args, list):
                self._command(_joined([command, *args]))
        below = bool(keys) and keys[-1].lower() in _COMMAND_TABLES
        for key, value in table.items():
            if below or _names_command(str(key)):
                self._commands(value)
            elif isinstance(value, str) and value.startswith("!"):  # a git alias
                self._command(value[1:])

    def _commands(self, value: Any) -> None:
        if isinstance(value, str):
            self._command(value)
        elif isinstance(value, list):
            words = [item for item in value if isinstance(item, str)]
            is_one = len(words) > 1 and words[0] and " " not in words[0]
            self._command(_joined(words) if is_one else "\n".join(words))
            if is_one:
                self._command("\n".join(words[1:]))

    def _command(self, text: str) -> None:
        if not text.strip():
            return
        if len(self._found.commands) >= _MAX_COMMANDS:
            self._found.has_more_commands = True
            return
        self._found.commands.append((self._line_of(text), text))
        if "hooks" in self._keys:
            self._found.hooks.append(self._found.commands[-1])

    def _server(self, keys: tuple[str, ...], table: dict[str, Any]) -> None:
        """Record an agent tool server (MCP) that is reached over the network."""
        names = {key.lower() for key in keys}
        # An API description also has a table with this name, but it contains only the URL.
        is_server = bool(names & _SERVER_TABLES) or ("servers" in names and "type" in table)
        if not is_server:
            return
        address = next((table[name] for name in _SERVER_ADDRESS if name in table), None)
        if isinstance(address, str):
            self._found.facts += server_facts(address, self._line_of(address))

    def _permissions(self, keys: tuple[str, ...], table: dict[str, Any]) -> None:
        """Record settings that let an agent run any command without asking."""
        if keys[-1:] != ("permissions",):
            return
        allowed = table.get("allow")
        granted = allowed if isinstance(allowed, list) else []
        grants = [one for one in granted if isinstance(one, str) and _EVERYTHING.fullmatch(one)]
        grants += ["bypassPermissions"] if table.get("defaultMode") == "bypassPermissions" else []
        for grant in grants[:1]:
            text = shorten(f"permissions: {grant}")
            fact = Fact(act=Act.TELL_SKIP, line=self._line_of(grant), text=text)
            self._found.facts.append(fact)

    def _cell(self, cell: dict[str, Any]) -> None:
        source = cell.get("source")
        code = "".join(item for item in source if isinstance(item, str)) if isinstance(
            source, list) else source  # fmt: skip
        if not isinstance(code, str) or not code.strip():
            return
        line = self._line_of(code.partition("\n")[0])
        if cell.get("cell_type") != "code":
            self._found.texts.append((line, code))
        elif magic := _MAGIC.match(code):
            self._found.commands.append((line, code[magic.end() :]))
        else:
            lines = code.replace("\\\n", " ").split("\n")  # a command may continue
            shell = [one.lstrip()[1:] for one in lines if one.lstrip().startswith("!")]
            shell += [found[1] for one in lines if (found := _LINE_MAGIC.match(one))]
            shell += [f"python {found[1]}" for one in lines if (found := _RUN_MAGIC.match(one))]
            self._found.commands += [(line, one) for one in shell]
            python = [one for one in lines if not one.lstrip().startswith(("!", "%"))]
            self._found.programs.append((line, "python", "\n".join(python)))

    def _leaf(self, keys: tuple[str, ...], text: str) -> None:
        if len(text) < _SHORTEST or "source" in keys[-1:]:
            return
        if self._room <= 0:
            self._found.is_cut = True
            return
        self._room -= len(text)
        self._found.texts.append((self._line_of(text), text))

    def read_comments(self, kind: str) -> None:
        """Add the text of comments, because an agent that opens the file also reads them."""
        if _COMMENT_SIGNS[kind] not in self._text:
            return
        for found in islice(_COMMENT_LINES[kind].finditer(self._text), _MAX_VALUES):
            words = _COMMENT_MARK.sub("", found[0])
            if len(words) >= _SHORTEST and self._room > 0:
                self._room -= len(words)
                self._found.texts.append((self._lines.line_at(found.start()), words))

    def _line_of(self, text: str) -> int:
        start = text.strip().partition("\n")[0][:40]
        return self._lines.line_of(start, json.dumps(start)[1:-1])


#: Shorter texts contain no message.
_SHORTEST = 12


def _joined(words: list[Any]) -> str:
    return shlex.join(str(word) for word in words if isinstance(word, (str, int, float)))


def server_facts(address: str, line: int) -> list[Fact]:
    """Return the URL of an agent tool server, if it is in the settings."""
    return [
        Fact(
            act=Act.TOOL_SERVER,
            line=line,
            text=shorten(address),
            host=host,
            host_class=classify_host(host),
        )
        for host in hosts_in(address)[:1]
    ]
