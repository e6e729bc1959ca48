"""Methods of a class that operators call: `thing[x]`, `thing + x`, `x in thing`."""

import ast

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.flow.indirect import call_known
from vskill_platform.scan.languages.flow.state import Call, Flow, Function
from vskill_platform.scan.languages.flow.values import Value

#: Methods that no legitimate class would use as another name for one of the functions below.
_RUNNERS = frozenset(
    {
        "exec", "eval", "compile", "__import__", "builtins.exec", "builtins.eval", "os.system",
        "os.popen", "os.execv", "os.execvp", "subprocess.run", "subprocess.call",
        "subprocess.Popen", "subprocess.getoutput", "subprocess.check_output", "pty.spawn",
        "pickle.loads", "runpy.run_path",
    }
)  # fmt: skip
_ENTRY = ("__class_getitem__", "__getitem__", "__missing__")
_CONTAINS = ("__contains__", "__eq__")
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or",
    ast.BitAnd: "and", ast.BitXor: "xor", ast.MatMult: "matmul",
}  # fmt: skip


def note_alias(flow: Flow, line: int, method: str, value: Value) -> None:
    """Record a special method that is another name for a function that runs code."""
    if method.startswith("__") and method.endswith("__"):
        flow.has_operators = True
        if value.name in _RUNNERS and value.function is None:
            flow.add(Act.HIDE, line, detail=f"{value.name} as {method}")


def call_entry(flow: Flow, owner: Value, key: Value, line: int) -> None:
    _call(flow, owner, _ENTRY, key, line)


def call_contains(flow: Flow, owner: Value, item: Value, line: int) -> None:
    _call(flow, owner, _CONTAINS, item, line)


def call_binary(flow: Flow, node: ast.BinOp, left: Value, right: Value) -> None:
    name = _BINARY[type(node.op)]
    _call(flow, left, (f"__{name}__",), right, node.lineno)
    _call(flow, right, (f"__r{name}__",), left, node.lineno)


def _call(flow: Flow, owner: Value, methods: tuple[str, ...], given: Value, line: int) -> None:
    for method in methods if owner.name else ():
        found = flow.dotted.get(f"{owner.name}.{method}")
        if found is None:
            continue
        function = found.function
        takes_self = isinstance(function, Function) and len(function.params) > 1
        node = ast.Call(func=ast.Name(id=method), args=[], keywords=[], lineno=line)
        made = Call(node, found.name, method, owner, [given], {})
        call_known(flow, made, found, [owner, given] if takes_self else [given])
