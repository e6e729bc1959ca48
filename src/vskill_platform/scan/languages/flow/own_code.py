"""Code that a program runs in its own language: literal, fetched or decoded."""

import ast
import re

from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.facts.hosts import hosts_in
from vskill_platform.scan.facts.loading_variables import INDEX_VARIABLES, LOADED
from vskill_platform.scan.languages.flow.decoding import plain_text
from vskill_platform.scan.languages.flow.files import is_fetched
from vskill_platform.scan.languages.flow.state import Call, Flow
from vskill_platform.scan.languages.flow.values import (
    HOLE,
    UNKNOWN,
    TaintSource,
    Value,
    in_order,
    shown,
)
from vskill_platform.scan.languages.unparsed import Unparsed

_LONG = 120
_PATHS = re.compile(r"[\s:=,;]+")
#: `Function("return process")`: a call returns what could have been named directly.
_RETURNS_NAME = re.compile(r"\s*return\s+(process|require|globalThis|global|module)\s*;?\s*")
#: The start of the name of a function that returns the rest of the name.
RETURNING = "returns "


def run_code(flow: Flow, call: Call) -> Value | None:
    """eval, exec, new Function: code in the program's own language."""
    code = (
        call.args[-1]
        if call.name in {"Function", "vm.compileFunction"} and call.args
        else call.arg(0, "source")
    )
    if run_tainted(flow, call.line, code) or (code is UNKNOWN and not call.node.args):
        return UNKNOWN
    if code.is_known() and code.number is None:
        text = code.text or ""
        if call.name == "Function" and (found := _RETURNS_NAME.fullmatch(text)):
            return Value(name=RETURNING + found[1])
        flow.add_all(_read(flow, _parameters(call) + text), line_of(call, 0))
    elif code.function is None:
        flow.add(Act.RUN_DYNAMIC, call.line, detail=call.method or call.name)
    return Value(taints=code.taints)


def _parameters(call: Call) -> str:
    """Declare the parameters of a function in a text, each of which may be a module loader."""
    if call.name != "Function":
        return ""
    names = [arg.text or "" for arg in call.args[:-1]][:4]
    return "".join(f"const {name} = require; " for name in names if name.isidentifier())


def run_tainted(flow: Flow, line: int, code: Value) -> bool:
    """Record code that was fetched or decoded; return whether it was."""
    found = False
    for taint in in_order(code.taints):
        if taint.source is TaintSource.REMOTE:
            found = True
            flow.add(Act.RUN_REMOTE, line, host=taint.host)
            if taint.detail == "socket":
                flow.add(
                    Act.REVERSE_SHELL,
                    line,
                    host=taint.host,
                    detail="runs what it receives over a connection",
                )
    if any(taint.source is TaintSource.DECODED for taint in code.taints):
        found = True
        run_decoded(flow, line, code)
    return found


def run_decoded(flow: Flow, line: int, code: Value) -> None:
    plain = plain_text(code) if code.text and HOLE not in code.text else ""
    flow.add(Act.RUN_DECODED, line, detail=shown(plain))
    if len(plain) >= _LONG:
        flow.add(Act.HIDE, line, detail="long encoded code")
    if plain:
        flow.add_all([at_first_line(fact) for fact in _read(flow, plain)], line)


def _read(flow: Flow, code: str) -> list[Fact]:
    """Analyse nested code; a failure to parse it does not affect the rest."""
    try:
        return flow.language.read(code)
    except Unparsed as error:
        flow.is_cut |= error.is_too_much
        return error.facts


def at_first_line(fact: Fact) -> Fact:
    return Fact(
        act=fact.act, line=1, text=fact.text, host=fact.host, host_class=fact.host_class,
        detail=fact.detail,
    )  # fmt: skip


def line_of(call: Call, place: int) -> int:
    node = call.node.args[place] if place < len(call.node.args) else call.node
    return node.lineno if isinstance(node, ast.Constant | ast.JoinedStr) else call.line


def run_file(flow: Flow, line: int, path: Value) -> bool:
    taints = is_fetched(flow, path)
    for taint in in_order(taints):
        act = Act.RUN_REMOTE if taint.source is TaintSource.REMOTE else Act.RUN_DECODED
        flow.add(act, line, host=taint.host)
    return bool(taints)


def load_variable(flow: Flow, line: int, name: str, value: Value) -> None:
    """Find a fetched file in a variable that makes programs load it."""
    if name in LOADED:
        for path in _PATHS.split(value.text or ""):
            run_file(flow, line, Value(text=path))
    elif name in INDEX_VARIABLES:
        for host in hosts_in(value.text or ""):
            flow.add(Act.INSTALL, line, host=host, detail="index")


def load_code(flow: Flow, call: Call) -> Value | None:
    """pickle.loads, runpy.run_path, importlib from a file: run their argument."""
    given = call.args[-1] if call.args else UNKNOWN
    if any(taint.source is TaintSource.REMOTE for taint in given.taints):
        run_tainted(flow, call.line, given)
    run_file(flow, call.line, given)
    # Functions of a library are called by name: `ctypes.CDLL(None).system(…)`.
    name = f"{call.name}()" if call.name.startswith("ctypes.") else ""
    return Value(name=name, taints=given.taints)
