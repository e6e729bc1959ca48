"""Commands that run another command: sudo, env, timeout, xargs, find -exec, ssh."""

import re
import shlex

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import ANONYMOUS, HostClass, classify_host
from vskill_platform.scan.languages.shell.names import SHELLS, program_name
from vskill_platform.scan.languages.shell.options import first_command, read_options
from vskill_platform.scan.languages.shell.run import execute, named
from vskill_platform.scan.languages.shell.sending import host_of, send
from vskill_platform.scan.languages.shell.state import ALL_VARIABLES, Command, Origin, State
from vskill_platform.scan.languages.shell.variables import note_variable, store_variable
from vskill_platform.scan.languages.shell.words import CUT

#: Options of a wrapper that take a value, and the number of arguments before the command.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "nohup": (frozenset(), 0), "setsid": (frozenset(), 0), "builtin": (frozenset(), 0),
    "busybox": (frozenset(), 0), "wsl": (frozenset({"-d", "-u"}), 0),
    "toybox": (frozenset(), 0), "unbuffer": (frozenset(), 0),
    "caffeinate": (frozenset({"-t", "-w"}), 0),
    "time": (frozenset({"-f", "-o"}), 0), "timeout": (frozenset({"-s", "-k"}), 1),
    "gtimeout": (frozenset({"-s", "-k"}), 1),
    "nice": (frozenset({"-n"}), 0), "ionice": (frozenset({"-c", "-n"}), 0),
    "stdbuf": (frozenset({"-o", "-i", "-e"}), 0),
    "exec": (frozenset({"-a"}), 0), "chroot": (frozenset(), 1), "flock": (frozenset({"-w"}), 1),
    "watch": (frozenset({"-n"}), 0),
    "proxychains": (frozenset({"-f"}), 0), "proxychains4": (frozenset({"-f"}), 0),
    "torsocks": (frozenset(), 0),
    "arch": (frozenset(), 0), "xvfb-run": (frozenset({"-s", "-n"}), 0),
    "ltrace": (frozenset({"-o"}), 0), "dotenv": (frozenset({"-f", "-e"}), 0),
    "strace": (frozenset({"-o", "-e", "-p"}), 0), "winpty": (frozenset(), 0),
    "retry": (frozenset({"-t", "-d"}), 0),
    "systemd-run": (frozenset({"-p", "-u", "-E", "-M", "-H"}), 0), "unshare": (frozenset(), 0),
    "dbus-run-session": (frozenset(), 0), "firejail": (frozenset(), 0),
    "runuser": (frozenset({"-u", "-g", "-G"}), 0), "taskset": (frozenset({"-c"}), 1),
    "numactl": (frozenset(), 0), "chrt": (frozenset(), 1), "setpriv": (frozenset(), 0),
    "tsocks": (frozenset(), 0), "fakeroot": (frozenset(), 0), "valgrind": (frozenset(), 0),
    "rlwrap": (frozenset(), 0), "tini": (frozenset(), 0), "dumb-init": (frozenset(), 0),
    "gosu": (frozenset(), 1), "su-exec": (frozenset(), 1),
    "sshpass": (frozenset({"-p", "-f"}), 0), "cgexec": (frozenset({"-g"}), 0),
    "setarch": (frozenset(), 1), "prlimit": (frozenset(), 0), "entr": (frozenset(), 0),
}  # fmt: skip
_SUDO_VALUED = frozenset({"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "-D"})
_XARGS_VALUED = frozenset({"-n", "-P", "-L", "-d", "-s", "-a", "-E", "--max-args", "--max-procs"})
_SSH_COMMAND = re.compile(
    r"\s*(?:proxy|local|knownhosts)command[\s=]+(.+)", re.IGNORECASE | re.DOTALL
)
_SSH_VALUED = "bcDEeFIiJLlmOopQRSWw"


def wrap(state: State, command: Command) -> str:
    valued, skip = _WRAPPERS[command.name]
    inner = first_command(command.args, valued, skip)
    if len(inner) == 1 and " " in inner[0]:  # a command line for a shell
        return execute(state, inner[0], "", command.stdin)
    return state.run_command(state, named(command, inner)) if inner else command.stdin


def run_sudo(state: State, command: Command) -> str:
    inner = first_command(command.args, _SUDO_VALUED)
    if inner:
        state.emit(Act.ELEVATE, program_name(inner[0]))
        return state.run_command(state, named(command, inner))
    if {"-i", "-s", "su"} & set(command.args):
        state.emit(Act.ELEVATE, "shell")
        return state.run_command(state, Command(name="sh", args=[], stdin=command.stdin, path="sh"))
    return ""


def run_su(state: State, command: Command) -> str:
    options = read_options(command.args, "cs", frozenset({"command"}))
    text = options.first("c", "command")
    if not command.args and command.path != "su":
        return ""
    state.emit(Act.ELEVATE, "su")
    return execute(state, text, "su", command.stdin) if text else ""


def run_env(state: State, command: Command) -> str:
    """``env`` alone prints all variables; with a command it runs that."""
    if "-S" in command.args or "--split-string" in command.args:
        at = next(n for n, arg in enumerate(command.args) if arg in {"-S", "--split-string"})
        first, *rest = command.args[at + 1 :] or [""]
        text = " ".join([first, *map(shlex.quote, rest)])
        return execute(state, text, "env", command.stdin)
    for arg in command.args:
        name, equals, value = arg.partition("=")
        if equals and name.isidentifier():
            note_variable(state, name, value)
    inner = first_command(command.args, frozenset({"-u", "-C"}))
    if inner:
        return state.run_command(state, named(command, inner))
    return _all_variables(state, command)


def run_printenv(state: State, command: Command) -> str:
    if not all(arg.startswith("-") for arg in command.args):
        return state.mark(Origin(names=frozenset(command.args[:1])))
    return _all_variables(state, command)


def run_set(state: State, command: Command) -> str:
    if "--" in command.args[:4]:
        given = command.args[command.args.index("--") + 1 :]
        for number, arg in enumerate(given[:9], start=1):
            state.variables[str(number)] = arg
        state.variables["@"] = state.variables["*"] = CUT.join(given)
    return "" if command.args else _all_variables(state, command)


def run_declare(state: State, command: Command) -> str:
    """``export`` and similar: assignments, or a list of all."""
    values: dict[str, list[str]] = {}
    for arg in command.args:
        name, equals, value = arg.partition("=")
        if equals and name.isidentifier():
            values[name] = [value]
        elif values and (arg.startswith("[") or " " in arg):  # the next element of an array
            values[next(reversed(values))].append(arg)
    for name, elements in values.items():
        store_variable(state, name, CUT.join(elements))
        note_variable(state, name, elements[0])
    lists_all = all(arg in {"-p", "-x", "-px", "-xp"} for arg in command.args)
    return _all_variables(state, command) if lists_all and command.name != "local" else ""


def _all_variables(state: State, command: Command) -> str:
    if not command.is_consumed:
        return ""
    state.emit(Act.READ_ALL_ENV)
    return state.mark(Origin(secrets=frozenset({ALL_VARIABLES})))


def run_alias(state: State, command: Command) -> str:
    for arg in command.args:
        name, equals, value = arg.partition("=")
        if equals:
            state.aliases[name] = value
    return ""


def run_which(state: State, command: Command) -> str:
    """``command -v`` looks up a program; otherwise it runs it."""
    if any(arg in {"-v", "-V", "-pv"} for arg in command.args[:2]):
        return state.mark(Origin())
    inner = first_command(command.args, frozenset())
    return state.run_command(state, named(command, inner)) if inner else ""


def run_xargs(state: State, command: Command) -> str:
    """Run a command with standard input as its arguments."""
    hole = next(
        (a[2:] or "{}" for a in command.args if a.startswith(("-I", "-i")) and a != "-i"), ""
    )
    valued = _XARGS_VALUED | {"-I"} if "-I" in command.args else _XARGS_VALUED
    if "-I" in command.args[:-1]:
        hole = command.args[command.args.index("-I") + 1]
    inner = first_command(command.args, valued)
    if ":::" in inner:  # the arguments of parallel, which are commands if there is no other
        at = inner.index(":::")
        inner, given = inner[:at], inner[at + 1 :]
        command.stdin = "\n".join(given)
        if not inner:
            return execute(state, command.stdin, command.name)
    if not inner:
        return command.stdin
    if not hole and inner[-1] == "-c" and program_name(inner[0]) in SHELLS:
        return execute(state, command.stdin, "xargs")
    if hole:
        args = [arg.replace(hole, command.stdin) if hole in arg else arg for arg in inner]
    else:
        args = [*inner, *(command.stdin.split() if command.stdin else [])[:200]]
    run = named(command, args)
    run.stdin = ""
    if run.name in SHELLS and not hole and len(inner) == 1 and state.has_mark(command.stdin):
        run.stdin, run.args = command.stdin, []  # the input is a script, or its name
    return state.run_command(state, run)


#: The machine's own SSH server as the end of a tunnel.
_TO_LOGIN = re.compile(r":(?:22|5900|3389)$")
#: Hosts that may use the keys of an agent that is forwarded to them.
_NOBODY_KNOWS = ANONYMOUS | {HostClass.UNKNOWN}


def run_ssh(state: State, command: Command) -> str:
    options = read_options(command.args, _SSH_VALUED)
    for option in options.values("o"):
        if found := _SSH_COMMAND.match(option):
            execute(state, found[1], "")
    if not options.rest:
        return ""
    host = host_of(state, options.rest[0])
    if options.has("R"):
        state.emit(Act.LISTEN, "ssh tunnel", host)
        if any(_TO_LOGIN.search(option) for option in options.values("R")):
            state.emit(Act.OPEN_ACCESS, "a tunnel to the logins of this machine", host)
    if options.has("A") and host.name and classify_host(host.name) in _NOBODY_KNOWS:
        state.emit(Act.OPEN_ACCESS, "the keys of the SSH agent", host)
    if command.stdin and not state.flow(command.stdin).is_shell:
        send(state, [host], "ssh", command.stdin)
    elif command.stdin:
        state.emit(Act.REVERSE_SHELL, "ssh", host)
    at = command.args.index(options.rest[0])
    remote = (
        [arg for arg in command.args[at + 1 :] if not arg.startswith("-")]
        if len(options.rest) > 1
        else []
    )
    if remote:
        state.emit(Act.RUN, "ssh", host)
        execute(state, " ".join(command.args[at + 1 :]), "")
    return state.mark(Origin(hosts=(host,)))


def run_uv(state: State, command: Command) -> str:
    """``uv run x`` runs x; everything else is about packages."""
    inner = first_command(
        command.args[1:], frozenset({"--with", "--python", "-p", "--project", "--directory"})
    )
    return state.run_command(state, named(command, inner)) if inner else ""


WRAPPERS = {
    **dict.fromkeys(_WRAPPERS, wrap),
    "sudo": run_sudo, "doas": run_sudo, "pkexec": run_sudo, "su": run_su, "env": run_env,
    "printenv": run_printenv, "set": run_set,
    "export": run_declare, "declare": run_declare, "typeset": run_declare, "local": run_declare,
    "readonly": run_declare,
    "alias": run_alias,
    "command": run_which, "xargs": run_xargs, "parallel": run_xargs, "ssh": run_ssh,
}  # fmt: skip
