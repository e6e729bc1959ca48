"""Commands that fetch and send over HTTP: curl, wget and similar."""

import re

import msgspec

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.sensitive_paths import SecretKind, without_query
from vskill_platform.scan.languages.shell.options import Options, read_options
from vskill_platform.scan.languages.shell.sending import (
    NOWHERE,
    host_of,
    is_address,
    is_anonymous,
    send,
)
from vskill_platform.scan.languages.shell.state import Command, Host, Origin, State, secret_at
from vskill_platform.scan.languages.shell.writing import note_place

_CURL_LETTERS = "AbcCdDeEFHKmoPQrTtuUwxXyYzZ"
_CURL_NAMES = frozenset(
    {
        "data", "data-raw", "data-ascii", "data-binary", "data-urlencode", "json", "form",
        "form-string", "upload-file", "output", "output-dir", "header", "request", "user",
        "user-agent", "url", "url-query", "cookie", "cookie-jar", "max-time", "connect-timeout",
        "retry", "retry-delay", "retry-max-time", "proxy", "cacert", "capath", "cert", "key",
        "referer", "write-out", "resolve", "connect-to", "config", "range", "interface",
        "limit-rate", "max-redirs", "max-filesize", "ciphers", "proto", "proto-redir",
        "oauth2-bearer", "proxy-user", "stderr", "trace", "trace-ascii", "unix-socket",
        "continue-at", "speed-limit", "speed-time", "dump-header", "netrc-file",
    }
)  # fmt: skip
_CURL_DATA = (
    "d", "data", "data-raw", "data-ascii", "data-binary", "data-urlencode", "json", "F", "form",
    "form-string", "url-query",
)  # fmt: skip
_CURL_EXTRAS = (
    "H", "header", "u", "user", "oauth2-bearer", "b", "cookie", "A", "user-agent", "e", "referer",
)  # fmt: skip
_WGET_LETTERS = "OoPaitTwQUeDIXARlB"
_WGET_NAMES = frozenset(
    {
        "post-data", "post-file", "body-data", "body-file", "method", "output-document",
        "directory-prefix", "header", "user-agent", "user", "password", "output-file",
        "input-file", "tries", "timeout", "wait", "referer", "ca-certificate", "load-cookies",
        "execute", "domains", "level", "accept", "reject",
    }
)  # fmt: skip
_SENDING = frozenset({"POST", "PUT", "PATCH"})
_AUTHORISES = re.compile(
    r"authorization|api[-_]?key|token|cookie|x-[\w-]*key|bearer", re.IGNORECASE
)
#: User and host names in a URL: such a request only seems to fetch.
_WHO = re.compile(r"[?&=/]\$\{?(?:USER|LOGNAME|HOSTNAME|HOST)\b")
#: Secrets in which one line is the user's own key to the requested service.
_OWN_KEYS = frozenset(
    {
        SecretKind.ENV_FILE,
        SecretKind.TOKENS,
        SecretKind.SKILL,
        SecretKind.AGENT,
        SecretKind.KEYCHAIN,
        SecretKind.KEYCHAIN_ENTRY,
        SecretKind.CLOUD,
    }
)
#: Secrets that are often a file with a single key.
_ONE_TOKEN = frozenset({SecretKind.TOKENS, SecretKind.SKILL, SecretKind.AGENT})


_URLS = re.compile(r"https?://[^\s\"']{3,500}")


class CommandRequest(msgspec.Struct):
    urls: list[str]
    data: list[str] = []
    files: list[str] = []
    #: Headers and similar.
    extras: list[str] = []
    sends: bool = False
    #: The destination of the response: a path, "" for the name in the URL, None for standard
    #: output.
    output: str | None = None
    folder: str = ""


def run_curl(state: State, command: Command) -> str:
    options = read_options(command.args, _CURL_LETTERS, _CURL_NAMES)
    _run_settings(state, command, options)
    urls = [state.plain(url) for url in (*options.rest, *options.values("url"))]
    urls += _addresses_in(state, options.values("K", "config"))
    method = (options.first("X", "request") or "").upper()
    sends = method in _SENDING or options.has(*_CURL_DATA, "T", "upload-file")
    request = CommandRequest(urls, extras=options.values(*_CURL_EXTRAS))
    request.sends = sends and not options.has("G", "get") and method not in {"GET", "HEAD"}
    _take_data(request, options, command)
    request.output = "" if options.has("O", "remote-name", "remote-name-all", "J") else None
    request.output = options.first("o", "output") or request.output
    request.folder = options.first("output-dir") or ""
    return _perform(state, command, request)


def _run_settings(state: State, command: Command, options: Options) -> None:
    """Record downloaded settings, which decide what curl sends and which files it overwrites."""
    for path in options.values("K", "config"):
        given = command.stdin if path == "-" else state.recall(path) or path
        state.emit_all(Act.RUN_REMOTE, state.flow(given).hosts, "settings of curl")


def _addresses_in(state: State, paths: list[str]) -> list[str]:
    """Return the addresses in files that the command names, or an unknown address."""
    texts = [state.recall(path) for path in paths if path != "-"]
    known = [url for text in texts if text for url in _URLS.findall(text)[:8]]
    return known or [state.mark(Origin(hosts=(NOWHERE,))) for text in texts[:1] if text is None]


def _take_data(request: CommandRequest, options: Options, command: Command) -> None:
    for value in options.values(*_CURL_DATA):
        name, at, path = value.partition("@")
        is_file = at and (not name or name.endswith("=") or re.fullmatch(r"[\w.-]{1,40}", name))
        if is_file:
            path = path.partition(";")[0].strip("\"'")
            request.data.append(command.stdin) if path == "-" else request.files.append(path)
        elif re.match(r"[\w.-]{1,40}=<", value):
            request.files.append(value.partition("<")[2])
        else:
            request.data.append(value)
    for path in options.values("T", "upload-file"):
        request.data.append(command.stdin) if path in {"-", "."} else request.files.append(path)


def run_wget(state: State, command: Command) -> str:
    options = read_options(command.args, _WGET_LETTERS, _WGET_NAMES)
    method = (options.first("method") or "").upper()
    request = CommandRequest(
        [state.plain(url) for url in options.rest], extras=options.values("header"), output=""
    )
    request.urls += _addresses_in(state, options.values("i", "input-file"))
    request.data = options.values("post-data", "body-data")
    request.files = options.values("post-file", "body-file")
    request.sends = bool(request.data or request.files or method in _SENDING)
    request.folder = options.first("P", "directory-prefix") or ""
    output = options.first("O", "output-document")
    request.output = output if output is not None else ""
    if request.output in {"-", "/dev/stdout"}:
        request.output = None
    return _perform(state, command, request)


def run_fetcher(state: State, command: Command) -> str:
    """aria2c, BSD fetch, lynx, httpie and others that take a URL."""
    options = read_options(command.args, "odO", frozenset({"out", "dir", "output"}))
    given = command.args if command.name in _BROWSERS else options.rest
    urls = [state.plain(arg) for arg in given if is_address(state.plain(arg))]
    if not any("://" in url or "." in url for url in urls):
        return state.derive(command.stdin, *command.args)
    is_http = command.name in {"http", "xh"}
    output: str | None = "" if command.name in {"aria2c", "fetch", "lwp-download"} else None
    if command.name not in _BROWSERS:
        output = options.first("o", "out", "O", "output") or output
    request = CommandRequest(urls[:1] if is_http else urls, output=output)
    if is_http:
        items = [arg for arg in options.rest if arg not in urls]
        request.sends = bool(_SENDING & set(options.rest)) or bool(command.stdin)
        request.data = [*items, command.stdin]
        request.files = [arg.partition("@")[2] for arg in items if "@" in arg]
    if request.output == "-":
        request.output = None
    return _perform(state, command, request)


def _perform(state: State, command: Command, request: CommandRequest) -> str:
    """Record the effects of a request; return the response, or nothing if it goes to a file."""
    if not request.urls and not command.stdin:
        return ""  # a mention of the program, not a call
    hosts = [host_of(state, url) for url in request.urls if is_address(url) or state.has_mark(url)]
    hosts = list(dict.fromkeys(hosts)) or [NOWHERE]
    if any(state.flow(arg).is_decoded for arg in command.args):
        state.emit_all(Act.HIDE, hosts, "encoded address")
    for url in request.urls:
        if (secret := secret_at(without_query(url))) == SecretKind.METADATA:
            state.emit(Act.READ_SECRET, str(secret), hosts[0])
    _send(state, hosts, request)
    answer = state.mark(Origin(hosts=tuple(hosts), secrets=_metadata(request)))
    if request.output in {None, "-", "/dev/stdout"}:
        if not request.sends:
            state.emit_all(Act.FETCH, hosts)
        return answer
    path = _output_path(request)
    if not request.sends:
        state.emit_all(Act.FETCH, hosts, path if not state.has_mark(path) else "")
    if path != "/dev/null":
        note_place(state, path, answer)
        state.remember(path, answer)
    return ""


def _metadata(request: CommandRequest) -> frozenset[str]:
    is_metadata = any(secret_at(without_query(url)) == SecretKind.METADATA for url in request.urls)
    return frozenset({str(SecretKind.METADATA)}) if is_metadata else frozenset()


def _output_path(request: CommandRequest) -> str:
    path = request.output or ""
    if not path and request.urls:
        path = request.urls[0].split("?")[0].rstrip("/").rpartition("/")[2]
    return f"{request.folder.rstrip('/')}/{path}" if request.folder else path


def _send(state: State, hosts: list[Host], request: CommandRequest) -> None:
    contents = [state.content(path) for path in request.files]
    extras = [
        state.derive(extra, private=frozenset())
        if state.flow(extra).private and not any(map(is_anonymous, hosts))
        else extra
        for extra in request.extras
        if not _is_own_key(state, hosts, extra)
    ]
    named = [state.flow(extra).names for extra in request.extras]
    names = [state.mark(Origin(names=some)) for some in named if some]
    urls = [url for url in request.urls if not (state.is_mark(url) and state.flow(url).is_picked)]
    is_asked = request.sends or any(_WHO.search(url) for url in request.urls)
    send(state, hosts, "http", *contents, *request.data, *extras, *names, *urls, is_asked=is_asked)


def _is_own_key(state: State, hosts: list[Host], extra: str) -> bool:
    """Return whether a header contains a service's own key and sends no secret elsewhere."""
    flow = state.flow(extra)
    if not flow.secrets or len(flow.names) > 1 or any(is_anonymous(host) for host in hosts):
        return False
    is_one = flow.is_picked or flow.secrets <= _ONE_TOKEN
    return is_one and flow.secrets <= _OWN_KEYS and bool(_AUTHORISES.search(extra))


#: Programs with long options that start with one hyphen.
_BROWSERS = frozenset({"lynx", "w3m", "links", "elinks"})
_FETCHERS = (
    "aria2c", "fetch", "http", "xh", "lwp-request", "lwp-download", "GET", "ftp", "tnftp", "wcurl",
    "nscurl", *sorted(_BROWSERS),
)  # fmt: skip
FETCHERS = {
    "curl": run_curl,
    "curlie": run_curl,
    "wget": run_wget,
    "wget2": run_wget,
    **dict.fromkeys(_FETCHERS, run_fetcher),
}
