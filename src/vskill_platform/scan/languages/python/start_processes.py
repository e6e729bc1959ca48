"""Handlers for functions of Python that start or replace processes."""

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.flow import (
    commands,
)
from vskill_platform.scan.languages.flow.invoke import TAKING_ENVIRONMENT
from vskill_platform.scan.languages.flow.state import Call, Flow
from vskill_platform.scan.languages.flow.values import UNKNOWN, TaintSource, Value


def become(flow: Flow, call: Call) -> Value | None:
    if call.arg(0).number == 0:
        flow.add(Act.ELEVATE, call.line, detail=call.name)
    return UNKNOWN


def execute_shell(flow: Flow, call: Call) -> Value | None:
    if call.arg(1).text == "runas":
        flow.add(Act.ELEVATE, call.line, detail="runas")
    return None


def spawn_terminal(flow: Flow, call: Call) -> Value | None:
    return commands.run_process(flow, call)


def spawn(flow: Flow, call: Call) -> Value | None:
    """os.spawnlp(mode, path, name, …): the third argument repeats the second."""
    return _replace_process(flow, call, call.args[2:])


def execute(flow: Flow, call: Call) -> Value | None:
    """os.execvp(path, [name, …]), os.posix_spawn(path, [name, …], environment)."""
    return _replace_process(flow, call, call.args[1:])


def _replace_process(flow: Flow, call: Call, args: list[Value]) -> Value | None:
    """Run a program with a list of arguments; its environment is not an argument."""
    if call.name in TAKING_ENVIRONMENT:
        args = [arg for arg in args if not _is_environment(arg)]
    made = Call(call.node, call.name, call.method, call.receiver, args, call.named)
    return commands.run_arguments(flow, made)


def _is_environment(arg: Value) -> bool:
    return arg.fields is not None or any(one.source is TaintSource.ALL_ENV for one in arg.taints)


def run_terminal(flow: Flow, call: Call) -> Value | None:
    """pexpect.spawn(command, [arguments])."""
    if call.arg(1, "args").items:
        return commands.run_arguments(flow, call)
    return commands.run_shell(flow, call)
