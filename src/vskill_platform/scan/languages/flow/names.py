"""Function names that a program assembles to hide them."""

import ast

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.flow.state import Call, Flow
from vskill_platform.scan.languages.flow.values import HOLE, OR, TaintSource, Value, with_name

#: Names worth hiding.
_WORTH_HIDING = frozenset(
    {
        "system", "popen", "exec", "eval", "execv", "execve", "execvp", "spawn", "spawnSync",
        "execSync", "Popen", "run",
        "call", "check_output", "compile", "__import__", "os", "subprocess", "socket",
        "child_process", "requests",
        "builtins", "__builtins__", "environ", "ctypes", "pty", "urllib.request", "Function",
        "constructor", "require",
        "marshal", "pickle", "base64", "b64decode", "net", "http", "https", "getoutput", "loads",
        "urlopen", "atob",
    }
)  # fmt: skip
_NAMESPACES = frozenset(
    {
        "globals()", "locals()", "vars()", "__builtins__", "__builtins__.__dict__",
        "builtins.__dict__", "os.__dict__",
        "subprocess.__dict__", "sys.modules", "globalThis", "global", "window", "self",
        "process.mainModule",
    }
)  # fmt: skip
_MODULES = frozenset({"os", "subprocess", "builtins", "__builtins__", "socket", "sys", "importlib"})
_ROOTS = frozenset({"os", "subprocess", "builtins", "child_process", "globalThis", "global"})


def get_attribute(flow: Flow, call: Call) -> Value | None:
    """getattr: the same as an attribute, unless the name is assembled."""
    base, key = call.arg(0), call.arg(1)
    if len(call.node.args) < 2 or not base.name:  # noqa: PLR2004 - object and name
        return None
    if base.name in _MODULES and is_put_together(call.node.args[1], key):
        _note(flow, call.line, key)
    if not key.is_known():
        return with_name(f"{base.name}.?" if base.name in _MODULES else "", base.taints)
    prefix = "" if base.name in {"builtins", "__builtins__"} else f"{base.name}."
    return with_name(f"{prefix}{key.text}", base.taints)


def import_module(flow: Flow, call: Call) -> Value | None:
    if not call.node.args:
        return None
    key = call.arg(0)
    if is_put_together(call.node.args[0], key):
        _note(flow, call.line, key)
    if not key.is_known():
        return None
    name = (key.text or "").removeprefix("node:")
    is_whole = len(call.args) > 3 or "fromlist" in call.named  # noqa: PLR2004 - the fourth one
    if call.name == "__import__" and not is_whole:
        name = name.partition(".")[0]
    return with_name(name)


def find_by_key(flow: Flow, base: Value, key: Value, node: ast.Subscript) -> Value | None:
    """A function that is looked up by name: globals()['ev' + 'al'], global['req' + 'uire']."""
    is_namespace = base.name in _NAMESPACES
    if not is_namespace and base.name not in _ROOTS:
        return None
    if is_put_together(node.slice, key):
        _note(flow, node.lineno, key)
    if not key.is_known() or not key.text:
        return None
    bare = is_namespace and base.name not in {"os.__dict__", "subprocess.__dict__"}
    root = "" if bare else f"{base.name.removesuffix('.__dict__')}."
    return flow.dotted.get(root + key.text) or with_name(root + key.text)


def is_put_together(node: ast.AST, value: Value) -> bool:
    """Return whether a name is computed although it could have been written out."""
    if any(taint.source is TaintSource.DECODED for taint in value.taints):
        return True
    if isinstance(node, ast.Constant):
        return False
    return value.text is not None and HOLE not in value.text and _is_worth_hiding(value)


def _is_worth_hiding(value: Value) -> bool:
    return any(text in _WORTH_HIDING for text in (value.text or "").split(OR))


def _note(flow: Flow, line: int, key: Value) -> None:
    flow.add(Act.HIDE, line, detail=key.text or "a computed name")
