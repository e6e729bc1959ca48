"""Follow values through a program in a language without a parser, line by line.

If a line assigns something fetched to a name, the name stands for it; the same applies to each line
that uses such a name. If a later line runs the name, the program runs what it fetched. Sockets,
files with fetched content and sensitive paths are followed in the same way.
"""

import re
from collections.abc import Iterator
from itertools import islice

import msgspec
import re2

from vskill_platform.scan.any_language.secrets_sent import COMPUTED_ADDRESS
from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import HostClass, classify_host, hosts_in
from vskill_platform.scan.facts.sensitive_paths import Sensitive, sensitive_place_in

_MAX_LINES, _MAX_LINE, _SHORTEST_PATH = 5_000, 2_000, 3
_STRING = re.compile(r"\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|`([^`\n]{1,300})`")
_WORD = re.compile(r"[$@]?[A-Za-z_]\w*")
#: The end of a statement; strings are skipped as a whole.
_SEPARATOR = re.compile(rf"{_STRING.pattern}|;")
#: The target of an assignment: everything before the sign, or after a word such as `set`.
_ASSIGNS = re.compile(r"(?<![=!<>~])(?::?=(?![=~>])|<-|\s\bto\b\s|\|>\s)")
_SET = re.compile(r"\b(?:set|open\s?\(\s?(?:my)?)\s+((?:-\w+\s+){0,3}[$@]?\w{1,40})")
_FETCHES = re.compile(
    r"(?i)\bget\w{0,12}\b|geturl|get_contents|url-retrieve|fetch|open\w{0,10}\s?\(|openstream"
    r"|download|request|\bread\w{0,10}\s?\(|"
    r"readtext|contentsof|\bhttp\w{1,6}\b|\bcopy\s?\(|\bcurl\b|\bwget\b|\.text\b|responsetext|httpc|url_?session|\bload\b|\bhttp\b"
)
_EVALUATES = re.compile(
    r"(?i)(?:\beval\w*\b|\bload(?:string|file)?\b|\binclude(?:_once)?\b|\brequire(?:_once)?\b"
    r"|\bsource\b|\bassert\b|"
    r"instance_eval|execute(?:global)?\b|\bexec\w*|invoke-expression|\bparse\b[^\n]{0,12}\beval\b)"
    r"(?=\s?[(]|\s{1,4}[$\"'\[]|\s{1,4}[\w.]{1,60}(?:\s?;?\s?$|\())"
)
#: Runs its argument as code: `include(Downloads.download(…))`, `evaluate(new URL(…).text)`.
_EVALUATES_CALL = re.compile(
    r"(?i)(?:(?<![\w.:])(?:eval|load(?:string)?|include|source|instance_eval|assert)"
    r"|[.:]eval(?:uate|_string)?)\s?\(|(?<![\w.:])eval\s+(?=[\w$(\[])"
)
#: Runs the text at its own location, without a name for it.
_EVALUATES_BUFFER = re.compile(r"\(eval-buffer\b|\(eval-region\b|\(load-file\b")
#: A pipe of awk that passes lines to a shell: `print line | "sh"`.
_GIVEN_TO_SHELL = re.compile(r"\bprintf?\b[^\n|]{0,80}\|\s{0,4}[\"'](?:ba|z|da)?sh\b")
_EVALUATES_AT_ONCE = re.compile(
    rf"{_EVALUATES_CALL.pattern}|{_EVALUATES_BUFFER.pattern}|{_GIVEN_TO_SHELL.pattern}"
)
_RUNS = re.compile(
    r"(?i)\b(?:system|popen\w*|proc_open|shell_exec|passthru|spawn\w*|exec\w*|execute|start\w{0,9}|run\w{0,3}|"
    r"callCommand|callProcess|readProcess|readCreateProcess|rawSystem|"
    r"do shell script|processbuilder|process\.\w{2,6}|command(?:::new)?|arguments|args)"
    r"(?=\s?[(\[{=]|\s{1,4}[$\"'])"
    r"|\^(?=\w)|\bKernel\.\w{4,6}"
)
_INTERPRETERS = frozenset(
    {
        "sh", "bash", "zsh", "dash", "python", "python3", "node", "perl", "ruby", "php", "lua",
        "cmd", "cmd.exe", "powershell", "pwsh", "chmod", "env", "nohup", "sudo", "open", "-c", "-e",
        "java", "-jar", "-File", "wscript", "cscript", "mshta", "rundll32", "/c",
    }
)  # fmt: skip
#: Words between a call and what it runs.
_FILLERS = frozenset(
    {
        "new", "URL", "URI", "String", "string", "to_string", "fileURLWithPath", "parse", "text",
        "paste", "Path", "File", "arg", "args", "Command", "c", "i", "input", "stdin",
        "ProcessStartInfo", "ProcessBuilder", "getResponseBody", "responseBody", "unpack", "B", "T",
        "body", "mkString", "toString", "trim", "decode", "utf8", "decodeUtf8", "strip",
    }
)  # fmt: skip
_WRITES = re.compile(
    r"(?i)f?write\w*|append\w*|\bputs\b|\bprint\w*\b|put_contents|\bcopy\w*|\bcp\b|\brename\b|\bmove\w*|"
    r"\bsave\w*|spew|\btee\b|open\s?file|>>|[\"'](?:>>?|[aw]b?\+?)[\"']|\bdump\b|\bdownload\w*|\bto_?file\b|set_?value\w*"
)
_READS = re.compile(
    r"(?i)\bfile\.read|read_?file|read_to_string|get_contents|read_?lines|read_?text|read_?all|contentsof|"
    r"json\.parse|\bslurp\b|read_file|\bscanner\b"
)
_SOCKET = re.compile(
    r"(?i)tcpsocket|io::socket|fsockopen|stream_socket_client|net\.dial|tcpstream|new socket\(|"
    r"tcpclient|socket\W{0,3}\.tcp|luasocket|newsocket\s?\(|\bztcp\b|tcpserver|websocket|\bsocket\s?\(|gen_tcp|socketconnection\s?\(|"
    r"socket\.connect|\bsocket [\d.]{7}"
)
_DELETES = re.compile(
    r"(?i)\bunlink\b|\bdelete\w*\b|\bremove\w*\b|\brm\b|\.rm\b|\brm_rf?\b|\brmtree\b|\btrash\w*\b"
)
_LISTS = re.compile(
    r"(?i)glob|walk|recurs\w*|find\s?\(|children|list_?(?:files|dir)|entries|enumerat\w+|"
    r"read_?dir"
)
_HOME_FOLDER = re.compile(
    r"^~(?:/(?:\*{0,2}|Documents|Desktop|Pictures|Downloads|Library)/?\*{0,2})?$"
)
_MAY_MATTER = re2.compile(
    rb"(?i)https?://|/dev/tcp|socket|net\.dial|tcpstream|ztcp|[\"']~|home|userprofile|/etc/|authorized_keys|launchagents|"
    rb"\.bashrc|\.zshrc|\.profile|currentversion|autostart|\.claude|\.cursor|\.codex|\.gemini|claude\.md|agents\.md"
)
#: A call that downloads to a path, which comes after the address.
_DOWNLOADS_TO = re.compile(
    r"(?i)\b(?:copy|download\w{0,12}|urlretrieve|save\w{0,8}|retrieve)\s?\(|openwrite|\.pipe\("
)
#: Stands for a host that is a value of the program.
_COMPUTED = "\1"
#: Stands for fetched content without a name.
_UNNAMED = "\0"
_LAST_ARGUMENT = re.compile(r",\s?&?([$@]?[A-Za-z_]\w{0,40})\s?\)")
_FILE_NAME = re.compile(r"[\w.-]{1,80}\.\w{1,6}")
#: Words before a name that is declared.
_KEYWORDS = frozenset(
    {
        "let", "var", "const", "my", "our", "local", "set", "final", "auto", "val", "static", "mut",
        "new", "try", "await", "return", "public", "private", "def", "dim", "if", "while", "for",
        "in", "of", "do", "using", "async", "then", "and", "or", "not", "String", "string", "int",
    }
)  # fmt: skip
_REPUTABLE = frozenset({HostClass.LOCAL, HostClass.REGISTRY, HostClass.INSTALLER, HostClass.CODE})
#: Many programs name the system's own folders only to read them.
_PLACES = frozenset(Sensitive) - {Sensitive.SYSTEM, Sensitive.GIT_HOOK}


_STARTS = frozenset({str(Sensitive.AUTOSTART), str(Sensitive.SHELL_PROFILE)})
#: A program with a hidden name or in a temporary folder that keeps running in the background.
_HIDDEN_PROGRAM = re.compile(
    r"(?:/(?:var/)?tmp/|/dev/shm/|~/(?:[\w.-]{1,40}/){0,4}\.)[\w./-]{1,80}[^\n\"'&]{0,60}&(?!&)"
)


class _Names(msgspec.Struct):
    """The values of names and paths: a host, a fetched file, a socket, a sensitive folder."""

    #: What the text has nowhere is not searched for in each line.
    may_have_sockets: bool
    may_evaluate: bool
    addresses: dict[str, str] = msgspec.field(default_factory=dict)
    fetched: dict[str, str] = msgspec.field(default_factory=dict)
    sockets: set[str] = msgspec.field(default_factory=set)
    places: dict[str, Sensitive] = msgspec.field(default_factory=dict)
    home: set[str] = msgspec.field(default_factory=set)


class _Line(msgspec.Struct, frozen=True):
    number: int
    text: str
    strings: list[str]
    words: list[str]
    targets: list[str]


def may_trace(raw: bytes) -> bool:
    """Return quickly whether a program names anything worth following."""
    return _MAY_MATTER.search(raw) is not None


def trace_program(text: str) -> list[Fact]:
    """Return what a program does with fetched content, and with the folders of its user."""
    names = _Names(
        may_have_sockets=_SOCKET.search(text) is not None,
        may_evaluate=_EVALUATES_AT_ONCE.search(text) is not None,
    )
    lines = islice(_statements(text), _MAX_LINES)
    found = [fact for number, line in lines for fact in _facts(_read(number, line), names)]
    if _HIDDEN_PROGRAM.search(text):
        starts = (fact for fact in found if fact.detail in _STARTS)
        found += [msgspec.structs.replace(fact, act=Act.HIDDEN_START) for fact in starts]
    return list({(fact.act, fact.detail): fact for fact in reversed(found)}.values())[::-1]


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines, and each statement of a line that has several."""
    for number, line in enumerate(text.split("\n"), start=1):
        if ";" not in line[:-1] or len(line) > _MAX_LINE:
            yield number, line
            continue
        start = 0
        for found in _SEPARATOR.finditer(line):
            if found[0] == ";":
                yield number, line[start : found.start()]
                start = found.end()
        yield number, line[start:]


def _read(number: int, text: str) -> _Line:
    text = text[:_MAX_LINE]
    strings = [next(filter(None, found)) for found in _STRING.findall(text)]
    words = [word.lstrip("$@") for word in _WORD.findall(text)]
    assigns = _ASSIGNS.search(text)
    left = text[: assigns.start()] if assigns else ""
    targets = _WORD.findall(left.rpartition("(")[2] if left.count("(") > left.count(")") else left)
    targets += [word for name in _SET.findall(text) for word in _WORD.findall(name)[-1:]]
    targets = [name.lstrip("$@") for name in targets]
    targets = [name for name in targets if name not in _KEYWORDS]
    return _Line(number, text, strings, words, targets)


def _facts(line: _Line, names: _Names) -> Iterator[Fact]:
    known = {*line.words, *line.strings}
    _follow(line, names, known)
    yield from _run(line, names)
    yield from _places(line, names)
    yield from _deletions(line, names, known)


def _follow(line: _Line, names: _Names, known: set[str]) -> None:
    """Record what the names and files on the left stand for from here on."""
    host = _host(line.text) or next(
        (names.addresses[w] for w in known & names.addresses.keys()), ""
    )
    fetched = next((names.fetched[word] for word in known & names.fetched.keys()), "")
    if host and _FETCHES.search(line.text):
        fetched = host
    elif host:
        names.addresses.update(dict.fromkeys(line.targets, host))
    if fetched:
        names.fetched.update(dict.fromkeys(line.targets or [_UNNAMED], fetched))
        if _WRITES.search(line.text) or _FETCHES.search(line.text):
            paths = [path for path in line.strings if _is_path(path)]
            if _DOWNLOADS_TO.search(line.text):
                paths += [name for name in line.strings if _FILE_NAME.fullmatch(name)]
                paths += _LAST_ARGUMENT.findall(line.text)
            names.fetched.update(dict.fromkeys(paths, fetched))
    if names.may_have_sockets and (_SOCKET.search(line.text) or known & names.sockets):
        names.sockets.update(line.targets)


def _host(text: str) -> str:
    if "://" not in text:
        return ""
    if found := COMPUTED_ADDRESS.search(text):
        behind = (found[1] or found[2] or "").strip(".")
        if not behind or classify_host(behind) not in _REPUTABLE:
            return _COMPUTED
    return next((host for host in hosts_in(text) if classify_host(host) not in _REPUTABLE), "")


def _is_path(text: str) -> bool:
    return "/" in text and " " not in text and "://" not in text and len(text) > _SHORTEST_PATH


def _run(line: _Line, names: _Names) -> Iterator[Fact]:
    """Yield a fact if the line runs something that was fetched, or that came from a socket."""
    host = _run_at_once(line, names) if names.may_evaluate else ""
    if host:
        yield _run_from(host, line)
        return
    if not (names.fetched or names.sockets):
        return
    found = _EVALUATES.search(line.text) or _RUNS.search(line.text)
    if not found:
        return
    values = _values(line.text[found.end() :]) or _values(line.text[: found.start()])
    run = _run_among(values, {*names.fetched, *names.sockets})
    if run in names.fetched:
        host = names.fetched[run]
        yield _run_from(host, line)
    elif run:
        yield _fact(Act.REVERSE_SHELL, line, detail="socket")


def _run_from(host: str, line: _Line) -> Fact:
    if host == _COMPUTED:
        return _fact(Act.RUN_REMOTE, line, detail="program")
    kind = classify_host(host)
    return _fact(Act.RUN_REMOTE, line, detail="program", host=host, host_class=kind)


def _run_at_once(line: _Line, names: _Names) -> str:
    """Return the host of the content that a line evaluates, or an empty text."""
    if found := _EVALUATES_CALL.search(line.text):
        rest = line.text[found.end() :]
        host = _host(rest)
        if host and _FETCHES.search(rest):
            return host
        words = (word.lstrip("$@") for word in _WORD.findall(rest))
        return next((names.fetched[word] for word in words if word in names.fetched), "")
    known = next(iter({**names.addresses, **names.fetched}.values()), "")
    if known and _EVALUATES_BUFFER.search(line.text):
        return known
    return known if _GIVEN_TO_SHELL.search(line.text) else ""


def _values(text: str) -> list[str]:
    """Return the strings and names in a call, in order."""
    found = re.findall(rf"{_STRING.pattern}|({_WORD.pattern})", text)
    return [next(filter(None, parts)).lstrip("$@") for parts in found if any(parts)]


def _run_among(values: list[str], wanted: set[str]) -> str:
    """Return which of *wanted* is run: the first value, or one after an interpreter."""
    for place, value in enumerate(values[:8]):
        if value in wanted:
            return value
        first, _, rest = value.partition(" ")
        if rest and first.rpartition("/")[2].lower() in _INTERPRETERS:  # "sh /tmp/x" in one string
            named = next((word for word in rest.split() if word in wanted), "")
            if named:
                return named
        is_program = value.rpartition("/")[2].lower() in _INTERPRETERS
        if not (is_program or (place == 0 and value.isidentifier()) or value in _FILLERS):
            return ""
    return ""


def _places(line: _Line, names: _Names) -> Iterator[Fact]:
    """Yield a fact if the line writes to a sensitive path; record names that stand for one."""
    places = {
        path: place for path in line.strings if (place := sensitive_place_in(path)) in _PLACES
    }
    place = next(iter(places.values()), None) or next(
        (names.places[name] for name in line.words if name in names.places), None
    )
    if place is None:
        return
    is_read = _READS.search(line.text) is not None
    if _WRITES.search(line.text) and not is_read:
        yield _fact(Act.WRITE, line, detail=str(place))
    elif not is_read:
        names.places.update(dict.fromkeys(line.targets, place))


def _deletions(line: _Line, names: _Names, known: set[str]) -> Iterator[Fact]:
    """Yield a fact if the line deletes the contents of the user's folders."""
    is_home = any(map(_HOME_FOLDER.match, line.strings)) or known & names.home
    if not is_home:
        return
    is_listed = bool(known & names.home) or _LISTS.search(line.text) is not None
    if is_listed and _DELETES.search(line.text):
        yield _fact(Act.DELETE, line, detail="~")
    elif is_listed:
        names.home.update(line.targets)


def _fact(
    act: Act,
    line: _Line,
    *,
    detail: str,
    host: str | None = None,
    host_class: HostClass | None = None,
) -> Fact:
    text = shorten(line.text.strip())
    return Fact(
        act=act, line=line.number, text=text, detail=detail, host=host, host_class=host_class
    )
