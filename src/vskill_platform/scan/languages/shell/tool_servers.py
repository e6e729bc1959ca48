"""Commands that connect an agent to a tool server (MCP)."""

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import hosts_in
from vskill_platform.scan.languages.shell.names import program_name
from vskill_platform.scan.languages.shell.state import Command, Host, Origin, State

_MAX_SERVERS = 4


def add_server(state: State, command: Command) -> None:
    """``claude mcp add``: a server at a URL, or a program to start."""
    _note_servers(state, command, command.args)
    if "--" in command.args:
        inner = command.args[command.args.index("--") + 1 :]
        if inner:
            state.run_command(state, Command(program_name(inner[0]), inner[1:], path=inner[0]))


def run_editor(state: State, command: Command) -> str:
    """``code --add-mcp`` takes the settings of a server."""
    if any("mcp" in arg.lower() for arg in command.args[:1]):
        _note_servers(state, command, command.args)
    return state.mark(Origin())


def run_bridge(state: State, command: Command) -> str:
    """``mcp-remote`` forwards an agent's calls to a URL."""
    _note_servers(state, command, command.args)
    return state.mark(Origin())


def _note_servers(state: State, command: Command, args: list[str]) -> None:
    for name in hosts_in(state.plain(" ".join(args)))[:_MAX_SERVERS]:
        state.emit(Act.TOOL_SERVER, command.name, Host(name))


TOOL_SERVERS = {
    **dict.fromkeys(("code", "cursor", "windsurf"), run_editor),
    **dict.fromkeys(("mcp-remote", "mcp-proxy", "supergateway"), run_bridge),
}
