"""Calls: of the program's own functions, and of known library functions."""

import ast

from vskill_platform.scan.languages.flow.assign import fill
from vskill_platform.scan.languages.flow.commands import (
    INTERPRETER,
    SHELL_PROCESS,
    run_arguments,
    run_given,
    run_process,
    starts_shell,
)
from vskill_platform.scan.languages.flow.indirect import (
    call_bound,
    call_known,
    canonical_name,
    load_repository,
)
from vskill_platform.scan.languages.flow.own_code import RETURNING
from vskill_platform.scan.languages.flow.state import Bound, Call, Flow, Function, Handler
from vskill_platform.scan.languages.flow.values import (
    UNKNOWN,
    Taints,
    TaintSource,
    Value,
    any_of,
    member_name,
    tainted,
    with_name,
)

_MAX_ITEMS = 20_000
#: Functions are expected among this many first arguments.
_MAX_PASSED = 4
_CREDENTIALS = frozenset({TaintSource.ENV, TaintSource.PART})
#: Functions whose last argument is the environment of the new process.
TAKING_ENVIRONMENT = frozenset(
    {
        "os.execve", "os.execvpe", "os.execle", "os.execlpe", "os.posix_spawn", "os.posix_spawnp",
        "os.spawnve", "os.spawnvpe", "os.spawnle", "os.spawnlpe",
    }
)  # fmt: skip
#: Functions that call another one with their further arguments.
_APPLYING = frozenset({"map", "filter", "itertools.starmap"})
#: Keyword arguments that are functions, called with the other arguments or their elements.
_CALLBACKS = frozenset({"key", "object_hook", "default", "callback", "initializer"})
#: Methods that call a function with their receiver.
_EACH = frozenset({"then", "forEach", "map", "filter", "some", "every", "find", "flatMap"})
#: Methods that give a process its input.
_WRITING = frozenset({"write", "writelines", "communicate", "end", "sendline"})
#: Methods that add something to their receiver.
_FILLING = frozenset(
    {"append", "extend", "insert", "add", "update", "push", "unshift", "set", "writestr",
    "setdefault", "attach", "set_payload"}
)  # fmt: skip


def call(flow: Flow, node: ast.Call) -> Value:
    receiver, method = UNKNOWN, ""
    if isinstance(node.func, ast.Attribute):
        receiver, method = flow.evaluate(node.func.value), node.func.attr
        callee = _method_of(flow, receiver, method)
    else:
        callee = flow.evaluate(node.func)
        method = callee.name.rpartition(".")[2]
    args = _arguments(flow, node)
    named: dict[str, Value] = {}
    for keyword in node.keywords:
        value = flow.evaluate(keyword.value)
        if keyword.arg:
            named[keyword.arg] = value
        else:
            named.update(value.fields or {"**": value})
    made = Call(node, callee.name, method, receiver, args, named)
    for value in args[:2]:
        if value.text is not None and "://" in value.text[:16]:
            flow.note_contact(value.text, node.lineno)
    if flow.has_copied:
        _excuse_copies(flow, made)
    if isinstance(callee.function, Function):
        return _call_own(flow, callee.function, made)
    if isinstance(callee.function, Bound):
        bound = call_bound(flow, made, callee.function, args)
        return bound or Value(taints=made.taints() | callee.taints)
    return _call_other(flow, made, callee)


def _arguments(flow: Flow, node: ast.Call) -> list[Value]:
    args: list[Value] = []
    for part in node.args[:_MAX_ITEMS]:
        value = flow.evaluate(part)
        if isinstance(part, ast.Starred) and value.items is not None:
            args.extend(value.items)
        else:
            args.append(value)
    return args


def _method_of(flow: Flow, receiver: Value, method: str) -> Value:
    if receiver.fields and method in receiver.fields:
        return receiver.fields[method]
    full = member_name(receiver.name, method) if receiver.name else ""
    found = flow.dotted.get(full) if full else None
    if found is None and full:
        flow.missed.add(full)
    return found or with_name(full)


def _excuse_copies(flow: Flow, made: Call) -> None:
    """Ignore a copy of the environment that only a new process gets."""
    given = [made.named[key] for key in ("env", "environ") if key in made.named]
    given += [arg.fields["env"] for arg in made.args if arg.fields and "env" in arg.fields]
    if made.name in TAKING_ENVIRONMENT:
        given += made.args
    for value in given:
        for taint in value.taints:
            if taint.source is TaintSource.ALL_ENV and taint.detail.isdecimal():
                flow.copies[int(taint.detail)] = True


def _call_own(flow: Flow, function: Function, made: Call) -> Value:
    params = function.params
    shift = 1 if params[:1] in (["self"], ["cls"]) and made.receiver.name.startswith("self@") else 0
    for place, value in enumerate(made.args):
        if place + shift < len(params):
            function.give(params[place + shift], value)
    for key, value in made.named.items():
        if key in params:
            function.give(key, value)
    return flow.result_of(function)


def _call_other(flow: Flow, made: Call, callee: Value) -> Value:
    if made.name.startswith(RETURNING):
        return with_name(made.name.removeprefix(RETURNING), callee.taints)
    handler = _handler_of(flow, made) if made.name else None
    result = handler(flow, made) if handler is not None else None
    if handler is None or made.name in _APPLYING or not _CALLBACKS.isdisjoint(made.named):
        _call_passed_functions(flow, made)
    if made.args and made.method in _WRITING and made.receiver.name.startswith(INTERPRETER):
        is_shell = made.receiver.name.startswith(SHELL_PROCESS)
        run_given(flow, made, made.args[0], is_shell=is_shell)  # process.stdin.write(code)
    if "trust_remote_code" in made.named:
        load_repository(flow, made)
    if handler is None:
        result = _start_process(flow, made)
    if result is None and made.method:
        by_method = flow.methods.get(made.method)
        result = by_method(flow, made) if by_method is not None else None
    if made.method in _FILLING and isinstance(made.node.func, ast.Attribute):
        _put_in(flow, made, made.node.func.value)
    if result is None and made.name:
        result = _made_by(flow, made)
    if result is None:
        name = f"{made.name}()" if made.name else ""
        result = with_name(name, _passed_on(made) | callee.taints)
    return _pass_to_callbacks(flow, made, result)


def _start_process(flow: Flow, made: Call) -> Value | None:
    """Call an unknown function whose arguments show that it starts a process."""
    if made.named.get("shell", UNKNOWN).text == "True":
        return run_process(flow, made)
    return run_arguments(flow, made) if starts_shell(made) else None


def _handler_of(flow: Flow, made: Call) -> Handler | None:
    found = flow.calls.get(made.name)
    if found is None and "." in made.name:
        usual = canonical_name(made.name)
        found = flow.calls.get(usual) if usual != made.name else None
    return found


def _call_passed_functions(flow: Flow, made: Call) -> None:
    """Call known functions that are passed with their arguments: `Timer(1, os.system, [x])`."""
    for place, passed in enumerate(made.args[:_MAX_PASSED], 1):
        _call_passed(flow, made, passed, made.args[place:])
    for key in ("target", "function", "func"):
        if key in made.named and "args" in made.named:
            _call_passed(flow, made, made.named[key], [made.named["args"]])
    for key in sorted(_CALLBACKS & made.named.keys()):
        _call_passed(flow, made, made.named[key], made.args)


def _call_passed(flow: Flow, made: Call, passed: Value, args: list[Value]) -> None:
    handler = flow.calls.get(passed.name) if passed.name and args else None
    if handler is not None:
        given = [item for arg in args for item in (arg.items or (arg,))]
        method = passed.name.rpartition(".")[2]
        handler(flow, Call(made.node, passed.name, method, UNKNOWN, given, {}))


def _passed_on(made: Call) -> Taints:
    """Return what the result of an unknown call may contain.

    The responses of a client do not contain the key with which it was created.
    """
    held = made.receiver.taints
    if held and "()" in made.receiver.name:
        held = frozenset(taint for taint in held if taint.source not in _CREDENTIALS)
    return held | tainted(*made.given())


def _made_by(flow: Flow, made: Call) -> Value | None:
    """An instance of one of the program's own classes."""
    instance = flow.dotted.get(f"{made.name}()")
    if instance is not None:
        constructor = flow.dotted.get(f"{made.name}.new", UNKNOWN).function
        if isinstance(constructor, Function):
            _call_own(flow, constructor, Call(made.node, "", "", instance, made.args, made.named))
    return instance


def _put_in(flow: Flow, made: Call, into: ast.expr) -> None:
    value = Value(taints=tainted(*made.given()))
    base = made.receiver
    if base.items is not None and made.method in {"append", "push"} and made.args:
        items = (*base.items, *made.args)[:_MAX_ITEMS]
        base = Value(items=items, taints=base.taints, name=base.name)
    elif base.items is not None and made.method == "extend" and made.args:
        given = made.args[0]
        added = given.items or (Value(text=given.text, taints=given.taints),)
        items = (*base.items, *added)[:_MAX_ITEMS]
        base = Value(items=items, taints=base.taints, name=base.name)
    elif not value.taints:
        return
    fill(flow, into, base, value)


def _call_by_name(flow: Flow, made: Call) -> None:
    """answer.then(eval), texts.forEach(eval): a built-in function passed by name."""
    for value in made.args:
        if value.name and not isinstance(value.function, Function):
            call_known(flow, made, value, [Value(taints=made.receiver.taints)])


def _handed(whole: Value) -> Value:
    """Return the arguments of a function that is called for each part of *whole*."""
    if whole.items:
        return any_of(whole.items)
    return UNKNOWN if whole.name else Value(text=whole.text)  # the text of a connection is its host


def _pass_to_callbacks(flow: Flow, made: Call, result: Value) -> Value:
    """Call a function that was passed as an argument, with the data of the call."""
    if made.method in _EACH:
        _call_by_name(flow, made)
    for function in [value.function for value in made.given() if value.function is not None]:
        if not isinstance(function, Function):
            continue
        plain = [value for value in made.args if value.function is None]
        taints = result.taints | made.receiver.taints | tainted(*plain)
        element = _handed(made.receiver)
        same = result.name if made.method in {"get", "request", "createServer"} else ""
        if made.method == "then":  # the value of a promise
            same = made.receiver.name or result.name
        for param in function.params:
            function.give(param, Value(text=element.text, taints=taints, name=same))
        result = result.having(flow.result_of(function).taints)
    return result
