"""Programs in other languages inside shell code."""

import re
from itertools import islice

import msgspec

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import hosts_in
from vskill_platform.scan.languages.dispatch import read_javascript, read_powershell, read_python
from vskill_platform.scan.languages.shell.state import DOWNLOADED, Host, State
from vskill_platform.scan.languages.unparsed import Unparsed

#: Words that open a connection, in lower case.
_SOCKETS = ("socket", "fsockopen", "inet", "net.connect")
_SHELLS = re.compile(
    r"(?:exec|system|spawn|popen|proc_open|shell_exec|passthru|dup2"
    r"|`)[^\n]{0,200}?(?:/bin/\w{0,3}sh|cmd\.exe|\bsh\b|\bbash\b|\bzsh\b)"
    r"|(?:STDIN|\$stdin|f\.fileno|<&\$|s\.fileno)[^\n]{0,300}?(?:/bin/\w{0,3}sh|exec)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|[\"']((?:[\w-]{1,63}\.){1,5}[a-z]{2,20})[\"']")
_RUNS_INPUT = re.compile(
    r"(?:\bexec|\beval|compile|Function|runInThisContext|system"
    r"|os\.popen)\s*\(?[^\n]{0,60}?(?:stdin|STDIN|\binput\(|/dev/stdin|readFileSync\(0)"
)
_SHELL_SCRIPT = re.compile(r"do shell script\s+\"((?:[^\"\\]|\\.){1,4000})\"")
_DECODES = re.compile(
    r"b64decode|decode64|MIME::Base64|pack\s*\(?[\"'][Hmu]|base64_decode|unpack|gzinflate"
    r"|hex2bin|fromhex"
)
#: How other languages run text as code; Perl's `eval {` only catches errors.
_EVALUATES = re.compile(
    r"\b(?:eval(?!\s*\{)|evaluate|(?:instance|class|module)_eval|eval_string|EVAL|loadstring)\b"
    r"|\bload\s?\(|\b(?:source|include(?:_once|_string)?|require(?:_once)?|sys\.source)\b\s?\(?\s?"
    r"(?:[\"']https?:|url\b|[Dd]ownloads?\b|HTTP\.)"
    r"|\binstall_(?:url|git|version)\b|\bPkg\.(?:add|clone|develop)\b"
    r"|\binstall\.packages\b[^\n]{0,200}\brepos\b"
)
#: How other languages run a file.
_RUNS_FILE = re.compile(
    r"\b(?:do|load|dofile|loadfile|require|include|source|use|instance_eval|eval)\b"
)
_EVALS = re.compile(r"\b(?:eval|exec|system|instance_eval|assert)\b")
#: How awk, Lua, Perl, PHP and Ruby start a command.
_STARTS = re.compile(
    r"\b(?:system|exec|popen|shell_exec|passthru|proc_open|spawn|qx|os\.execute)\b"
    r"|`|\|\s{0,9}(?:getline\b|\")"
)
_LITERAL = re.compile(
    r"\"((?:[^\"\\]|\\.){2,2000})\"|'((?:[^'\\]|\\.){2,2000})'|`([^`]{2,2000})`"
    r"|(?:\bqx?|%[qx]?)\s?(?:\{([^\n]{2,2000})\}|\(([^\n]{2,2000})\)|([/|!])([^\n]{2,2000}?)\6)"
)
_MAX_LITERALS = 50
_READERS = {"python": read_python, "node": read_javascript, "powershell": read_powershell}


def runs_its_input(program: str) -> bool:
    """Return whether a program runs its standard input."""
    return _RUNS_INPUT.search(program) is not None


def read_program(state: State, language: str, program: str) -> None:
    """Record what a program in another language does."""
    program = state.plain(program)
    small = program.lower()
    if any(word in small for word in _SOCKETS) and _SHELLS.search(program):
        address = _ADDRESS.search(program)
        name = (address[1] or address[0]) if address else None
        state.emit(Act.REVERSE_SHELL, language, Host(name.lower() if name else None))
    if language in _READERS:
        _add(state, _read(state, language, program))
    elif language == "osascript":
        _read_applescript(state, program)
    else:
        state.emit_all(Act.FETCH, [Host(host) for host in hosts_in(program)[:4]])
        run_its_commands(state, program)
        if _DECODES.search(program) and _EVALS.search(program):
            state.emit(Act.RUN_DECODED, "")
        _run_fetched(state, language, program)


def _run_fetched(state: State, language: str, program: str) -> None:
    """Record that a program runs fetched content, or a file that was fetched before."""
    if _EVALUATES.search(program):
        state.emit_all(Act.RUN_REMOTE, [Host(host) for host in hosts_in(program)[:4]], language)
    if state.files and _RUNS_FILE.search(program):
        for found in islice(_LITERAL.finditer(program), _MAX_LITERALS):
            content = state.recall(found[found.lastindex or 0])
            if content is not None:
                state.emit_all(Act.RUN_REMOTE, state.flow(content).hosts, DOWNLOADED)


def run_its_commands(state: State, program: str) -> None:
    """Analyse the texts of a program that starts commands, because each may be a command."""
    if _STARTS.search(program):
        for found in islice(_LITERAL.finditer(program), _MAX_LITERALS):
            state.run_code(state, re.sub(r"\\(.)", r"\1", found[found.lastindex or 0]), "")


def _read(state: State, language: str, program: str) -> list[Fact]:
    try:
        return _READERS[language](program)
    except Unparsed as unparsed:
        state.is_cut |= unparsed.is_too_much
        return unparsed.facts


def _add(state: State, facts: list[Fact]) -> None:
    known = {fact.act for fact in state.facts.values() if fact.line == state.line}
    for fact in facts:
        if fact.act is Act.REVERSE_SHELL and fact.act in known:
            continue
        key = (fact.act, state.line, fact.host, fact.detail)
        if key not in state.facts and state.has_room(fact.act):
            state.facts[key] = msgspec.structs.replace(
                fact, line=state.line, text=shorten(state.source)
            )


def _read_applescript(state: State, program: str) -> None:
    for found in _SHELL_SCRIPT.finditer(program):
        state.run_code(state, found[1].replace('\\"', '"'), "")
    if "hidden answer" in program:
        state.emit(Act.READ_SECRET, "a password prompt")
