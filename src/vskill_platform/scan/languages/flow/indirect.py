"""Functions that are called indirectly: bound, passed on, looked up, or named in data."""

import re
from collections.abc import Iterable

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.flow.files import is_fetched
from vskill_platform.scan.languages.flow.own_code import run_file, run_tainted
from vskill_platform.scan.languages.flow.state import Bound, Call, Flow, Function
from vskill_platform.scan.languages.flow.values import (
    UNKNOWN,
    TaintSource,
    Value,
    in_order,
    tainted,
    with_name,
)

_MAX_DEPTH = 6
_FOREIGN = frozenset({TaintSource.REMOTE, TaintSource.DECODED})
#: Modules that are attributes of other modules: `shutil.os.system`, `platform.subprocess.run`.
_WITHIN = frozenset({"os", "subprocess", "builtins", "pty", "socket", "child_process"})
#: Other names of a module.
_SAME = {"posix": "os", "nt": "os"}
_REPOSITORY = re.compile(r"([\w.-]{1,80})/[\w.-]{1,120}(?::[\w./-]{1,80})?")
#: Owners of repositories with widely used models.
_KNOWN_OWNERS = frozenset(
    {
        "01-ai", "apple", "baai", "bigcode", "cohereforai", "databricks", "deepseek-ai",
        "facebook", "facebookresearch", "google", "huggingface", "ibm-granite", "intel-isl",
        "internlm", "jinaai", "meta-llama", "microsoft", "mistralai", "mosaicml", "nomic-ai",
        "nvidia", "openai", "openbmb", "opengvlab", "pytorch", "qwen", "salesforce", "snakers4",
        "snowflake", "stabilityai", "thudm", "tiiuae", "ultralytics", "zai-org", "moonshotai",
    }
)  # fmt: skip
#: A pickle that calls one of these when it is loaded.
_CALLING_PICKLE = re.compile(
    r"(?:\b|c)(?:posix|nt|os|subprocess|builtins|__builtin__)\W{1,6}"
    r"(?:system|popen|exec\w*|eval|Popen|run|call|check_output|getoutput|__import__)\b"
)


def canonical_name(name: str) -> str:
    """Return the usual name of a function that is accessed through another module."""
    path, _, function = name.rpartition(".")
    module = path.rpartition(".")[2].removeprefix("_")
    module = _SAME.get(module, module)
    return f"{module}.{function}" if module in _WITHIN else name


def call_known(flow: Flow, made: Call, function: Value, args: Iterable[Value]) -> Value | None:
    """Call *function* with *args*, if it is known."""
    given = list(args)
    if isinstance(function.function, Bound):
        return call_bound(flow, made, function.function, given)
    if isinstance(function.function, Function):
        for param, value in zip(function.function.params, given, strict=False):
            function.function.give(param, value)
        return flow.result_of(function.function)
    handler = flow.calls.get(function.name) or flow.calls.get(canonical_name(function.name))
    if handler is None:
        return None
    method = function.name.rpartition(".")[2]
    return handler(flow, Call(made.node, function.name, method, UNKNOWN, given, {}))


def call_bound(flow: Flow, made: Call, bound: Bound, args: list[Value]) -> Value | None:
    """Call a function that already has some of its arguments, or lacks only its receiver."""
    if bound.is_method:
        owner = args[0] if args else UNKNOWN
        name = f"{owner.name}.{bound.name}" if owner.name else bound.name
        if bound.is_getter:
            return with_name(name, owner.taints)
        args = []
    else:
        name = bound.name
    handler = flow.calls.get(name) or flow.calls.get(canonical_name(name))
    if handler is None:
        return None
    named = {**bound.named, **made.named}
    method = name.rpartition(".")[2]
    return handler(flow, Call(made.node, name, method, UNKNOWN, [*bound.args, *args], named))


def bind(_flow: Flow, call: Call) -> Value | None:
    """functools.partial(function, …)."""
    function, *args = call.args or [UNKNOWN]
    if not function.name:
        return None
    bound = Bound(name=function.name, args=args, named=call.named)
    return Value(function=bound, taints=call.taints())


def bind_method(_flow: Flow, call: Call) -> Value | None:
    """operator.methodcaller(name, …) and operator.attrgetter(name)."""
    name, *args = call.args or [UNKNOWN]
    if not name.is_known() or not name.text:
        return None
    is_getter = call.name.endswith("attrgetter")
    bound = Bound(name=name.text, args=args, named=call.named, is_method=True, is_getter=is_getter)
    return Value(function=bound, taints=call.taints())


def fold(flow: Flow, call: Call) -> Value | None:
    """functools.reduce(getattr, names, module) and reduce(lambda f, x: f(x), [function, x])."""
    function, items = call.arg(0), call.arg(1).items or ()
    if function.name == "getattr" and call.arg(2).name:
        names = [item.text or "" for item in items]
        return with_name(".".join([call.arg(2).name, *names]))
    if items and items[0].name:
        return call_known(flow, call, items[0], items[1:])
    return None


def call_with_list(flow: Flow, call: Call) -> Value | None:
    """Reflect.apply(function, this, args) and Reflect.construct(function, args)."""
    args = call.arg(2) if call.name.endswith("apply") else call.arg(1)
    return call_known(flow, call, call.arg(0), args.items or [args])


def get_entry(_flow: Flow, call: Call) -> Value | None:
    """Reflect.get(object, name)."""
    base, key = call.arg(0), call.arg(1)
    return with_name(f"{base.name}.{key.text}") if base.name and key.is_known() else None


def same_function(_flow: Flow, call: Call) -> Value | None:
    """A new Proxy(function, {}): called like the function."""
    given = call.arg(0)
    return Value(name=given.name, function=given.function, taints=given.taints)


def call_method(flow: Flow, call: Call) -> Value | None:
    """function.call(this, x), function.apply(this, [x]), function.bind(this, x)."""
    function = call.receiver
    if not function.name and function.function is None:
        return None
    if call.method == "bind":
        if isinstance(function.function, Function) or not function.name:
            return function
        bound = Bound(name=function.name, args=call.args[1:], named={})
        return Value(function=bound, name=function.name, taints=call.taints())
    given = call.args[1:]
    if call.method == "apply":
        given = list(call.arg(1).items or given)
    return call_known(flow, call, function, given)


def run_if_foreign(flow: Flow, call: Call) -> Value | None:
    """Functions that run or load their first argument; relevant if it is foreign."""
    given = call.arg(0, "stmt", "source", "data", "f", "file", "filepath_or_buffer", "config")
    run_tainted(flow, call.line, given)
    run_file(flow, call.line, given)
    return Value(taints=given.taints)


def load_pickle(flow: Flow, call: Call) -> Value | None:
    """pickle.loads(data): foreign data, or a text that calls a function."""
    given = call.arg(0)
    if given.text and _CALLING_PICKLE.search(given.text):
        flow.add(Act.RUN_DECODED, call.line, detail=given.text)
    if any(taint.source is TaintSource.REMOTE for taint in given.taints):
        run_tainted(flow, call.line, given)
    run_file(flow, call.line, given)
    return Value(taints=given.taints)


def load_repository(flow: Flow, call: Call) -> Value | None:
    """torch.hub.load(repo) and trust_remote_code=True: run code from another repository."""
    is_hub = call.name.endswith("hub.load")
    if not is_hub and call.named["trust_remote_code"].text != "True":
        return None
    names = ("model", "path", "repo_or_dir", "pretrained_model_name_or_path", "model_name")
    given = [*call.args[:2], *(call.named[name] for name in names if name in call.named)]
    for value in given:
        found = _REPOSITORY.fullmatch(value.text or "")
        if found and found[1].lower() not in _KNOWN_OWNERS:
            host = "github.com" if is_hub else "huggingface.co"
            flow.add(Act.RUN_REMOTE, call.line, host=host, detail="code at a branch")
    return None


def extend_path(flow: Flow, call: Call) -> Value | None:
    """sys.path.insert(0, path): files that were fetched to the path can be imported."""
    path = call.args[-1] if call.args else UNKNOWN
    folder = (path.text or "").rstrip("/")
    taints = is_fetched(flow, path)
    if folder:
        within = [key for key in flow.files if key.startswith(f"{folder}/")]
        code = [key for key in within if key.endswith((".py", ".zip", ".pth", ".so"))]
        taints |= tainted(*(Value(taints=flow.files[key]) for key in code))
    for taint in in_order(taints):
        if taint.source in _FOREIGN:
            act = Act.RUN_REMOTE if taint.source is TaintSource.REMOTE else Act.RUN_DECODED
            flow.add(act, call.line, host=taint.host)
    return UNKNOWN


def configure(flow: Flow, call: Call) -> Value | None:
    """logging.config.dictConfig: the entry "()" names a function that is called."""
    run_tainted(flow, call.line, call.arg(0, "config"))
    _call_named(flow, call, call.arg(0, "config"), _MAX_DEPTH)
    return UNKNOWN


def _call_named(flow: Flow, call: Call, table: Value, depth: int) -> None:
    fields = table.fields or {}
    named = fields.get("()", fields.get("class"))
    if named is not None:
        name = (named.text or named.name).removeprefix("ext://")
        others = [value for key, value in fields.items() if key not in {"()", "class"}]
        call_known(flow, call, Value(name=name, function=named.function), others)
    for value in fields.values() if depth else ():
        _call_named(flow, call, value, depth - 1)


def call_returned(flow: Flow, call: Call, value: Value) -> None:
    """`__reduce__` returns a function and its arguments, which loading a pickle calls."""
    items = value.items or ()
    if len(items) > 1 and items[0].name and items[1].items is not None:
        call_known(flow, call, items[0], items[1].items)
