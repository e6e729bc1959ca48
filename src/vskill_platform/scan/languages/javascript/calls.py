"""Handlers for functions of JavaScript, Node and common packages."""

import re
from collections.abc import Callable
from itertools import product

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.sensitive_paths import SecretKind
from vskill_platform.scan.languages.flow import (
    commands,
    decoding,
    files,
    indirect,
    names,
    network,
    own_code,
    texts,
)
from vskill_platform.scan.languages.flow.secrets import copy_variables, secret_store
from vskill_platform.scan.languages.flow.state import Call, Flow, Handler
from vskill_platform.scan.languages.flow.values import (
    UNKNOWN,
    Taint,
    TaintSource,
    Value,
    in_order,
    tainted,
)
from vskill_platform.scan.languages.javascript import network as web


def _each(handler: Callable[[Flow, Call], Value | None], *called: str) -> dict[str, Handler]:
    return dict.fromkeys(called, handler)


def _home(_flow: Flow, _call: Call) -> Value | None:
    return Value(text="~")


def _promisify(_flow: Flow, call: Call) -> Value | None:
    given = call.arg(0)
    return Value(name=given.name, function=given.function)


def _run_later(flow: Flow, call: Call) -> Value | None:
    """setTimeout(code): only a string is code."""
    given = call.arg(0)
    if given.function is None and (given.text is not None or _is_foreign(given)):
        return own_code.run_code(flow, call)
    return None


_SHELL_CALL = re.compile(r"\s*(?:ba|z|da)?sh\s+-\w{0,3}c\s+(?![\"'])")
#: Code in a text that only returns what could have been written directly.
_LOOKS_UP = re.compile(r"^\s*return\s+(?:process|require|global|module)\b")


def _is_foreign(value: Value) -> bool:
    return any(taint.source in {TaintSource.REMOTE, TaintSource.DECODED} for taint in value.taints)


def _construct(flow: Flow, call: Call) -> Value | None:
    """(() => {}).constructor('code'): Function under another name."""
    receiver = call.receiver
    is_literal = receiver.items is not None or receiver.function is not None
    if _LOOKS_UP.search(call.arg(0).text or ""):
        flow.add(Act.HIDE, call.line, detail="a name that is looked up by code in a text")
    is_prototype = receiver.name.endswith(("constructor", "prototype", "getPrototypeOf()"))
    if is_literal or is_prototype:
        return own_code.run_code(flow, call)
    return None


def _run_worker(flow: Flow, call: Call) -> Value | None:
    """A new Worker(code, {eval: true}), or of a file or a URL."""
    for host in network.find_hosts(call.arg(0)):
        flow.add(Act.RUN_REMOTE, call.line, host=host)
    if "eval" in (call.arg(1).fields or {}) or _is_foreign(call.arg(0)):
        return own_code.run_code(flow, call)
    return None


def _load_script(flow: Flow, call: Call) -> Value | None:
    """$.getScript(url): fetches and runs."""
    web.run_unknown_hosts(flow, call.line, call.arg(0))
    return None


def _load_wasm(flow: Flow, call: Call) -> Value | None:
    """WebAssembly that is fetched, or encoded as text so that no one can read it."""
    given = call.arg(0)
    web.run_unknown_hosts(flow, call.line, given)
    for taint in in_order(given.taints):
        if taint.source is TaintSource.REMOTE:
            flow.add(Act.RUN_REMOTE, call.line, host=taint.host)
        elif taint.source is TaintSource.DECODED:
            flow.add(Act.OPAQUE, call.line, detail="unparsed", text="encoded WebAssembly")
    return None


def _run_template(flow: Flow, call: Call) -> Value | None:
    """$`command` of zx and Bun; jQuery's function is also called $."""
    text = call.arg(0).text or ""
    if found := _SHELL_CALL.match(text):  # the rest is one value in the template
        return commands.shell_text(flow, call, Value(text=text[found.end() :]), call.line)
    return commands.run_shell(flow, call) if " " in text.strip() else None


def _spawn_directly(flow: Flow, call: Call) -> Value | None:
    """process.binding('spawn_sync').spawn({file, args})."""
    args = (call.arg(0).fields or {}).get("args", UNKNOWN).items or ()
    return commands.run_items(flow, call, tuple(args))


def _import(flow: Flow, call: Call) -> Value | None:
    """require(name) and import(name), which also accept a file or a URL."""
    given = call.arg(0)
    text = given.text or ""
    if text.startswith("data:") and ";base64," in text:
        code = decoding.decoded(Value(text=text.partition(",")[2]), decoding.base_64)
        return own_code.run_code(flow, Call(call.node, "eval", "eval", UNKNOWN, [code], {}))
    if call.name in {"import", "importScripts"}:
        for host in network.find_hosts(given):
            flow.add(Act.RUN_REMOTE, call.line, host=host)
    else:
        web.run_unknown_hosts(flow, call.line, given)
    own_code.load_code(flow, call)
    return names.import_module(flow, call)


def _all_of(flow: Flow, call: Call) -> Value | None:
    """Object.entries(process.env), Object.assign({}, process.env)."""
    merged: dict[str, Value] = {}
    for arg in call.args:
        merged.update(arg.fields or {})
    taints = copy_variables(flow, call.line, tainted(*call.args))
    return Value(taints=taints, fields=merged or None)


def _environment(flow: Flow, call: Call) -> Value | None:
    return Value(taints=copy_variables(flow, call.line, _ENVIRONMENT.taints))


def _variable(flow: Flow, call: Call) -> Value | None:
    return texts.variable(flow, call)


def _deno_command(flow: Flow, call: Call) -> Value | None:
    """Deno has new Deno.Command(program, {args}), Deno.run({cmd})."""
    fields = next((arg.fields for arg in call.args if arg.fields), None) or {}
    rest = fields.get("args", fields.get("cmd", UNKNOWN)).items or ()
    first = call.args[:1] if call.args and call.args[0].fields is None else []
    return commands.run_items(flow, call, (*first, *rest))


_CHILD = ("child_process", "execa", "shelljs", "cross-spawn", "zx", "bun", "Bun")
_FS = (
    "fs",
    "fs.promises",
    "fs/promises",
    "fs-extra",
    "graceful-fs",
    "fs-extra.default",
    "fs.default",
)
_HTTP = ("http", "https", "follow-redirects.https", "follow-redirects.http", "http2")
_VERBS = {
    "get": "GET",
    "head": "GET",
    "post": "POST",
    "put": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "del": "DELETE",
}
_CLIENTS = (
    "axios",
    "axios.default",
    "got",
    "ky",
    "superagent",
    "request",
    "needle",
    "axios()",
    "ofetch",
)


def _of(modules: tuple[str, ...], *functions: str) -> list[str]:
    return [f"{module}.{function}" for module, function in product(modules, functions)]


JAVASCRIPT_CALLS: dict[str, Handler] = {
    **_each(web.fetch, "fetch", "node-fetch", "undici.fetch", "undici.request", "globalThis.fetch",
            "window.fetch",
            "cross-fetch", "isomorphic-fetch", "node-fetch.default", "got", "ky", "ofetch.ofetch",
            "superagent"),
    "Request": web.prepare,
    **{f"{name}.{verb}": web.client(method) for name, (verb, method) in product(_CLIENTS,
    _VERBS.items())},
    **_each(web.configured, "axios", "axios.request", "request", "axios.default"),
    **_each(web.create_client, "axios.create", "got.extend", "ky.create", "axios.default.create"),
    **_each(web.open_request, *_of(_HTTP, "request", "get")),
    **_each(web.connect_socket, "net.connect", "net.createConnection", "tls.connect"),
    **_each(web.open_web_socket, "WebSocket", "ws", "ws.WebSocket", "ws.default", "EventSource",
            "eventsource", "socket.io-client", "socket.io-client.io", "socket.io-client.connect"),
    "navigator.sendBeacon": web.beacon,
    **_each(network.look_up, "dns.lookup", "dns.resolve", "dns.resolve4", "dns.resolveTxt",
            "dns.promises.resolve",
            "dns.promises.lookup", "dns/promises.lookup", "dns/promises.resolve"),
    **_each(own_code.run_code, "eval", "Function", "globalThis.eval", "window.eval",
            "vm.runInThisContext",
            "vm.runInNewContext", "vm.runInContext", "vm.Script", "vm.compileFunction",
            "global.eval"),
    **_each(_run_later, "setTimeout", "setInterval", "setImmediate"),
    **_each(commands.run_shell, *_of(_CHILD, "exec", "execSync", "execaCommand", "command")),
    **_each(commands.run_arguments, *_of(_CHILD, "spawn", "spawnSync", "execFile", "execFileSync",
            "fork", "execa", "sync"),
            "execa", "cross-spawn"),
    **_each(_deno_command, "Deno.Command", "Deno.run"),
    **_each(_import, "require", "import", "module.require", "process.mainModule.require",
            "importScripts", "module._load", "module.constructor._load", "Module._load",
            "process.mainModule.constructor._load", "process.getBuiltinModule",
            "module.createRequire()", "Module.createRequire()", "createRequire()",
            "module.default.createRequire()", "require.main.require"),
    **_each(_run_worker, "Worker", "SharedWorker", "worker_threads.Worker"),
    **_each(_load_script, "$.getScript", "jQuery.getScript", "navigator.serviceWorker.register"),
    **_each(_load_wasm, "WebAssembly.instantiate", "WebAssembly.instantiateStreaming",
            "WebAssembly.compile", "WebAssembly.compileStreaming", "WebAssembly.Module"),
    "document.createElement": web.create_element,
    **_each(web.write_page, "document.write", "document.writeln"),
    **_each(_run_template, "$", "$.sync", *_of(_CHILD, "$")),
    **_each(_spawn_directly, "process.binding().spawn", "process._linkedBinding().spawn"),
    **_each(indirect.call_with_list, "Reflect.apply", "Reflect.construct"),
    "Deno.env.toObject": _environment,
    "Reflect.get": indirect.get_entry,
    "Proxy": indirect.same_function,
    **_each(_promisify, "util.promisify", "promisify", "pify"),
    **_each(_home, "os.homedir", "homedir", "Deno.env.home"),
    **_each(texts.join_path, "path.join", "path.resolve", "path.posix.join", "path.win32.join"),
    **_each(texts.same_argument, "String", "path.normalize", "Promise.resolve", "URL",
            "Array.from", "Buffer",
            "Promise.all", "Object.freeze", "encodeURIComponent", "encodeURI", "Uint8Array"),
    **_each(texts.write_out, "JSON.stringify", "console.log", "util.inspect",
            "querystring.stringify", "URLSearchParams",
            "btoa", "qs.stringify"),
    **_each(_all_of, "Object.keys", "Object.entries", "Object.values", "Object.assign",
            "structuredClone"),
    **_each(_variable, "Deno.env.get", "process.env.get"),
    **_each(decoding.decoding(decoding.base_64), "atob", "window.atob", "globalThis.atob",
            "base64.decode"),
    **_each(decoding.decoding(decoding.percent), "unescape", "decodeURIComponent", "decodeURI"),
    **_each(decoding.decoding(decoding.inflate), "zlib.inflateSync", "zlib.gunzipSync",
            "zlib.unzipSync", "pako.inflate"),
    **_each(decoding.opaque, "zlib.brotliDecompressSync", "zlib.inflateRawSync",
            "CryptoJS.AES.decrypt"),
    **_each(decoding.decode_by_name, "Buffer.from", "Buffer"),
    **_each(decoding.characters, "String.fromCharCode", "String.fromCodePoint"),
    **_each(files.read_argument, *_of(_FS, "readFile", "readFileSync", "createReadStream",
            "readJson", "readJsonSync"),
            "Deno.readTextFile", "Deno.readTextFileSync", "Deno.readFile", "Bun.file",
            "better-sqlite3"),
    **_each(files.write_argument, *_of(_FS, "writeFile", "writeFileSync", "appendFile",
            "appendFileSync",
            "createWriteStream", "outputFile", "outputFileSync"), "Deno.writeTextFile",
            "Deno.writeFile", "Bun.write"),
    **_each(files.copy_file, *_of(_FS, "copyFile", "copyFileSync", "cp", "cpSync", "rename",
            "renameSync", "copy",
            "copySync", "symlinkSync", "symlink")),
    **_each(files.list_folder, *_of(_FS, "readdir", "readdirSync"), "glob", "glob.sync",
            "glob.globSync", "fast-glob",
            "fast-glob.sync", "globby"),
    **_each(files.delete, *_of(_FS, "rm", "rmSync", "rmdir", "rmdirSync", "unlink", "unlinkSync",
            "remove", "removeSync",
            "emptyDirSync"), "rimraf", "rimraf.sync", "del"),
    **_each(secret_store(SecretKind.KEYCHAIN, TaintSource.PART), "keytar.getPassword"),
    **_each(secret_store(SecretKind.KEYCHAIN, TaintSource.SECRET), "keytar.findCredentials"),
    **_each(
        secret_store(SecretKind.BROWSER, TaintSource.SECRET), "chrome-cookies-secure.getCookies"
    ),
}  # fmt: skip

JAVASCRIPT_METHODS: dict[str, Handler] = {
    **_each(network.unknown_client, "post", "put", "patch"),
    **_each(network.send_on_connection, "send", "sendText"),
    **_each(web.write, "write", "end"),
    "doShellScript": commands.run_shell,
    "pipe": web.pipe,
    "connect": web.connect_socket,
    "open": web.open_old_request,
    **_each(network.bind_address, "listen"),
    **_each(network.upload, "upload", "putObject", "sendMail"),
    **_each(texts.same_receiver, "toString", "trim", "trimEnd", "toLowerCase", "flat", "slice",
            "filter", "sort"),
    "join": texts.join,
    **_each(texts.replace, "replace", "replaceAll"),
    "concat": texts.join_texts,
    "split": texts.split,
    "reverse": texts.reverse,
    "map": texts.map_items,
    "get": texts.entry,
    "constructor": _construct,
    **_each(indirect.call_method, "call", "apply", "bind"),
    "_compile": indirect.run_if_foreign,
    **_each(web.set_listener, "onmessage=", "ondata=", "onload="),
    "src=": web.set_source,
    **_each(web.set_markup, "innerHTML=", "outerHTML=", "srcdoc=", "textContent=", "text=",
            "innerText="),
    **_each(web.add_markup, "insertAdjacentHTML", "createContextualFragment", "parseFromString"),
    "setAttribute": web.set_attribute,
}  # fmt: skip

_ENVIRONMENT = Value(name="process.env", taints=frozenset({Taint(TaintSource.ALL_ENV)}))
JAVASCRIPT_CONSTANTS: dict[str, Value] = {
    "process.env": _ENVIRONMENT,
    "document.cookie": Value(taints=frozenset({Taint(TaintSource.SECRET, "cookies of the page")})),
    "Bun.env": _ENVIRONMENT,
    "process.execPath": Value(text="node"),
    "process.argv0": Value(text="node"),
    "path.sep": Value(text="/"),
    "os.EOL": Value(text="\n"),
    "undefined": UNKNOWN,
}
