"""Containers: code that runs inside them, and their access to the host."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.shell.names import SHELLS, program_name
from vskill_platform.scan.languages.shell.run import named
from vskill_platform.scan.languages.shell.state import Command, State, secret_at

#: Mounting one of these gives the container access to the host.
_HOST_PLACES = frozenset(
    {
        "/", "/etc", "/root", "/proc", "/var/run/docker.sock", "/run/docker.sock",
        "/home", "/Users", "~", "$HOME", "${HOME}",
    }
)  # fmt: skip
#: Together these remove the limits of a container, as --privileged does.
_UNCONFINED = re.compile(r"--security-opt[ =](?:apparmor|seccomp)[=:]unconfined")
#: A pod that shares the processes of its node, or is privileged.
_HOST_POD = re.compile(r"\"(?:hostPID|privileged)\"\s*:\s*true")
_MOUNTED = re.compile(
    r"(?:-v|--volume)[ =]?([/~$][^\s:]{0,200}):|\b(?:source|src)=([/~$][^\s,]{0,200})"
)


def run_container(state: State, command: Command) -> str:
    """``docker exec`` and ``kubectl exec``: analyse the shell that they start."""
    if "run" in command.args[:2] or "create" in command.args[:2]:
        _note_host_rights(state, command.args)
    for index, arg in enumerate(command.args):
        if program_name(arg) in SHELLS and any(
            "c" in a for a in command.args[index + 1 : index + 3]
        ):
            return state.run_command(state, named(command, command.args[index:]))
    return state.derive(command.stdin, *command.args)


def _note_host_rights(state: State, args: list[str]) -> None:
    """Record a container that is not isolated from its host."""
    text = " ".join(args)[:20_000]
    mounts = [one or other for one, other in _MOUNTED.findall(text)]
    secrets = {str(secret) for path in mounts if (secret := secret_at(path))}
    for secret in sorted(secrets):
        state.emit(Act.READ_SECRET, secret)
    is_free = "--privileged" in args or "--cap-add=ALL" in args
    is_free |= "SYS_ADMIN" in text and _UNCONFINED.search(text) is not None
    owns_host = "/" in mounts or any(_HOST_POD.search(arg) for arg in args)
    if owns_host or (is_free and any(path in _HOST_PLACES for path in mounts)):
        state.emit(Act.ELEVATE, "a container with host privileges")


CONTAINERS = {"docker": run_container, "kubectl": run_container}
