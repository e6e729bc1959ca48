"""Programs that run a file, a process substitution or standard input as their own kind of code."""

import re
from itertools import islice

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.shell.files import filter_text
from vskill_platform.scan.languages.shell.names import PICKERS, READERS, SHELLS, program_name
from vskill_platform.scan.languages.shell.run import execute, named
from vskill_platform.scan.languages.shell.sending import host_of
from vskill_platform.scan.languages.shell.state import DOWNLOADED, Command, State

#: Programs that only read, compare or store their input.
_READING = (READERS | PICKERS - {"perl"}) | {
    "[", "[[", "b2sum", "cksum", "cmp", "colordiff", "column", "comm", "convert", "cosign", "cp",
    "curl", "cut", "delta", "diff", "diff3", "dyff", "echo", "fc", "ffmpeg", "file", "git", "gh",
    "gpg", "gpgv", "group", "http", "icdiff", "jd", "join", "kubectl", "less", "mapfile", "md5",
    "md5sum", "minisign", "mlr", "mv", "oasdiff", "pandoc", "printf", "read", "readarray", "rsync",
    "scp", "sdiff", "sha1sum", "sha256sum", "sha512sum", "shasum", "ssh-keygen", "sum", "tar",
    "tee", "test", "unzip", "vimdiff", "wc", "wget", "while", "xsv", "zip", "qsv", "csvlook",
}  # fmt: skip
#: Options whose value is code for the program; an empty name stands for the operands.
_CODE_FILES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("awk", "gawk", "mawk", "sed"), ("-f", "--file")),
    **dict.fromkeys(("vim", "nvim", "vi", "ex"), ("-S", "-s", "-u")),
    **dict.fromkeys(("make", "gmake"), ("-f", "--file", "--makefile", "-I")),
    **dict.fromkeys(("code", "codium", "cursor"), ("--install-extension",)),
    **dict.fromkeys(("at", "batch", "enable", "ninja", "rake", "scons", "guix"), ("-f", "--file")),
    **dict.fromkeys(
        ("ansible-playbook", "go", "insmod", "jshell", "kotlin", "nix-shell", "octave", "swift",
         "mongosh", "newman", "k6", "wish", "nu", "xonsh", "dart", "crystal", "vagrant", "packer"),
        ("",),
    ),
    "emacs": ("--script", "-l", "--load", "-q"), "psql": ("-f", "--file"), "expect": ("-f", ""),
    "gdb": ("-x", "--command"), "lldb": ("-s", "--source"), "just": ("-f", "--justfile"),
    "task": ("-t", "--taskfile"), "tmux": ("-f", ""), "screen": ("-c",), "ssh": ("-F",),
    "xargs": ("-a", "--arg-file"), "parallel": ("-a", "::::"), "R": ("-f", "--file"),
    "wasmtime": ("",), "wasmer": ("",), "wasmedge": ("",), "kotlinc": ("",),
    "sqlite3": ("-init",), "java": ("-jar", "", "-cp"), "npm": ("",), "nix": ("-f", "--file", ""),
    "irb": ("-r",), "ruby": ("-r",), "node": ("-r", "--require", "--import", "--loader"),
    "php": ("-d",), "crontab": ("",),
}  # fmt: skip
#: The default file from which a program reads commands.
_OWN_FILES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    "just": ("justfile", "Justfile"), "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "vagrant": ("Vagrantfile",),
    "npm": ("package.json", ".npmrc"), "pnpm": ("package.json",), "yarn": ("package.json",),
    "cmake": ("CMakeLists.txt",), "direnv": (".envrc",), "pytest": ("conftest.py",),
    "tox": ("tox.ini",), "nox": ("noxfile.py",), "invoke": ("tasks.py",), "fab": ("fabfile.py",),
    "gradle": ("build.gradle",), "mvn": ("pom.xml",), "bundle": ("Gemfile",),
    "cargo": ("build.rs",), "pre-commit": (".pre-commit-config.yaml",), "scons": ("SConstruct",),
    "terraform": ("main.tf",), "meson": ("meson.build",),
}  # fmt: skip
#: Programs that run their standard input, unless these words make it data.
_RUN_INPUT: dict[str, re.Pattern[str] | None] = {
    **dict.fromkeys(("psql", "mysql", "mariadb"), re.compile(r"^(?:-c|-e|--command|--execute)")),
    **dict.fromkeys(
        ("R", "irb", "pry", "iex", "ghci", "wish", "gdb", "lldb", "jshell", "nu", "xonsh", "elvish",
         "octave", "mongosh", "ed", "ex", "guile", "racket", "sbcl", "expect", "swift", "parallel"),
        re.compile(r"^[^-]"),
    ),
    **dict.fromkeys(("at", "batch"), re.compile(r"^-f")),
    "sqlite3": re.compile(r"\s|^/dev/stdin"),
}  # fmt: skip
#: Tools that deploy or load their standard input.
_DEPLOYERS = {
    "docker": frozenset({"build", "load", "import", "buildx"}),
    **dict.fromkeys(("kubectl", "oc"), frozenset({"apply", "create", "replace"})),
    "git": frozenset({"apply", "am"}),
}
_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0"})
#: Options of any program after which the argument is a command line.
_COMMAND_OPTIONS = frozenset(
    {"-c", "-e", "-x", "-ex", "-qc", "-r", "--exec", "--command", "--cmd", "--run", "--eval",
     "--call", "--shell", "--init-command", "--on-change"}
)  # fmt: skip
_SQLITE_COMMAND = re.compile(
    r"\.(?:(?:shell|system)\s+([^\n]{1,2000})|(?:read|import)\s+[\"']?\|\s*([^\n]{1,2000}))"
)
_MAX_COMMANDS = 50
_PIPELINE = re.compile(r"\b(?:curl|wget)\s[^\n|]{1,500}\|\s{0,9}\S")


def run_given(state: State, command: Command) -> None:
    """Record downloads that are passed to a program as code."""
    name = command.name
    if state.streams:
        _run_streams(state, command)
    if state.files:
        _run_files(state, command)
    if not command.stdin.isascii() and (hosts := state.flow(command.stdin).hosts):
        reads_code = name in _RUN_INPUT and not _takes_data(command)
        names_input = name in _CODE_FILES and not _INPUT.isdisjoint(_given(command))
        if reads_code or names_input or _deploys(command):
            state.emit_all(Act.RUN_REMOTE, hosts, name)


def _deploys(command: Command) -> bool:
    return not _DEPLOYERS.get(command.name, frozenset()).isdisjoint(command.args[:2])


def _takes_data(command: Command) -> bool:
    pattern = _RUN_INPUT[command.name]
    rest = [arg for arg in command.args if arg not in _INPUT]
    return pattern is not None and any(pattern.search(arg) for arg in rest)


def _run_streams(state: State, command: Command) -> None:
    """Record that a program runs a process substitution, unless it is known to only read it."""
    streams = [arg for arg in command.args if any(mark in state.streams for mark in arg[-1:])]
    if not streams:
        return
    if _deploys(command):
        pass
    elif command.name in _READING or command.path.startswith((".", "/", "~", "$")):
        code = set(_given(command)) if command.name in _CODE_FILES else set()
        streams = [arg for arg in streams if arg in code]
    elif command.name in {"python", "node", "perl", "ruby", "php", *SHELLS}:
        streams = [arg for arg in streams if arg == command.args[0] or arg.startswith("-")]
    for arg in streams:
        state.emit_all(Act.RUN_REMOTE, state.flow(arg[-1:]).hosts, command.name)


def _run_files(state: State, command: Command) -> None:
    paths = [*_given(command), *_OWN_FILES.get(command.name, ())]
    for path in paths[:20]:
        content = state.recall(path.rpartition("=")[2])
        if content is not None and not content.isascii():
            state.emit_all(Act.RUN_REMOTE, state.flow(content).hosts, DOWNLOADED)


def _given(command: Command) -> list[str]:
    """Return the arguments that name a file of code."""
    options = _CODE_FILES.get(command.name)
    if not options:
        return []
    found, args = [], command.args
    for place, arg in enumerate(args):
        before = args[place - 1] if place else ""
        name, equals, value = arg.partition("=")
        if before in options and before:
            found.append(arg)
        elif equals and name in options:
            found.append(value)
        elif "" in options and not arg.startswith("-"):
            found.append(arg)
    return found


def run_url(state: State, command: Command) -> str:
    """Programs that run the content of a URL."""
    for url in [arg for arg in command.args if "://" in arg]:
        state.emit(Act.RUN_REMOTE, command.name, host_of(state, url))
    return state.derive(command.stdin)


def run_nested(state: State, command: Command) -> None:
    """Analyse the command in an unknown program's arguments: ``x sh -c …``, ``x --exec '…'``."""
    for place, arg in enumerate(command.args[:40]):
        rest = command.args[place + 1 :]
        if program_name(arg) in SHELLS and rest and re.fullmatch(r"-\w{0,4}c", rest[0]):
            state.run_command(state, named(command, command.args[place:]))
            return
        if arg in _COMMAND_OPTIONS and rest and _is_fetched(state, rest[0]):
            execute(state, rest[0], command.name)


def _is_fetched(state: State, text: str) -> bool:
    is_text = text[:1] not in state.streams
    return bool(_PIPELINE.search(text) or (is_text and state.flow(text[:1]).hosts))


def run_sqlite(state: State, command: Command) -> str:
    """``.shell``, ``.system`` and ``.read |…`` run commands."""
    for text in (*command.args, command.stdin):
        for found in islice(_SQLITE_COMMAND.finditer(text), _MAX_COMMANDS):
            code = (found[1] or found[2]).strip()
            printed = execute(state, code.strip("\"'"), "sqlite3")
            if found[2]:  # its output is read as statements, which may run commands
                state.emit_all(Act.RUN_REMOTE, state.flow(printed).hosts, "sqlite3")
    return run_other(state, command)


def run_other(state: State, command: Command) -> str:
    run_nested(state, command)
    return filter_text(state, command)


GIVEN_CODE = {
    **dict.fromkeys(_RUN_INPUT, run_other),
    "sqlite3": run_sqlite,
    **dict.fromkeys(
        (
            "nix",
            "nix-shell",
            "ansible-pull",
            "scala-cli",
            "jbang",
            "source_url",
            "wasmtime",
            "wasmer",
            "wasmedge",
            "kotlin",
            "use",
        ),
        run_url,
    ),
}
