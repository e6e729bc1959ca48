"""Variables with commands to run, code to load, or folders to search for programs."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import hosts_in
from vskill_platform.scan.facts.loading_variables import INDEX_VARIABLES, LOADED
from vskill_platform.scan.languages.shell.remote_sources import note_index
from vskill_platform.scan.languages.shell.run import execute, run_flow
from vskill_platform.scan.languages.shell.state import DOWNLOADED, Host, State
from vskill_platform.scan.languages.shell.words import CUT, fold_string
from vskill_platform.scan.languages.shell.writing import is_system_program

#: The value is a command line.
_COMMANDS = frozenset(
    {
        "PROMPT_COMMAND", "PAGER", "MANPAGER", "GIT_PAGER", "SYSTEMD_PAGER", "AWS_PAGER",
        "PSQL_PAGER", "BAT_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
        "FCEDIT", "SUDO_EDITOR", "KUBE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS",
        "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "SSH_ASKPASS", "SUDO_ASKPASS", "BROWSER",
        "LESSOPEN", "LESSCLOSE", "RSYNC_RSH", "CVS_RSH", "RUSTC_WRAPPER", "npm_config_script_shell",
        "NPM_CONFIG_SCRIPT_SHELL", "FZF_DEFAULT_COMMAND", "PSQL_EDITOR",
    }
)  # fmt: skip
#: The shell expands the value before each prompt or traced command.
_PROMPTS = frozenset({"PS0", "PS1", "PS2", "PS4", "PROMPT", "RPROMPT"})
_OPTION = re.compile(r"-{1,2}[A-Za-z]{1,12}(?=[./~\w])")
_SEPARATORS = re.compile(r"[\s:=,;]+")
_MAX_PATHS = 20
#: An element of an array with its key.
_ELEMENT = re.compile(r"\[([^\]]{1,80})\]=(.*)", re.DOTALL)
_MAX_ELEMENTS = 200


def store_variable(state: State, name: str, value: str) -> None:
    """Store a value, and each element of an array that has keys: ``([fmt]=… [warm]=…)``."""
    if value.startswith("[") and _ELEMENT.match(value):
        pieces = map(_ELEMENT.match, value.split(CUT)[:_MAX_ELEMENTS])
        elements = [element for element in pieces if element]
        for element in elements:
            state.variables[f"{name}[{element[1]}]"] = element[2]
        value = CUT.join(element[2] for element in elements)
    state.variables[name] = value


def note_variable(state: State, name: str, value: str) -> None:
    """Record the effect of a variable on other programs."""
    is_off = name == "HISTFILE" and value in {"", "/dev/null"}
    if is_off or (name in {"HISTSIZE", "HISTFILESIZE"} and value == "0"):
        state.emit(Act.DISARM, "shell history")
    elif name in _COMMANDS:
        _run_later(state, value)
    elif name in _PROMPTS:
        if "$(" in value or "`" in value:
            fold_string(state, value)
    elif name in LOADED:
        _load(state, value)
    elif name in INDEX_VARIABLES:
        note_index(state, value)
    elif name == "PATH":
        _shadow(state, value)


def _run_later(state: State, value: str) -> None:
    flow = state.flow(value[:1])
    if flow.hosts:
        run_flow(state, flow, "")
    elif value.strip():
        execute(state, value, "")


def _load(state: State, value: str) -> None:
    if "data:" in value:  # a module in the value itself, which may import another one
        state.emit_all(Act.RUN_REMOTE, [Host(host) for host in hosts_in(value)], DOWNLOADED)
    for piece in _SEPARATORS.split(value)[:_MAX_PATHS]:
        path = _OPTION.sub("", piece) if piece.startswith("-") and "/" in piece else piece
        if not path:
            continue
        state.load(path)


def _shadow(state: State, value: str) -> None:
    """Record a download with the name of a program in a folder that is searched for programs."""
    for folder in value.split(":")[:_MAX_PATHS]:
        bare = folder.removeprefix("./").rstrip("/")
        for path in state.folders.get(bare, ())[:_MAX_PATHS]:
            if is_system_program(path):
                state.emit_all(Act.RUN_REMOTE, state.flow(state.files[path]).hosts, DOWNLOADED)
