"""Scan text in languages without a parser, so that nothing passes only because it is unreadable.

Strings and lines that look like commands are read as commands. This also finds content that is
decoded or fetched and then run, and a path of secrets together with a URL.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice

import msgspec
import re2

from vskill_platform.scan.any_language.commands_in_strings import (
    commands_in_strings,
    may_have_commands,
    read_command,
    runs_others,
)
from vskill_platform.scan.any_language.computed_execution import computed_execution
from vskill_platform.scan.any_language.program_values import with_values
from vskill_platform.scan.any_language.secrets_sent import ALL_VARIABLES, secrets_sent
from vskill_platform.scan.any_language.trace_program import may_trace, trace_program
from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import HostClass, classify_host, hosts_in
from vskill_platform.scan.facts.sensitive_paths import secrets_in, sensitive_place_in

_MAX_LINES, _MAX_LINE = 1_000, 4_000
#: How many lines may lie between decoding something and running it.
_REACH = 4_000
_DECODE = (
    r"(?:base64|b64|decode64|atob\b|unpack\s?\(|fromcharcode|gzinflate|gzuncompress|str_rot13|"
    r"hex2bin|unhex|inflate\s?\(|decodestring|pack\s?\(|loads?\s?\(\s*bytes)"
)
_EVALUATE = (
    r"(?:\beval\b|\bexec\w*\s?\(|\bsystem\s?\(|popen|loadstring|\bload\s?\(|process\.start"
    r"|command::new|"
    r"exec\.command|getruntime|processbuilder|shell_exec|passthru|\bassert\s?\(|os\.execute|"
    r"instance_eval|class_eval|create_function|invoke-expression|do shell script|assembly\.load)"
)
_RUN_DECODED = re.compile(
    rf"{_EVALUATE}\s?\(?[^|\"'\\\n]{{0,80}}{_DECODE}[\w.:]{{0,30}}\s?\(?", re.IGNORECASE
)
_DECODED_NAME = re.compile(
    rf"([$@]?[A-Za-z_]\w{{0,40}})\s?:?=\s?[^|\n]{{0,120}}{_DECODE}[\w.:]{{0,30}}\s?\(",
    re.IGNORECASE,
)
#: Calls that run something by its name; one search finds all names at once.
_RUN_NAME = re.compile(rf"{_EVALUATE}(?=\s?\(?\s?([$@]?[A-Za-z_]\w{{0,40}})\b)", re.IGNORECASE)
_MAY_RUN_DECODED = re2.compile(f"(?i){_DECODE}".encode())
_FETCH = (
    r"(?:uri\.open|open-uri|net::http|file_get_contents|http[\"')\s]{0,3}\.(?:get|request)"
    r"|httpclient|"
    r"popen\s?\(\s?[\"'](?:curl|wget)\b|downloadstring|lwp|http::tiny|httparty|faraday"
    r"|restclient|mojo::useragent|download\.file|"
    r"\bget\s?\(\s?[\"']|urlsession|curl_exec|getstring|openstream|readall|\bopen\s?\("
    r"|\bfetch\s?\()"
)
_RUN_FETCHED = re.compile(
    rf"(?:{_EVALUATE}[^\n]{{0,80}}|\b(?:include|require)(?:_once)?\b\s?\(?\s?){_FETCH}"
    r"[^\n]{0,80}https?://"
    r"|\b(?:include|require|source|source_url)(?:_once)?\s?\(?\s?(?:url\()?[\"']https?://"
    r"|\bfetch\s?\(\s?[\"'`]https?://[^\n]{0,200}\.then\(\s?(?:eval|Function)\b"
    r"|(?:\bexecute(?:global)?|\.run|\.exec|\bshell)\s?\(?\w{1,40}\.response(?:text|body)",
    re.IGNORECASE,
)
_FETCHED_NAME = re.compile(
    rf"([$@]?[A-Za-z_]\w{{0,40}})\s?:?=\s?[^|\n]{{0,60}}{_FETCH}[^\n]{{0,80}}https?://[^\n]{{0,200}}",
    re.IGNORECASE,
)
#: Code that directly runs what it fetches, wherever the URL is.
_FETCH_AND_RUN = re.compile(
    rf"(?:\beval|loadstring|\bload|instance_eval)\b\s?\(?\s?[\w.$@:]{{0,30}}{_FETCH}", re.IGNORECASE
)
_MAY_FETCH_AND_RUN = re2.compile(f"(?i){_FETCH_AND_RUN.pattern}".encode())
_MAY_RUN_FETCHED = re2.compile(f"(?i){_RUN_FETCHED.pattern}".encode())
_MAY_NAME_FETCHED = re2.compile(
    rf"(?i)[A-Za-z_]\w*\s?:?=\s?[^|\n]*{_FETCH}[^\n]*https?://".encode()
)
#: Every text that runs what it fetches contains one of these.
_FETCH_SIGNS = (b"http", b"responsetext")
_REPUTABLE = frozenset({HostClass.LOCAL, HostClass.REGISTRY, HostClass.INSTALLER, HostClass.CODE})
_SOCKET = re.compile(
    r"TCPSocket|IO::Socket|fsockopen|net\.Dial|TcpStream|new Socket\(|TcpClient|socket\W{0,3}\.tcp|"
    r"luasocket|socket[\"')]{1,3}\.connect|"
    r"PF_INET|AF_INET|/inet/tcp/|\bSocket\s?\(|gen_tcp|Socket\.connect|\bsocket [\d.]{7}|"
    r"= connect\(\s?[\"'][\d.]{7}",
    re.IGNORECASE,
)
_MAY_SHELL_ON_SOCKET = re2.compile(f"(?i){_SOCKET.pattern}".encode())
_SHELL = re.compile(
    r"/bin/(?:ba|z|da)?sh\b|cmd\.exe|powershell|\bsh -[ic]\b|IO\.popen|getline|:os\.cmd"
    r"|[\"']sh[\"']|`#\{\w+\}`",
    re.IGNORECASE,
)
#: How programs write and delete files, with the path as a string.
_WRITTEN = re.compile(
    r"(?:File\.write|file_put_contents|os\.WriteFile|Files\.write\w*|File\.WriteAllText|"
    r"File\.AppendAllText|fs::write|writeTextFile|write_file|"
    r"(?:File\.|io\.)?open(?=[^\n]{1,200}[\"'](?:>>?|[aw]\+?)[\"']))"
    r"\s?\(?[^\n\"']{0,60}[\"']([^\"'\n]{3,200})[\"']"
)
_DELETED = re.compile(
    r"(?:FileUtils\.(?:rm_rf?|remove_dir|remove_entry\w*)|Dir\.rmdir|os\.RemoveAll|remove_dir_all|"
    r"Directory\.Delete|deleteRecursively|rmtree|remove_tree|removeDirectoryRecursive|removeDir|"
    r"os\.remove\.all|File\.rm_rf!?|removeItem|[Rr]emoveTree|deleteDirectory)"
    r"\s?\(?[^\n\"']{0,60}[\"']([^\"'\n]{1,200})[\"']"
)
_DELETED_PATH = re.compile(
    r"[\"'](~[^\"'\n]{0,200})[\"']\)?\.(?:deleteDir|deleteRecursively|rmtree)\b"
)
_MAY_WRITE_OR_DELETE = re2.compile(
    rb"File\.(?:write|open|Write|Append)|file_put_contents|WriteFile|Files\.write|fs::write|open\(|"
    rb"FileUtils|RemoveAll|removeDir|os\.remove\.all|rm_rf|deleteDir|remove_dir_all|Directory\.Delete|rmtree|remove_tree|deleteRecursively|removeItem|emoveTree|deleteDir"
)
#: A DNS lookup of a name with a value in front of a host.
_LOOKED_UP = re.compile(
    r"(?:Resolv\.\w{3,20}|gethostbyname\w{0,3}|dns_get_record|LookupHost|getaddrinfo"
    r"|InetAddress\.getByName|"
    r"GetHostEntry|GetHostAddresses|socket\.dns\.toip)\s?\(?[^\n]{0,120}?"
    r"(?:\}|[\"']\s?(?:\.|\+|\.\.)?\s?[\"']?|\+\s?[\"']|\.\s?[\"']"
    r"|%s)\.((?:[\w-]{1,63}\.){1,4}[a-z]{2,20})[\"']"
)
_MAY_LOOK_UP = re2.compile(
    rb"Resolv\.|gethostbyname|dns_get_record|LookupHost|getaddrinfo|getByName|GetHost|dns\.toip"
)

_ACTIONS = (_MAY_FETCH_AND_RUN, _MAY_SHELL_ON_SOCKET, _MAY_WRITE_OR_DELETE, _MAY_LOOK_UP)
#: Matches wherever one of them does; one search of most texts is enough.
_MAY_ACT = re2.compile(b"|".join(one.pattern for one in _ACTIONS))


def read_any_text(text: str, *, is_code: bool) -> list[Fact]:
    """Return what a text does, by its strings and lines; *is_code* means that it is a program."""
    return list(_read(text, is_code))


@lru_cache(maxsize=4)  # a fence is read for its label and for what it looks like
def _read(text: str, is_code: bool) -> tuple[Fact, ...]:  # noqa: FBT001 - part of the cache's key
    raw = text.encode(errors="replace")
    facts: list[Fact] = []
    starts_others = is_code and runs_others(raw)
    is_traced = is_code and may_trace(raw)
    program = with_values(text) if starts_others or is_traced else text
    if starts_others or may_have_commands(raw):
        facts += commands_in_strings(program, in_any=starts_others)
        if _MAY_RUN_DECODED.search(raw):
            facts += islice(_decoded_and_run(text), _MAX_LINES)
    folded = raw.lower()
    may_fetch = any(sign in folded for sign in _FETCH_SIGNS)
    if may_fetch and (_MAY_RUN_FETCHED.search(raw) or (is_code and _MAY_NAME_FETCHED.search(raw))):
        facts += islice(_fetched_and_run(text), _MAX_LINES)
    if is_code:
        may_act = _MAY_ACT.search(raw) is not None
        may_fetch = may_act and _MAY_FETCH_AND_RUN.search(raw) is not None
        facts += islice(_fetched_by_variable(text), 1) if may_fetch else []
        facts += secrets_sent(program)
        facts += _shell_on_a_socket(text) if may_act and _MAY_SHELL_ON_SOCKET.search(raw) else []
        may_write = may_act and _MAY_WRITE_OR_DELETE.search(raw)
        facts += _written_and_deleted(program) if may_write else ()
        facts += trace_program(program) if is_traced else ()
        facts += computed_execution(text, facts)
        facts += _looked_up(text) if may_act and _MAY_LOOK_UP.search(raw) else ()
    return tuple(dict.fromkeys(facts))


def _decoded_and_run(text: str) -> Iterator[Fact]:
    for found in _RUN_DECODED.finditer(text):
        yield _fact(Act.RUN_DECODED, text, found)
    runs = defaultdict(list)
    for run in _RUN_NAME.finditer(text):
        runs[run[1].lower()].append(run)
    for found in _DECODED_NAME.finditer(text) if runs else ():
        named = runs.get(found[1].lower(), [])
        place = bisect_left(named, found.end(), key=re.Match.start)
        if place < len(named) and named[place].end(1) <= found.end() + _REACH:
            yield _fact(Act.RUN_DECODED, text, named[place])


def _fetched_and_run(text: str) -> Iterator[Fact]:
    for found in (*_RUN_FETCHED.finditer(text), *_fetched_by_name(text)):
        fact = _fact(Act.RUN_REMOTE, text, found)
        host = next(iter(hosts_in(fact.text)), None)
        kind = classify_host(host) if host else None
        yield msgspec.structs.replace(fact, host=host, host_class=kind)


def _fetched_by_variable(text: str) -> Iterator[Fact]:
    """Yield code that runs what it fetches from a URL that is written elsewhere in the program."""
    hosts = [host for host in hosts_in(text) if classify_host(host) not in _REPUTABLE]
    for found in _FETCH_AND_RUN.finditer(text) if hosts else ():
        kind = classify_host(hosts[0])
        fact = _fact(Act.RUN_REMOTE, text, found)
        yield msgspec.structs.replace(fact, host=hosts[0], host_class=kind)


def _fetched_by_name(text: str) -> Iterator[re.Match[str]]:
    """Yield where something is fetched under a name that is later run."""
    names = {run[1].lower() for run in _RUN_NAME.finditer(text)}
    for found in _FETCHED_NAME.finditer(text) if names else ():
        if found[1].lower() in names:
            yield found


def _fact(act: Act, text: str, found: re.Match[str]) -> Fact:
    """Build a fact for the line of a match."""
    end = text.find("\n", found.end())
    line = text[found.start() : end if end >= 0 else len(text)][:_MAX_LINE]
    return Fact(act=act, line=text.count("\n", 0, found.start()) + 1, text=shorten(line))


def _shell_on_a_socket(text: str) -> list[Fact]:
    socket, shell = _SOCKET.search(text), _SHELL.search(text)
    if not (socket and shell):
        return []
    line = text.count("\n", 0, socket.start()) + 1
    return [Fact(act=Act.REVERSE_SHELL, line=line, text=shorten(socket[0]), detail="socket")]


def _written_and_deleted(text: str) -> Iterator[Fact]:
    """Yield writes to sensitive paths, and deletions of the user's folders."""
    for found in _WRITTEN.finditer(text):
        if place := sensitive_place_in(found[1]):
            fact = _fact(Act.WRITE, text, found)
            yield msgspec.structs.replace(fact, detail=str(place))
    for found in islice(chain(_DELETED.finditer(text), _DELETED_PATH.finditer(text)), _MAX_LINES):
        facts = read_command(f"rm -rf {found[1]}", text.count("\n", 0, found.start()) + 1)
        yield from (fact for fact in facts if fact.act is Act.DELETE)


def _looked_up(text: str) -> Iterator[Fact]:
    """Yield lookups of names that contain data of the program, which DNS carries to the host."""
    if not ALL_VARIABLES.search(text) and not secrets_in(text):
        return
    for found in _LOOKED_UP.finditer(text):
        host = found[1].lower()
        fact = _fact(Act.LEAK, text, found)
        yield msgspec.structs.replace(fact, host=host, host_class=classify_host(host), detail="DNS")
        return
