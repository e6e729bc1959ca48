"""Analyse how a shell or another interpreter runs fetched, decoded or computed code."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.shell.names import INTERPRETERS, SHELLS, program_name
from vskill_platform.scan.languages.shell.options import read_options
from vskill_platform.scan.languages.shell.programs import read_program, runs_its_input
from vskill_platform.scan.languages.shell.sending import host_of, is_address, send
from vskill_platform.scan.languages.shell.state import (
    DOWNLOADED,
    Command,
    FetchedFolder,
    Origin,
    State,
)

#: Tools whose printed settings are often evaluated in a profile.
_HOOKS = re.compile(
    r"ssh-agent|gpg-agent|brew|linuxbrew|pyenv|rbenv|nodenv|jenv|direnv|starship|zoxide|fnm"
    r"|conda|mamba|mise|asdf|opam|dircolors|minikube"
    r"|docker-machine|argcomplete|thefuck|shellenv|completion|oh-my-posh|keychain|rtx|volta"
    r"|atuin|luarocks|register-python"
)
#: A program that sends its arguments.
_SENDS_ARGUMENTS = re.compile(
    r"(?=.*(?:argv|ARGV|\$ARGV|@ARGV|\$argv))(?=.*(?:urlopen|request|fetch|http|post|socket))",
    re.IGNORECASE | re.DOTALL,
)
_STDIN = frozenset({"-", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"})
_OWN_SHELL = frozenset({"$SHELL", "${SHELL}", "$BASH", "${BASH}"})
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(.{1,3})")
#: Code in which every letter is written as a number.
_ESCAPED = re.compile(r"\$'(?:\\x[0-9a-fA-F]{2}|\\[0-7]{3}){8}")
_UNKNOWN = re.compile(r"\$(?:\w|\{|@|\*)")


def execute(state: State, text: str, runner: str, stdin: str = "") -> str:
    """Analyse code that is passed to a program as text."""
    outer, state.runner = state.runner, runner
    keeps_line, state.keeps_line = state.keeps_line, True
    try:
        return state.run_code(state, text, stdin)
    finally:
        state.runner, state.keeps_line = outer, keeps_line


def run_flow(state: State, flow: Origin, runner: str, language: str = "shell") -> None:
    """Record that a value of known origin and unknown text is run."""
    state.emit_all(Act.RUN_REMOTE, flow.hosts, runner)
    if flow.is_decoded:
        state.emit(Act.RUN_DECODED, flow.plain or "")
    if flow.plain:
        run_text(state, flow.plain, language)


def run_text(state: State, text: str, language: str) -> None:
    if language in INTERPRETERS:
        read_program(state, language, text)
    else:
        execute(state, text, language)


def run_unknown(state: State, command: Command) -> str:
    """Analyse a command whose name is a value: ``$(curl …)``, ``$line``."""
    runner = state.runner or "shell"
    if command.path in _OWN_SHELL:
        return state.run_command(state, named(command, ["sh", *command.args]))
    if command.path.startswith("$"):
        if command.args and "SUDO" in command.path.upper():
            return state.run_command(state, named(command, command.args))
        if state.runner:
            state.emit(Act.RUN_DYNAMIC, state.runner)
        return state.derive(command.stdin)
    flow = state.flow_at(command.path[0])
    is_whole = len(command.path) == 1 or not command.path[1:].startswith(("/", "."))
    if flow.hosts and is_whole:
        state.emit_all(Act.RUN_REMOTE, flow.hosts, runner)
    if flow.is_decoded:
        state.emit(Act.RUN_DECODED, flow.plain or "")
    if flow.plain:
        return execute(state, " ".join([flow.plain, *command.args]), runner)
    if state.runner and is_whole and not flow.hosts and not flow.is_decoded:
        state.emit(Act.RUN_DYNAMIC, state.runner)
    return state.derive(command.stdin)


def named(command: Command, args: list[str]) -> Command:
    """Return the command in another command's arguments."""
    return Command(
        name=program_name(args[0]), args=args[1:], stdin=command.stdin,
        is_consumed=command.is_consumed, path=args[0],
    )  # fmt: skip


# -- files


def run_file(state: State, path: str, runner: str) -> bool:
    """Record that the file at *path* is run; return whether anything is known about it."""
    content = state.recall(path)
    if descriptor := _DESCRIPTOR.fullmatch(path):
        path = descriptor[1]
        content = state.inputs.get(path)
    if content is None and state.is_mark(path) and len(path) == 1:
        content = path
    if content is not None and content.strip():
        start = content.lstrip()[:1]
        if state.is_mark(start):
            flow = state.flow_at(start)
            is_stream = content == path
            if not is_stream and path in state.ran:
                return True
            state.ran.add(path)
            run_flow(state, flow, runner if is_stream else DOWNLOADED, _language(runner, path))
        else:
            run_text(state, content, _language(runner, path))
        return True
    tree = tree_of(state, path)
    if tree is not None:
        run_tree(state, tree)
    return tree is not None


def run_tree(state: State, tree: FetchedFolder) -> None:
    """Record, once, that something in a folder is run."""
    if not tree.is_run:
        tree.is_run = True
        state.emit_all(Act.RUN_REMOTE, tree.hosts, tree.detail)


def _language(runner: str, path: str) -> str:
    if runner in INTERPRETERS:
        return runner
    return "python" if path.endswith(".py") else "shell"


def tree_of(state: State, path: str) -> FetchedFolder | None:
    """Return the cloned or unpacked folder that contains *path*."""
    bare = re.sub(r"^(?:\./)+", "", path)
    if bare.endswith("bin/activate"):  # created here, not fetched
        return None
    for tree in reversed(state.trees):
        if bare == tree.path or bare.startswith(tree.path + "/"):
            return tree
    is_relative = not path.startswith(("/", "~", "$"))
    if is_relative and state.inside is not None:
        return state.inside
    last = state.trees[-1] if state.trees else None
    is_beside = path.startswith("./") and "/" not in bare
    return last if last and is_beside and last.detail == DOWNLOADED else None


def run_path(state: State, command: Command) -> str | None:
    """Run a program by its path; None if nothing is known about that file."""
    path = command.path
    if "/" not in path and state.recall(path) is None:
        return None
    return state.derive(command.stdin) if run_file(state, path, "shell") else None


# -- interpreters


def run_shell(state: State, command: Command) -> str:
    """``sh`` in all forms: with a text, a file, or standard input."""
    options = read_options(command.args, "cOo", frozenset({"rcfile", "init-file", "command"}))
    for path in options.values("rcfile", "init-file"):
        run_file(state, path, command.name)
    text = options.first("c", "command")
    if options.has("c") and text is not None and options.rest and text.startswith("-"):
        text = options.rest[0]
    if text is not None:
        _emit_dynamic_text(state, text, command.name)
        return execute(state, text, command.name, command.stdin)
    script = next(iter(options.rest), None)
    if script is not None and not options.has("s") and script not in _STDIN:
        run_file(state, script, command.name)
        return state.derive(command.stdin)
    if command.stdin:
        printed = execute(state, command.stdin, command.name)
        flow = state.flow(command.stdin)
        is_talk = bool(flow.hosts) or options.has("i") or state.is_mark(command.stdin)
        return state.derive(printed, is_shell=is_talk) if is_talk else printed
    return state.mark(Origin(is_shell=True))


def _emit_dynamic_text(state: State, text: str, runner: str) -> None:
    if re.fullmatch(r"\$\{?[\w@*]{1,60}\}?", text.strip()):
        state.emit(Act.RUN_DYNAMIC, runner)


def run_eval(state: State, command: Command) -> str:
    text = " ".join(command.args)
    if _ESCAPED.search(state.source):
        state.emit(Act.HIDE, "code in escapes")
    flow = state.flow(text)
    is_known = flow.hosts or flow.is_decoded or flow.plain
    is_open = _UNKNOWN.search(text) or (state.has_mark(text) and not is_known)
    if is_open and not _HOOKS.search(state.source):
        state.emit(Act.RUN_DYNAMIC, "eval")
    runner = "eval" if not _HOOKS.search(state.source) else ""
    return execute(state, text, runner, command.stdin)


def run_trap(state: State, command: Command) -> str:
    """Analyse the code that runs when the shell ends or gets a signal."""
    code = next((arg for arg in command.args if not arg.startswith("-")), "")
    return execute(state, code, "") if " " in code or state.has_mark(code) else ""


def run_source(state: State, command: Command) -> str:
    if not command.args and not command.stdin:
        return ""
    path = command.args[0] if command.args else "-"  # fish reads standard input
    if path in _STDIN:
        return execute(state, command.stdin, "source")
    run_file(state, path, "source")
    return ""


def run_interpreter(state: State, command: Command) -> str:
    """Python, node and others: an inline program, a file, or standard input."""
    letters = INTERPRETERS[command.name]
    valued = "".join(letter for letter in letters if len(letter) == 1)
    options = read_options(
        command.args, valued + ("mWX" if command.name == "python" else "rIM"), frozenset(letters)
    )
    if command.name == "osascript":
        state.emit(Act.RUN, "osascript")
    programs = options.values(*letters)
    if command.name in {"deno", "bun"} and options.rest[:1] == ["eval"]:
        programs = options.rest[1:2]
    if programs:
        _run_own(state, command, "\n".join(programs))
        if options.rest and _SENDS_ARGUMENTS.search(programs[0]):
            hosts = [host_of(state, arg) for arg in options.rest if is_address(state.plain(arg))]
            send(state, hosts, "http", *options.rest, is_asked=False)
    elif options.has("m") and command.name == "python":
        return _run_module(state, command)
    elif options.rest and options.rest[0] not in _STDIN:
        rest = options.rest[1:] if options.rest[0] in {"run", "-S"} else options.rest
        if rest and "://" in rest[0]:
            state.emit(Act.RUN_REMOTE, command.name, host_of(state, rest[0]))
        elif rest:
            run_file(state, rest[0], command.name)
    elif command.stdin:
        _run_input(state, command)
    return state.derive(command.stdin, *command.args, is_shell=False)


def _run_own(state: State, command: Command, program: str) -> None:
    start = program.lstrip()[:1]
    if state.is_mark(start):
        run_flow(state, state.flow_at(start), command.name, command.name)
        return
    hosts = state.flow(command.stdin).hosts
    if hosts and runs_its_input(program):
        state.emit_all(Act.RUN_REMOTE, hosts, command.name)
    if command.name == "perl" and not re.search(
        r"socket|exec|system|eval|http|unpack|\bdo\b|require|`", program, re.IGNORECASE
    ):
        return
    read_program(state, command.name, program)


def _run_input(state: State, command: Command) -> None:
    start = command.stdin.lstrip()[:1]
    if state.is_mark(start):
        run_flow(state, state.flow_at(start), command.name, command.name)
    else:
        read_program(state, command.name, command.stdin)


def _run_module(state: State, command: Command) -> str:
    at = next((i for i, arg in enumerate(command.args) if arg == "-m"), -1)
    if at < 0 or at + 1 >= len(command.args):
        return state.derive(command.stdin)
    inner = [f"python -m {command.args[at + 1]}", *command.args[at + 2 :]]
    if command.args[at + 1] == "pip":
        inner[0] = "pip"
    name = inner[0]
    return state.run_command(
        state, Command(name=name, args=inner[1:], stdin=command.stdin, path=name)
    )


RUNNERS = {
    **dict.fromkeys(SHELLS, run_shell),
    **dict.fromkeys(INTERPRETERS, run_interpreter),
    "eval": run_eval,
    "trap": run_trap,
    "source": run_source,
    ".": run_source,
}
