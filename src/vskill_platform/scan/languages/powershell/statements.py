"""Analyse PowerShell and batch code statement by statement."""

import re

import msgspec

from vskill_platform.scan.facts.decode_text import decode_literal
from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import classify_host, hosts_in
from vskill_platform.scan.facts.sensitive_paths import secret_in, sensitive_place_in
from vskill_platform.scan.languages.dispatch import read_shell
from vskill_platform.scan.languages.powershell import rules
from vskill_platform.scan.languages.powershell.text import (
    MAX_CHARACTERS,
    MAX_STATEMENTS,
    assigned,
    clean,
    fill_in,
    join_strings,
    statements,
)
from vskill_platform.scan.languages.unparsed import Unparsed

#: The maximum depth of nested code.
_MAX_DEPTH = 3
_MAX_FILES = 50
#: Shorter file names occur in too many words.
_MIN_NAME = 4
_ASSIGNMENT = re.compile(r"\$(?:\w{1,12}:)?(\w{1,60})\s{0,4}\+?=(?!=)")
_NAMES = re.compile(r"\$(?:\w{1,12}:)?(\w{1,60})")


class _Value(msgspec.Struct, frozen=True):
    """The origin of a value."""

    hosts: tuple[str, ...] = ()
    secrets: frozenset[str] = frozenset()
    is_decoded: bool = False
    plain: str = ""

    def with_(self, other: "_Value") -> "_Value":
        return _Value(
            tuple(dict.fromkeys((*self.hosts, *other.hosts)))[:4],
            self.secrets | other.secrets,
            self.is_decoded or other.is_decoded,
            self.plain or other.plain,
        )


class _State(msgspec.Struct):
    depth: int = 0
    facts: dict[tuple[object, ...], Fact] = {}
    texts: dict[str, str] = {}
    values: dict[str, _Value] = {}
    files: dict[str, _Value] = {}
    #: Other names that the code defines for Invoke-Expression.
    aliases: set[str] = set()
    line: int = 1
    source: str = ""
    is_cut: bool = False

    def emit(self, act: Act, detail: str = "", host: str | None = None) -> None:
        key = (act, self.line, host, detail)
        if key not in self.facts:
            self.facts[key] = Fact(
                act=act, line=self.line, text=shorten(self.source), host=host,
                host_class=classify_host(host) if host else None, detail=shorten(detail),
            )  # fmt: skip

    def emit_all(self, act: Act, hosts: tuple[str, ...], detail: str = "") -> None:
        for host in hosts or (None,):
            self.emit(act, detail, host)


def follow_powershell(code: str) -> list[Fact]:
    state = _State()
    is_whole = _read(state, code)
    facts = sorted(state.facts.values(), key=lambda fact: fact.line)
    if not is_whole or state.is_cut or len(code) > MAX_CHARACTERS:
        raise Unparsed("too long", facts, is_too_much=True)
    return facts


def _read(state: _State, code: str) -> bool:
    """Read *code*; return whether all of it was read."""
    plain, is_split = clean(code)
    if is_split:
        state.source = state.source or code[:300]
        state.emit(Act.HIDE, "split words")
    found = rules.REVERSE.search(plain)
    if found and rules.REVERSE_RUNS.search(plain):
        state.line = plain.count("\n", 0, found.start()) + 1
        state.source = state.source or found[0]
        hosts = hosts_in(f"tcp://{found[1]}")
        state.emit(Act.REVERSE_SHELL, "socket", hosts[0] if hosts and "$" not in hosts[0] else None)
    base = state.line - 1 if state.depth else 0
    cut = statements(plain)
    for line, text in cut:
        if not state.depth:
            state.line, state.source = base + line, text
        _read_statement(state, text)
    return len(cut) < MAX_STATEMENTS


def _read_statement(state: _State, statement: str) -> None:
    if state.aliases:
        statement = _with_aliases(state, statement)
    if found := rules.ALIAS.search(statement):
        state.emit(Act.HIDE, "another name for Invoke-Expression")
        state.aliases.add(found[1].lower())
    joined = join_strings(fill_in(statement, state.texts))
    if (
        joined != statement
        and rules.RUNS_TEXT.search(joined)
        and not rules.RUNS_TEXT.search(statement)
    ):
        state.emit(Act.HIDE, "assembled strings")
    if literal := assigned(join_strings(statement)):
        state.texts[literal[0]] = literal[1]
    if _read_nested(state, joined):
        return
    for pattern, act, detail in rules.PLAIN_RULES:
        if pattern.search(joined):
            state.emit(act, detail)
    value = _value(state, joined)
    _read_sending(state, joined, value)
    _read_places(state, joined)
    _read_running(state, joined, value)
    _read_tools(state, joined)
    if found := _ASSIGNMENT.match(joined):
        state.values[found[1].lower()] = value.with_(state.values.get(found[1].lower(), _Value()))


def _with_aliases(state: _State, statement: str) -> str:
    first, space, rest = statement.lstrip("&. ").partition(" ")
    return f"iex{space}{rest}" if first.lower() in state.aliases else statement


def _read_nested(state: _State, statement: str) -> bool:
    """Read code that is passed to another shell; return whether the statement is nothing else."""
    if found := rules.ENCODED.search(statement):
        plain = decode_literal(found[1])
        state.emit(Act.RUN, "powershell")
        state.emit(Act.RUN_DECODED, plain or "")
        _deeper(state, plain or "")
        return True
    found = rules.NESTED.search(statement) or rules.CMD.search(statement)
    if found:
        for pattern, act, detail in rules.PLAIN_RULES:
            if act is Act.HIDE and pattern.search(statement):
                state.emit(act, detail)
        if statement[:1].lower() == "p":
            state.emit(Act.RUN, "powershell")
        _deeper(state, found[1].strip().strip("\"'"))
    return found is not None


def _deeper(state: _State, code: str) -> None:
    if state.depth < _MAX_DEPTH and code:
        state.depth += 1
        try:
            _read(state, code)
        finally:
            state.depth -= 1


def _value(state: _State, statement: str) -> _Value:
    """Return the origin of the data in a statement."""
    tail = statement
    if found := _ASSIGNMENT.match(statement):
        tail = statement[found.end() :]
    value = _Value()
    for name in _NAMES.findall(tail)[:50]:
        value = value.with_(state.values.get(name.lower(), _Value()))
    if rules.FETCH.search(tail):
        value = value.with_(_Value(hosts=_fetched_hosts(tail) or ("",)))
    if decoded := rules.DECODES.search(tail):
        plain = decode_literal(decoded[1]) if decoded[1] else None
        value = value.with_(_Value(is_decoded=True, plain=plain or ""))
    secret = secret_in(tail)
    if rules.ALL_ENV.search(tail):
        state.emit(Act.READ_ALL_ENV)
        value = value.with_(_Value(secrets=frozenset({"all variables"})))
    elif secret and (rules.READS.search(tail) or "-InFile" in tail or "UploadFile" in tail):
        state.emit(Act.READ_SECRET, str(secret))
        value = value.with_(_Value(secrets=frozenset({str(secret)})))
    for path, known in state.files.items():
        if path and path in tail:
            value = value.with_(_Value(secrets=known.secrets))
    return value


def _fetched_hosts(code: str) -> tuple[str, ...]:
    """Return the hosts that a command fetches from, also without a scheme: `irm bun.sh/…`."""
    bare = rules.BARE_ADDRESS.search(code)
    return tuple((hosts_in(code) or hosts_in(f"tcp://{bare[1]}/" if bare else ""))[:4])


def _hosts(value: _Value) -> tuple[str, ...]:
    return tuple(host for host in value.hosts if host)


def _read_sending(state: _State, statement: str, value: _Value) -> None:
    hosts = tuple(hosts_in(statement)[:4])
    if rules.SEND.search(statement):
        state.emit_all(Act.SEND, hosts, "http")
        for secret in sorted(value.secrets):
            state.emit_all(Act.LEAK, hosts, secret)
    elif rules.FETCH.search(statement) and (hosts or _NAMES.search(statement)):
        output = _output(statement)
        state.emit_all(Act.FETCH, hosts, output)
        for secret in sorted(value.secrets):
            state.emit_all(Act.LEAK, hosts, secret)
    if found := rules.TRANSFORMS.search(statement):
        known = state.files.get(found[1], _Value())
        if known.hosts and len(state.files) < _MAX_FILES:
            state.files[found[2]] = known
        return
    output = _output(statement)
    if output and len(state.files) < _MAX_FILES:
        state.files[output] = value.with_(state.files.get(output, _Value()))


def _output(statement: str) -> str:
    found = rules.OUTPUT.search(statement)
    return next((group for group in found.groups() if group), "").strip("'\"") if found else ""


def _read_places(state: _State, statement: str) -> None:
    place = sensitive_place_in(statement)
    if place and rules.WRITES.search(statement) and not _is_source(statement):
        state.emit(Act.WRITE, str(place))


def _is_source(statement: str) -> bool:
    """Return whether the path is only the source of a copy, to which nothing is written."""
    words = statement.split()
    is_copy = bool(words) and words[0].lower() in {
        "copy-item",
        "copy",
        "xcopy",
        "move-item",
        "move",
    }
    return is_copy and sensitive_place_in(words[-1]) is None and "-Dest" not in statement


def _read_output(state: _State, statement: str) -> None:
    """Record programs on another machine, and commands in the responses of another machine."""
    if found := rules.REMOTE_SHARE.search(statement):
        state.emit_all(Act.RUN_REMOTE, tuple(hosts_in(f"tcp://{found[1]}/")), "a share")
    may_run = "|" in statement or statement[:4].lower() == "for "
    if may_run and (found := rules.OUTPUT_IS_RUN.search(statement)):
        asked = found["lines"] or found["piped"]
        name = rules.ASKS.search(asked)
        if name or rules.FETCH.search(asked):
            hosts = hosts_in(f"tcp://{name[1]}" if name else asked)
            state.emit_all(Act.RUN_REMOTE, tuple(hosts[:4]), "output that is run")


def _read_running(state: _State, statement: str, value: _Value) -> None:
    _read_output(state, statement)
    if found := rules.REMOTE_HOSTS.search(statement):
        state.emit_all(Act.RUN_REMOTE, tuple(hosts_in(statement)[:4]), found["name"].lower())
    if found := rules.RUN.search(statement):
        state.emit(Act.RUN, found[1].lower())
    if rules.RUNS_TEXT.search(statement):
        if value.hosts:
            state.emit_all(Act.RUN_REMOTE, _hosts(value), "iex")
        if value.is_decoded:
            state.emit(Act.RUN_DECODED, value.plain)
            _deeper(state, value.plain)
        if not value.hosts and not value.is_decoded:
            _read_dynamic(state, statement)
        return
    found = rules.STARTS.search(statement)
    started = " ".join(group for group in found.groups() if group) if found else ""
    for path, known in state.files.items():
        if known.hosts and started and _names_file(started, path):
            state.emit_all(Act.RUN_REMOTE, _hosts(known), "download and run")


def _read_dynamic(state: _State, statement: str) -> None:
    found = rules.RUNS_TEXT.search(statement)
    rest = statement[found.end() :].strip() if found else ""
    literal = rest.strip("()")
    if literal[:1] in {"'", '"'} and literal[-1:] == literal[:1] and "$" not in literal:
        _deeper(state, literal[1:-1])
    elif rest or "|" in statement:
        state.emit(Act.RUN_DYNAMIC, "iex")


def _names_file(started: str, path: str) -> bool:
    name = re.split(r"[\\/]", path)[-1]
    return path in started or (len(name) >= _MIN_NAME and name in started)


def _read_tools(state: _State, statement: str) -> None:
    if found := rules.INSTALL.search(statement):
        state.emit(Act.INSTALL, f"{found[1]}: {found[2]}")
    if rules.REPOSITORY.search(statement):
        state.emit_all(Act.INSTALL, tuple(hosts_in(statement)[:4]), "index")
    if rules.SHELL_TOOLS.match(statement):
        try:
            # PowerShell doubles a quotation mark inside a string.
            facts = read_shell(statement.replace("\\", "/").replace("''", "'\\''"))
        except Unparsed as error:
            facts, state.is_cut = error.facts, True
        for fact in facts:
            state.emit(fact.act, fact.detail, fact.host)
