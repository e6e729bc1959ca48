"""Requests and connections of a program, and their hosts."""

import ast
import re

import msgspec

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import (
    VOUCHED_FOR,
    HostClass,
    classify_host,
    hosts_in,
    is_internal,
)
from vskill_platform.scan.facts.sensitive_paths import (
    INTERNAL_ANSWER,
    SecretKind,
    secret_in,
    without_query,
)
from vskill_platform.scan.languages.flow.secrets import report_leak
from vskill_platform.scan.languages.flow.state import Call, Flow, Handler
from vskill_platform.scan.languages.flow.values import (
    HOLE,
    MAX_NAME,
    NO_TAINTS,
    UNKNOWN,
    Taint,
    Taints,
    TaintSource,
    Value,
    options,
    tainted,
)

_ANY = "any-0"
_MAX_HOSTS = 4
_HOST = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9.:\]-]{0,252}\Z")
_QUERY = re.compile(r"[?&=][^ ]{0,500}" + HOLE)
#: Headers in which a client identifies itself.
_HEAD = ("headers", "auth", "cookies", "cert", "proxies", "verify", "timeout")
_BODY = (
    "json",
    "data",
    "files",
    "content",
    "body",
    "form",
    "formData",
    "multipart",
    "payload",
    "text",
)
_SENDING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
#: Method names that mean a request if the receiver is unknown.
_LIKE_A_CLIENT = re.compile(
    r"(?:requests?|http|https|httpx|axios|got|session|client|api|fetch|superagent|ky|needle)\w*(?:\(\)|\[\])?\Z",
    re.IGNORECASE,
)  # fmt: skip


class LibraryRequest(msgspec.Struct):
    """One request with any library."""

    line: int
    url: Value
    method: str = "GET"
    body: Taints = NO_TAINTS
    head: Taints = NO_TAINTS
    has_body: bool = False


def find_hosts(url: Value) -> list[str]:
    """Return the hosts that a URL may point to."""
    if not url.text:
        return []
    found: list[str] = []
    for text in options(url.text[:20_000]):
        for host in hosts_in(text.replace(HOLE, _ANY))[:1]:
            known = host.removesuffix(_ANY)  # text after a complete host is its path
            is_open = known.endswith((".", "-")) or known.replace(_ANY, "").strip(".") == ""
            if not is_open and ("." in known or known == host) and known not in found:
                found.append(known)
    return found[:_MAX_HOSTS]


def or_none(hosts: list[str]) -> list[str | None]:
    """Return the hosts, or one unknown host."""
    return list(hosts) or [None]


def bare_host(value: Value) -> list[str]:
    """Return a host without a scheme."""
    texts = options(value.text) if value.text else []
    return [text.lower() for text in texts if HOLE not in text and _HOST.match(text)][:_MAX_HOSTS]


def record(flow: Flow, request: LibraryRequest, hosts: list[str] | None = None) -> Value:
    """Record a request and return what is known about its response."""
    hosts = find_hosts(request.url) if hosts is None else hosts
    is_sent = request.method.upper() in _SENDING or request.has_body
    in_query = bool(request.url.text and _QUERY.search(request.url.text))
    body = request.body | request.url.taints
    taints: set[Taint] = set()
    for host in or_none(hosts):
        if is_sent or in_query:
            flow.add(Act.SEND, request.line, host=host)
        if not is_sent:
            flow.add(Act.FETCH, request.line, host=host)
        report_leak(flow, request.line, host, body, request.head)
        if host and _has_internal_answer(body) and classify_host(host) not in VOUCHED_FOR:
            flow.add(Act.READ_SECRET, request.line, host=host, detail=INTERNAL_ANSWER)
        taints.add(Taint(TaintSource.REMOTE, host=host))
    if request.url.text and secret_in(without_query(request.url.text)) is SecretKind.METADATA:
        flow.add(Act.READ_SECRET, request.line, detail=SecretKind.METADATA)
        taints.add(Taint(TaintSource.SECRET, SecretKind.METADATA))
    return Value(name="response", taints=frozenset(taints))


def _has_internal_answer(body: Taints) -> bool:
    return any(taint.host and is_internal(taint.host) for taint in body)


def _from(flow: Flow, call: Call, method: str, url: Value, rest: list[Value]) -> Value:
    named = call.named
    bodies = [named[key] for key in _BODY if key in named] + rest
    query = [named[key] for key in ("params", "query") if key in named]
    head = [named[key] for key in _HEAD if key in named] + [call.receiver]
    base = (call.receiver.fields or {}).get("base_url", UNKNOWN)
    if not find_hosts(url) and base.text:
        url = Value(text=base.text, taints=url.taints)
    request = LibraryRequest(
        line=call.line, url=url, method=method, body=tainted(*bodies, *query),
        head=tainted(*head), has_body=bool(bodies),
    )  # fmt: skip
    answer = record(flow, request)
    if any(not value.text for value in query) and not bodies:
        for host in or_none(find_hosts(url)):
            # A paste site stores only what is posted; secrets in the query are reported above.
            if host is None or classify_host(host) is not HostClass.PASTE:
                flow.add(Act.SEND, call.line, host=host)
    return answer


def client_call(method: str) -> Handler:
    """Return the handler of requests.get and similar, with the URL as the first argument."""

    def handle(flow: Flow, call: Call) -> Value | None:
        url = call.arg(0, "url", "uri", "fullurl")
        if method != "REQUEST":
            return _from(flow, call, method, url, call.args[1:2] if method != "GET" else [])
        return _from(flow, call, url.text or "GET", call.arg(1, "url"), [])

    return handle


def unknown_client(flow: Flow, call: Call) -> Value | None:
    """session.post(...) with an unknown session: accepted if it looks like a request."""
    url = call.arg(0, "url", "uri")
    has_url = bool(find_hosts(url)) or (url.text or "").startswith(("http", "/"))
    is_client = _LIKE_A_CLIENT.search(call.receiver.name) or _names_client(call)
    if not has_url and not (is_client and set(_BODY) & set(call.named)):
        return None
    if not is_client and not find_hosts(url):
        return None
    method = "POST" if call.method in {"post", "put", "patch"} else "GET"
    rest = call.args[1:2] if method == "POST" else []
    return _from(flow, call, method, url, rest)


def _names_client(call: Call) -> bool:
    func = call.node.func
    owner = func.value if isinstance(func, ast.Attribute) else None
    last = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return bool(_LIKE_A_CLIENT.search(last))


def make_client(_flow: Flow, call: Call) -> Value | None:
    """httpx.Client(base_url=..., headers=...): later used like the library itself."""
    name = f"{call.name}()"[:MAX_NAME]
    return Value(name=name, fields=call.named or None, taints=call.taints())


def open_url(flow: Flow, call: Call) -> Value | None:
    """urllib: a URL or a prepared request, with data if something is sent."""
    url = call.arg(0, "url", "fullurl")
    data = call.arg(1, "data")
    fields = url.fields or {}
    data = fields.get("data", data)
    method = (fields.get("method", call.named.get("method", UNKNOWN))).text or "GET"
    has_body = data is not UNKNOWN
    request = LibraryRequest(
        line=call.line, url=fields.get("url", url), method=method, body=data.taints,
        head=fields.get("headers", call.named.get("headers", UNKNOWN)).taints, has_body=has_body,
    )  # fmt: skip
    return record(flow, request)


def prepare_request(_flow: Flow, call: Call) -> Value | None:
    """urllib.request.Request: nothing is sent yet."""
    fields = {"url": call.arg(0, "url")}
    for place, key in ((1, "data"), (2, "headers"), (9, "method")):
        value = call.arg(place, key)
        if value is not UNKNOWN:
            fields[key] = value
    return Value(name="urllib.request.Request()", fields=fields, text=fields["url"].text)


def connection(_flow: Flow, call: Call) -> Value | None:
    """A connection that is opened now and used later; its text is the host."""
    host = call.arg(0, "host", "url", "uri")
    first = host.items[0] if host.items else host
    return Value(
        name="connection()", text=first.text, taints=frozenset({Taint(TaintSource.SOCKET)})
    )


def host_of(value: Value) -> list[str]:
    return find_hosts(value) or bare_host(value)


def send_on_connection(flow: Flow, call: Call) -> Value | None:
    """connection.request('POST', path, body) and connection.send(data), sendmail, storbinary."""
    if not call.receiver.name.startswith(("connection()", "socket.socket()")):
        return None
    first = (call.arg(0).text or "").upper()
    hosts = _mailed_to(call) if "mail" in call.method else host_of(call.receiver)
    if call.method == "request":
        body = call.args[2:3] + [call.named[key] for key in ("body",) if key in call.named]
        head = tainted(*call.args[3:], call.named.get("headers", UNKNOWN))
        sent = LibraryRequest(
            line=call.line, url=call.arg(1, "url"), method=first, body=tainted(*body), head=head,
            has_body=bool(body),
        )  # fmt: skip
        return record(flow, sent, hosts)
    sent = LibraryRequest(
        line=call.line, url=UNKNOWN, body=tainted(*call.args, *call.named.values()), has_body=True
    )
    return record(flow, sent, hosts)


def _mailed_to(call: Call) -> list[str]:
    """Return the recipients of an email, for which the server is only the first hop."""
    to = call.arg(1, "to_addrs")
    texts = [item.text or "" for item in (to.items or (to,))]
    found = [text.rpartition("@")[2].strip("> ").lower() for text in texts if "@" in text]
    known = [host for host in found if HOLE not in host and _HOST.match(host)]
    far = [host for host in host_of(call.receiver) if classify_host(host) is not HostClass.LOCAL]
    return (known or far)[:_MAX_HOSTS]


def receive(_flow: Flow, call: Call) -> Value | None:
    """Data received on a connection."""
    if not call.receiver.name.startswith(("connection()", "socket.socket()")):
        return None
    hosts = host_of(call.receiver)
    taints = {Taint(TaintSource.REMOTE, "socket", host) for host in or_none(hosts)}
    return Value(name="response", taints=frozenset(taints))


def connect(flow: Flow, call: Call) -> Value | None:
    """socket.connect((host, port)): the host is stored with the socket's name."""
    if not call.receiver.name.startswith(("socket.socket()", "connection()")):
        return None
    address = call.arg(0)
    host = address.items[0] if address.items else address
    func = call.node.func
    made = Value(
        name="socket.socket()", text=host.text, taints=frozenset({Taint(TaintSource.SOCKET)})
    )
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        flow.bind(func.value.id, made, outward=True)
    elif call.receiver.name:
        flow.set_dotted(call.receiver.name, made)
    return made


def look_up(flow: Flow, call: Call) -> Value | None:
    """A DNS lookup; with data in the name, that is a way of sending."""
    text = call.arg(0).text
    is_filled = text is not None and (HOLE in text or text.startswith("."))  # "" or a value
    if text and is_filled and "." in text.rpartition(HOLE)[2]:
        host = text.replace(HOLE, _ANY).rpartition(_ANY)[2].strip(".").lower()
        flow.add(Act.SEND, call.line, host=host or None, detail="dns")
        report_leak(flow, call.line, host or None, call.arg(0).taints, NO_TAINTS)
    is_record = call.method in {"resolve", "query", "resolveTxt"}
    if is_record and text and HOLE not in text:  # a text record can contain anything
        return Value(taints=frozenset({Taint(TaintSource.REMOTE, host=text.lower())}))
    return UNKNOWN


def read_url(_flow: Flow, call: Call) -> Value | None:
    """Functions that read a path or a URL; data from a URL is not the program's own."""
    hosts = find_hosts(call.arg(0, "filepath_or_buffer", "path", "uri"))
    if not hosts:
        return None
    return Value(taints=frozenset(Taint(TaintSource.REMOTE, host=host) for host in hosts))


def download(_flow: Flow, _call: Call) -> Value | None:
    """Libraries that fetch from a source in their own settings."""
    return Value(name="response", taints=frozenset({Taint(TaintSource.REMOTE)}))


def load_url(flow: Flow, call: Call) -> Value | None:
    """Functions that run the content of a path or URL."""
    for host in find_hosts(call.arg(0, "filepath_or_buffer", "path")):
        flow.add(Act.RUN_REMOTE, call.line, host=host)
    return None


def bind_address(flow: Flow, call: Call) -> Value | None:
    """bind(('0.0.0.0', port)), run(host='0.0.0.0'), listen(port, '0.0.0.0')."""
    given = [*call.args, *call.named.values()]
    given += [item for value in given for item in (value.items or ())]
    given += [value for arg in call.args for value in (arg.fields or {}).values()]
    if any(value.text in {"0.0.0.0", "::"} for value in given):  # noqa: S104 - looked for
        flow.add(Act.LISTEN, call.line, detail="0.0.0.0")  # noqa: S104 - looked for
    return None


def upload(flow: Flow, call: Call) -> Value | None:
    """Libraries that send to a destination from their own settings."""
    taints = tainted(*call.args, *call.named.values())
    flow.add(Act.SEND, call.line, detail=call.method)
    report_leak(flow, call.line, None, taints, NO_TAINTS)
    return UNKNOWN
