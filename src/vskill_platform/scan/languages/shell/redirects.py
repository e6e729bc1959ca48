"""Redirections: the input of a command, and where its output goes."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.shell.names import SHELLS, program_name
from vskill_platform.scan.languages.shell.sending import host_of, send
from vskill_platform.scan.languages.shell.state import Command, Host, Origin, State
from vskill_platform.scan.languages.shell.syntax import Redirect, parts_of
from vskill_platform.scan.languages.shell.words import fold_text
from vskill_platform.scan.languages.shell.writing import note_write

_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]{1,253})/?")


def read_input(state: State, redirects: list[Redirect], stdin: str) -> str:
    """Return the input of a command, given its redirections."""
    for redirect in redirects:
        if not redirect.op.startswith("<"):
            continue
        target = fold_text(state, redirect.target)
        if redirect.op in {"<<", "<<<"}:
            stdin = target
        elif socket := _socket(state, target):
            stdin = state.mark(Origin(hosts=(socket,)))
        elif redirect.op == "<&":
            host = state.sockets.get(target)
            known = target if state.is_mark(target) else state.inputs.get(target, stdin)
            stdin = state.mark(Origin(hosts=(host,))) if host else known
        elif redirect.op == "<" and redirect.fd not in {"", "0"}:
            state.inputs[redirect.fd] = state.content(target)
        elif redirect.op == "<" and target in state.streams:  # its content, not a path
            stdin = state.derive(target, plain=state.flow(target).plain)
        elif redirect.op == "<":
            stdin = state.content(target)
    return stdin


def reads_itself(state: State, args: list[str], redirects: list[Redirect]) -> bool:
    """Return whether a script is given to a shell as a whole, which hides nothing: it is read.

    Nested code has another $0.
    """
    if SHELLS.isdisjoint(map(program_name, args[:2])):  # also behind `exec`
        return False
    given = [fold_text(state, one.target) for one in redirects if one.op.startswith("<")]
    is_alone = len(given) == 1 and state.is_own_text(given[0])
    return is_alone and state.nesting == 1


def _socket(state: State, target: str) -> Host | None:
    found = _SOCKET.match(target)
    return host_of(state, found[1]) if found else None


def write_output(state: State, command: Command, redirects: list[Redirect], printed: str) -> str:
    """Record the destination of output; return the output that is left for the next command."""
    for redirect in redirects:
        if redirect.op in {"<", "<<", "<<<"} and not _opens_socket(redirect):
            continue
        target = fold_text(state, redirect.target)
        socket = _socket(state, target) or state.sockets.get(target.strip("-"))
        if socket is not None:
            _use_socket(state, command, redirect, socket, printed)
        elif target.isdecimal() or target in {"-", "/dev/null", "/dev/stdout", "/dev/stderr"}:
            continue
        elif redirect.op[0] in ">&" and redirect.fd in {"", "1"}:
            note_write(state, target, printed, appends=redirect.op.endswith(">>"))
            printed = ""
    return printed


def _opens_socket(redirect: Redirect) -> bool:
    return redirect.op == "<" and parts_of(redirect.target)[0].text.startswith("/dev/")


def _use_socket(
    state: State, command: Command, redirect: Redirect, host: Host, printed: str
) -> None:
    is_shell = command.name in SHELLS and state.flow(printed).is_shell
    if is_shell or (command.path.startswith("$") or state.is_mark(command.path)):
        state.emit(Act.REVERSE_SHELL, "socket", host)
    elif command.name == "exec" or not command.name:
        state.sockets[redirect.fd or "0"] = host
    elif printed.strip() and redirect.op != "<":
        send(state, [host], "socket", printed)
