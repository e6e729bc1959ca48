"""Processes and shell commands that a program starts."""

import re
import shlex

from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.facts.sensitive_paths import SecretKind
from vskill_platform.scan.facts.token_printers import prints_token
from vskill_platform.scan.languages.dispatch import read_shell
from vskill_platform.scan.languages.flow.files import keep
from vskill_platform.scan.languages.flow.own_code import (
    line_of,
    load_variable,
    run_decoded,
    run_file,
    run_tainted,
)
from vskill_platform.scan.languages.flow.secrets import report_leak
from vskill_platform.scan.languages.flow.state import Call, Flow
from vskill_platform.scan.languages.flow.values import (
    HOLE,
    NO_TAINTS,
    UNKNOWN,
    Taint,
    Taints,
    TaintSource,
    Value,
    shown,
    tainted,
)
from vskill_platform.scan.languages.unparsed import Unparsed

_SHELLS = frozenset(
    {
        "bash",
        "sh",
        "zsh",
        "dash",
        "ksh",
        "fish",
        "cmd",
        "cmd.exe",
        "powershell",
        "powershell.exe",
        "pwsh",
    }
)
_INTERPRETERS = _SHELLS | {
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "deno",
    "bun",
    "osascript",
    "tsx",
}
_STARTERS = frozenset({"installer", "msiexec", "dpkg", "rpm", "start"})
_PREFIXES = frozenset({"sudo", "nohup", "env", "exec", "setsid", "time", "&&", ";"})
_CODE_OPTIONS = frozenset(
    {"-c", "-e", "-lc", "-ic", "/c", "/C", "-Command", "-command", "--eval", "-p"}
)
_PLACEHOLDER = "$x"
#: The name of a process that runs its standard input.
INTERPRETER = "child process interpreter"
SHELL_PROCESS = f"{INTERPRETER} of shell commands"
_NETWORK = frozenset({Act.SEND, Act.FETCH, Act.LEAK})


def run_shell(flow: Flow, call: Call) -> Value | None:
    """os.system and similar: a command line for the shell."""
    return shell_text(flow, call, call.arg(0, "command", "cmd", "args"), line_of(call, 0))


def shell_text(flow: Flow, call: Call, command: Value, line: int) -> Value:
    if command.items is not None:
        return run_items(flow, call, command.items)
    text = command.text
    if text is None or text.lstrip("\"' ").startswith(HOLE):
        if not run_tainted(flow, call.line, command) and not run_file(flow, call.line, command):
            flow.add(Act.RUN_DYNAMIC, call.line)
        if text is None:
            return Value(name="child process", taints=_secrets(command.taints))
    elif HOLE in text and _is_code_hole(text) and run_tainted(flow, call.line, command):
        pass
    elif HOLE in text:
        flow.add(Act.RUN_DYNAMIC, call.line, detail=_program(text))
    elif any(taint.source is TaintSource.DECODED for taint in command.taints):
        run_decoded(flow, call.line, Value(text=text))
    _run_fetched_file(flow, call.line, shown(text or "").split())
    return _read_by_shell(flow, call, shown(text or ""), command.taints, line)


def _secrets(taints: Taints) -> Taints:
    return frozenset(
        t for t in taints if t.source in {TaintSource.SECRET, TaintSource.ALL_ENV, TaintSource.PART}
    )


def _is_code_hole(text: str) -> bool:
    return bool(_CODE_HOLE.search(text))


_CODE_HOLE = re.compile(
    rf"(?:\b(?:(?:ba|z|da)?sh|python3?|node|perl|ruby|powershell|pwsh)\s{{1,9}}-(?:c|e|Command)|\beval|<<<)\s{{1,9}}[\"']?{HOLE}"
    rf"|{HOLE}[\"']?\s{{0,9}}\|\s{{0,9}}(?:ba|z)?sh\b"
)  # fmt: skip


def _program(text: str) -> str:
    words = text.split(maxsplit=3)
    rest = [word for word in words if word not in _PREFIXES]
    return rest[0].rpartition("/")[2][:60] if rest else ""


def _read_by_shell(flow: Flow, call: Call, text: str, taints: Taints, line: int) -> Value:
    flow.steps -= 20 + len(text) // 20
    facts = _read_shell(flow, text.replace(HOLE, _PLACEHOLDER))
    flow.add_all(facts, line)
    if not any(fact.act is Act.RUN for fact in facts) and _program(text).strip(HOLE):
        flow.add(Act.RUN, line, detail=_program(text))
    found: set[Taint] = set()
    for fact in facts:
        if fact.act is Act.FETCH:
            remote = Taint(TaintSource.REMOTE, host=fact.host)
            found.add(remote)
            keep(flow, Value(text=fact.detail.replace(_PLACEHOLDER, HOLE)), frozenset({remote}))
        elif fact.act is Act.READ_SECRET:
            found.add(Taint(TaintSource.SECRET, fact.detail))
        if fact.act in _NETWORK:
            report_leak(flow, call.line, fact.host, _secrets(taints), NO_TAINTS)
    words = text.split()
    if words and prints_token(words[0].rpartition("/")[2], words[1:]):
        found.add(Taint(TaintSource.SECRET, SecretKind.TOKENS))
        flow.printed_tokens = line
    is_open = _runs_its_input(Value(items=tuple(Value(text=word) for word in words[:4])))
    name = INTERPRETER if is_open else "child process"
    if is_open and words[0].rpartition("/")[2] in _SHELLS:
        name = SHELL_PROCESS
    return Value(name=name, taints=frozenset(found))


def _read_shell(flow: Flow, text: str) -> list[Fact]:
    try:
        return read_shell(text)
    except Unparsed as error:
        flow.is_cut |= error.is_too_much
        return error.facts


def _run_fetched_file(flow: Flow, line: int, words: list[str]) -> None:
    """Find a previously fetched file among the programs and files that a command runs."""
    if not flow.files:
        return
    rest = [word.strip("\"'") for word in words[:12]]
    while rest and rest[0] in _PREFIXES:
        rest = rest[1:]
    if not rest:
        return
    program = rest[0].rpartition("/")[2]
    if program in _INTERPRETERS or program in _STARTERS:
        rest = [word for word in rest[1:] if not word.startswith("-")]
    for word in rest[:1]:
        run_file(flow, line, Value(text=word))


def run_process(flow: Flow, call: Call) -> Value | None:
    """subprocess: a list of arguments, or a command line if a shell reads it."""
    given = call.named.get("input", UNKNOWN)
    command = call.arg(0, "args", "cmd").having(given.taints)
    _check_streams(flow, call)
    if _runs_its_input(command):
        run_input(flow, call, command, given)
    if command.items:
        first = command.items[0].having(given.taints)
        return run_items(flow, call, (first, *command.items[1:]))
    return shell_text(flow, call, command, line_of(call, 0))


def run_given(flow: Flow, call: Call, given: Value, *, is_shell: bool) -> None:
    """Record the input of a process: its origin, or its text if a shell runs it."""
    is_tainted = run_tainted(flow, call.line, Value(taints=given.taints))
    text = given.text
    if is_shell and not is_tainted and text is not None and not text.startswith(HOLE):
        shell_text(flow, call, given, call.line)


def run_input(flow: Flow, call: Call, command: Value, given: Value) -> None:
    """Record the standard input of an interpreter."""
    program = _words_of(command)[0].rpartition("/")[2]
    run_given(flow, call, given, is_shell=program in _SHELLS)


def _words_of(command: Value) -> list[str]:
    words = [item.text or "" for item in command.items or ()] or (command.text or "").split()
    return words or [""]


def _runs_its_input(command: Value) -> bool:
    """Return whether an interpreter is started without a program."""
    words = _words_of(command)
    program = words[0].rpartition("/")[2]
    return program in _INTERPRETERS and all(word in {"-", "-s", "-i", "-u"} for word in words[1:])


def run_arguments(flow: Flow, call: Call) -> Value | None:
    """spawn(program, [arguments]), create_subprocess_exec(program, *arguments), execvp."""
    _check_streams(flow, call)
    items: list[Value] = []
    for arg in call.args:
        if arg.function is None and arg.fields is None:
            items.extend(arg.items if arg.items is not None else (arg,))
    options_given = next((arg.fields for arg in call.args if arg.fields), None) or {}
    command = Value(items=tuple(items))
    if "input" in options_given and _runs_its_input(command):
        run_input(flow, call, command, options_given["input"])
    if len(items) == 1 and "shell" in options_given:
        return shell_text(flow, call, items[0], line_of(call, 0))
    return run_items(flow, call, tuple(items))


def starts_shell(call: Call) -> bool:
    """Return whether the arguments of a call start a shell: `run('sh', '-c', code)`."""
    program, option, code = ([arg.text or "" for arg in call.args[:3]] + ["", "", ""])[:3]
    return bool(code) and program.rpartition("/")[2] in _SHELLS and option in _CODE_OPTIONS


def _check_streams(flow: Flow, call: Call) -> None:
    """Detect a remote shell: a process whose input and output are a connection."""
    _load_by_environment(flow, call)
    given = [call.named[key] for key in ("stdin", "stdout", "stderr") if key in call.named]
    given += [arg.fields["stdio"] for arg in call.args if arg.fields and "stdio" in arg.fields]
    for value in given:
        if any(taint.source is TaintSource.SOCKET for taint in value.taints):
            hosts = {taint.host for taint in value.taints if taint.host}
            host = min(hosts) if hosts else None
            flow.add(
                Act.REVERSE_SHELL, call.line, host=host, detail="a process connected to a socket"
            )


def _load_by_environment(flow: Flow, call: Call) -> None:
    """Find a fetched file that a variable makes the new process load."""
    tables = [call.named["env"]] if "env" in call.named else []
    tables += [arg.fields["env"] for arg in call.args if arg.fields and "env" in arg.fields]
    for table in tables:
        for name, value in (table.fields or {}).items():
            load_variable(flow, call.line, name, value)


def run_items(flow: Flow, call: Call, items: tuple[Value, ...]) -> Value:
    if not items:
        return UNKNOWN
    program = (items[0].text or "").rpartition("/")[2]
    second = items[1].text if len(items) > 1 else None
    if program in _INTERPRETERS and second in _CODE_OPTIONS and len(items) > 2:  # noqa: PLR2004 - program, option and code
        code = items[2]
        if program in _SHELLS:
            return shell_text(flow, call, code, call.line)
        if run_tainted(flow, call.line, code):
            return Value(name="child process")
    if items[0].text is None or items[0].text.startswith(HOLE):
        if not run_tainted(flow, call.line, Value(taints=items[0].taints)) and not run_file(
            flow, call.line, items[0]
        ):
            flow.add(Act.RUN_DYNAMIC, call.line)
        if items[0].text is None:
            return Value(name="child process")
    words = [shown(item.text) if item.text is not None else HOLE for item in items[:64]]
    _run_named_file(flow, call.line, program, items)
    text = " ".join(_quoted(word) for word in words)
    return _read_by_shell(flow, call, text, tainted(*items), call.line)


def _run_named_file(flow: Flow, line: int, program: str, items: tuple[Value, ...]) -> None:
    if not flow.files:
        return
    if program in _INTERPRETERS or program in _STARTERS:
        rest = [item for item in items[1:] if not (item.text or "").startswith("-")]
    else:
        rest = list(items)
        if program in _PREFIXES:
            rest = rest[1:]
    for item in rest[:1]:
        run_file(flow, line, item)


def _quoted(word: str) -> str:
    if HOLE not in word:
        return shlex.quote(word)
    return '"' + re.sub(r'(["`\\$])', r"\\\1", word) + '"'


def duplicate(flow: Flow, call: Call) -> Value | None:
    """os.dup2(socket.fileno(), 0): standard input becomes a connection."""
    if any(taint.source is TaintSource.SOCKET for taint in call.arg(0).taints):
        flow.add(Act.REVERSE_SHELL, call.line, detail="standard streams connected to a socket")
    return UNKNOWN
