"""Requests and connections in ways specific to JavaScript."""

import ast
import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import VOUCHED_FOR, classify_host
from vskill_platform.scan.languages.flow import commands, files, network, own_code
from vskill_platform.scan.languages.flow.network import LibraryRequest
from vskill_platform.scan.languages.flow.state import Call, Flow, Function, Handler
from vskill_platform.scan.languages.flow.values import (
    HOLE,
    UNKNOWN,
    Taint,
    TaintSource,
    Value,
    tainted,
)

_SOCKET = Taint(TaintSource.SOCKET)
_PROCESS = "child process"
_SCRIPT = "script element"
_MAX_MARKUP = 20_000
_SCRIPT_TAG = re.compile(
    r"<(?:script|embed|object)\b[^>]{0,200}?\b(?:src|data)\s?=\s?[\"'\\]{0,2}"
    r"(https?://[^\s\"'<>\\]{3,300})",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"\bon[a-z]{3,20}\s?=\s?(?:\"([^\"]{4,2000})\"|'([^']{4,2000})')", re.IGNORECASE
)


def fetch(flow: Flow, call: Call) -> Value | None:
    """Fetch as in browsers: a URL, then {method, headers, body}."""
    url, fields = call.arg(0), call.arg(1).fields
    if url.fields and "url" in url.fields:  # a prepared Request
        fields, url = url.fields, url.fields["url"]
    fields = fields or {}
    body = fields.get("body", fields.get("data", fields.get("json", UNKNOWN)))
    head = fields.get("headers", UNKNOWN if fields else call.arg(1))
    request = LibraryRequest(
        line=call.line, url=url, method=fields.get("method", UNKNOWN).text or "GET",
        body=body.taints, head=head.taints, has_body=body is not UNKNOWN,
    )  # fmt: skip
    return network.record(flow, request)


def prepare(_flow: Flow, call: Call) -> Value | None:
    """A new Request(url, {...}), not yet sent."""
    return Value(fields={"url": call.arg(0), **(call.arg(1).fields or {})}, taints=call.taints())


def client(verb: str) -> Handler:
    """axios.get(url, settings), axios.post(url, data, settings), got.post(url, settings)."""

    def handle(flow: Flow, call: Call) -> Value | None:
        has_data = verb != "GET" and call.name.startswith(
            ("axios", "request", "needle", "superagent")
        )
        settings = (call.arg(2 if has_data else 1).fields) or {}
        base = (call.receiver.fields or {}).get("baseURL", UNKNOWN)
        url = call.arg(0)
        if base.text and not network.find_hosts(url):
            url = Value(text=base.text, taints=url.taints)
        bodies = call.args[1:2] if has_data else []
        bodies += [settings[key] for key in ("json", "body", "form", "data") if key in settings]
        query = settings.get("params", settings.get("searchParams", UNKNOWN))
        request = LibraryRequest(
            line=call.line, url=url, method=verb, body=tainted(*bodies, query),
            head=settings.get("headers", UNKNOWN).taints | call.receiver.taints,
            has_body=bool(bodies),
        )  # fmt: skip
        return network.record(flow, request)

    return handle


def configured(flow: Flow, call: Call) -> Value | None:
    """axios({method, url, data, headers}), request({...})."""
    fields = call.arg(0).fields
    if fields is None:
        return fetch(flow, call)
    body = fields.get("data", fields.get("body", fields.get("json", UNKNOWN)))
    request = LibraryRequest(
        line=call.line, url=fields.get("url", fields.get("uri", UNKNOWN)),
        method=fields.get("method", UNKNOWN).text or "GET",
        body=tainted(body, fields.get("params", UNKNOWN)),
        head=fields.get("headers", UNKNOWN).taints, has_body=body is not UNKNOWN,
    )  # fmt: skip
    return network.record(flow, request)


def create_client(_flow: Flow, call: Call) -> Value | None:
    """axios.create({baseURL, headers})."""
    return Value(name="axios", fields=call.arg(0).fields, taints=call.arg(0).taints)


def open_request(flow: Flow, call: Call) -> Value | None:
    """https.request(url or settings, callback): write and end send the data later."""
    fields = next((arg.fields for arg in call.args if arg.fields), None) or {}
    url = call.arg(0) if call.arg(0).text else UNKNOWN
    host = fields.get("hostname", fields.get("host", UNKNOWN))
    hosts = network.find_hosts(url) or network.bare_host(host)
    request = LibraryRequest(
        line=call.line, url=fields.get("path", UNKNOWN) if not url.text else url,
        method=fields.get("method", UNKNOWN).text or "GET",
        head=fields.get("headers", UNKNOWN).taints,
    )  # fmt: skip
    answer = network.record(flow, request, hosts)
    return Value(name="connection()", text=url.text or host.text, taints=answer.taints)


def connect_socket(flow: Flow, call: Call) -> Value | None:
    """net.connect(port, host), new net.Socket().connect(port, host)."""
    if call.method == "connect" and not call.receiver.name.startswith(("net", "tls")):
        return None
    fields = call.arg(0).fields or {}
    host = fields.get(
        "host", next((arg for arg in call.args if arg.text and arg.number is None), UNKNOWN)
    )
    taints = {_SOCKET} | {
        Taint(TaintSource.REMOTE, "socket", name) for name in network.or_none(network.host_of(host))
    }
    made = Value(name="connection()", text=host.text, taints=frozenset(taints))
    func = call.node.func
    if (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and "()" in call.receiver.name
    ):
        flow.bind(func.value.id, made, outward=True)
    return made


def open_web_socket(_flow: Flow, call: Call) -> Value | None:
    url = call.arg(0)
    taints = {Taint(TaintSource.REMOTE, host=host) for host in network.find_hosts(url)}
    return Value(name="connection()", text=url.text, taints=frozenset(taints))


def open_old_request(flow: Flow, call: Call) -> Value | None:
    """XMLHttpRequest: open(method, url), then send(body)."""
    if not call.receiver.name.startswith("XMLHttpRequest()"):
        return files.open_path(flow, call)
    method, url = call.arg(0), call.arg(1)
    request = LibraryRequest(line=call.line, url=url, method=method.text or "GET")
    answer = network.record(flow, request)
    func = call.node.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        made = Value(name="connection()", text=url.text, taints=answer.taints)
        flow.bind(func.value.id, made, outward=True)
    return UNKNOWN


def beacon(flow: Flow, call: Call) -> Value | None:
    request = LibraryRequest(
        line=call.line, url=call.arg(0), body=call.arg(1).taints, has_body=True
    )
    return network.record(flow, request)


def create_element(_flow: Flow, call: Call) -> Value | None:
    """document.createElement('script'): content that is set on it later is run."""
    tag = (call.arg(0).text or "").lower()
    return Value(name=_SCRIPT if tag == "script" else "document.createElement()")


def run_unknown_hosts(flow: Flow, line: int, url: Value) -> None:
    """Record that code from a URL is run, unless the host is trusted."""
    for host in network.find_hosts(url):
        if classify_host(host) not in VOUCHED_FOR:
            flow.add(Act.RUN_REMOTE, line, host=host)


def write_page(flow: Flow, call: Call) -> Value | None:
    """document.write(markup)."""
    for value in call.args:
        _read_markup(flow, call.line, value)
    return UNKNOWN


def set_markup(flow: Flow, call: Call) -> Value | None:
    """element.innerHTML = markup, script.textContent = code."""
    if call.receiver.name == _SCRIPT:
        own_code.run_tainted(flow, call.line, call.arg(0))
    elif call.method not in {"textContent", "text", "innerText"}:
        _read_markup(flow, call.line, call.arg(0))
    return None


def add_markup(flow: Flow, call: Call) -> Value | None:
    """element.insertAdjacentHTML(place, markup)."""
    for value in call.args:
        _read_markup(flow, call.line, value)
    return None


def set_attribute(flow: Flow, call: Call) -> Value | None:
    """element.setAttribute('src', url), element.setAttribute('onclick', code)."""
    name, value = (call.arg(0).text or "").lower(), call.arg(1)
    if name == "src" and call.receiver.name == _SCRIPT:
        run_unknown_hosts(flow, call.line, value)
    elif name.startswith("on"):
        own_code.run_tainted(flow, call.line, value)
    elif name == "srcdoc":
        _read_markup(flow, call.line, value)
    return None


def _read_markup(flow: Flow, line: int, markup: Value) -> None:
    text = (markup.text or "")[:_MAX_MARKUP]
    if "<" not in text:
        return
    for found in _SCRIPT_TAG.finditer(text):
        run_unknown_hosts(flow, line, Value(text=found[1]))
    for found in _EVENT.finditer(text):
        flow.add_all(flow.language.read(found[1] or found[2]), line)


def set_source(flow: Flow, call: Call) -> Value | None:
    """image.src = 'https://…' + data: a request in disguise."""
    url = call.arg(0)
    if call.receiver.name == _SCRIPT:
        run_unknown_hosts(flow, call.line, url)
    if url.text and HOLE in url.text and network.find_hosts(url) and call.arg(0).taints:
        network.record(flow, LibraryRequest(line=call.line, url=url))
    return None


def set_listener(flow: Flow, call: Call) -> Value | None:
    """socket.onmessage = function: called with the received data."""
    function = call.arg(0).function
    if isinstance(function, Function) and call.receiver.taints:
        for param in function.params:
            function.give(param, Value(taints=call.receiver.taints))
        flow.result_of(function)
    return None


def write(flow: Flow, call: Call) -> Value | None:
    """request.write(data), request.end(data), file.write(data)."""
    if call.receiver.name == "file":
        return files.write_receiver(flow, call)
    if call.args and call.receiver.name.startswith("connection()"):
        return network.send_on_connection(flow, call)
    return None


def pipe(flow: Flow, call: Call) -> Value | None:
    """One stream into another: a download into a file, a connection into a shell."""
    source, goal = call.receiver, call.arg(0)
    ends = (source, goal)
    has_process = any(end.name.startswith(_PROCESS) for end in ends)
    socket = next((end for end in ends if _SOCKET in end.taints), None)
    if has_process and socket is not None:
        host = next(iter(network.host_of(socket)), None)
        flow.add(Act.REVERSE_SHELL, call.line, host=host, detail="a process connected to a socket")
    if goal.name.startswith(commands.INTERPRETER) and socket is None:
        own_code.run_tainted(flow, call.line, source)
    if goal.name == "file":
        files.keep(flow, goal, source.taints)
    elif goal.name.startswith("connection()"):
        request = LibraryRequest(line=call.line, url=UNKNOWN, body=source.taints, has_body=True)
        network.record(flow, request, network.host_of(goal))
    return goal.having(source.taints)
