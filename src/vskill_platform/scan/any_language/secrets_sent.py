"""Secrets that a program reads and the address to which it sends, in languages without a parser."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import msgspec
import re2

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import HostClass, classify_host, hosts_in
from vskill_platform.scan.facts.sensitive_paths import secret_in, secrets_in

_MAX_LINE, _MAX_ADDRESSES = 4_000, 100
ALL_VARIABLES = re.compile(
    r"ENV\.to_h|ENV\.to_a|ENV\.each|ENV\.map|os\.Environ\(\)|System\.getenv\(\)|%ENV\b|\$_ENV\b"
    r"|\$_SERVER\b(?!\s?\[)|"
    r"GetEnvironmentVariables\(|ProcessInfo\.processInfo\.environment|\benv::vars(?:_os)?\(|getenv\(\)|"
    r"System\.get_env\(\)|\bDict\(ENV\)|\bin (?:pairs\()?ENV\b|"
    r"popen\(\s?[\"'](?:env|printenv|set)[\"']|`(?:env"
    r"|printenv)`|%x\(env\)|"
    r"shell_exec\(\s?[\"'](?:env|printenv)[\"']|\bsys\.env\b(?!\.get|\()|\bgetEnvironment\b|"
    r"Platform\.environment\b(?!\[)|envPairs\(\)|\*\*\s?environ\b"
    r"|\b(?i:Get-ChildItem|gci|Get-Item)\s(?:-Path\s)?[\"']?env:(?=[\s\"'|)*]|$)"
)
_MAY_NAME_VARIABLES = re2.compile(
    rb"ENV|[eE]nviron|[gG]etenv|get_env|env::vars|sys\.env|printenv|envPairs|[\"'`(]env[\"'`)]|env:"
)
#: Commands that print a stored token or password, in one string or word by word.
_PRINTER = (
    r"gh auth token|security find-(?:generic|internet)-password|gcloud auth print|op read\b"
    r"|kubectl get secrets?\b|aws configure export-cred|aws sts get-session"
    r"|op item get|vault kv get"
)
#: The text between the words of a command that is given word by word.
_BETWEEN = r"[\"'](?:, ?|\)\.args?\()\[?[\"']"
_PRINTS_TOKEN = re.compile(_PRINTER + "|" + _PRINTER.replace(" ", _BETWEEN))
_MAY_PRINT_TOKEN = re2.compile(rb"gh\b.{1,16}auth|security|gcloud|kubectl|\baws\b|\bop\b|vault")
_REPUTABLE = frozenset({HostClass.LOCAL, HostClass.REGISTRY, HostClass.INSTALLER, HostClass.CODE})
_ADDRESS = re.compile(r"https?://[^\s\"'`<>)]{3,300}")
#: An address whose host is the value of a name, and the text after that value.
COMPUTED_ADDRESS = re.compile(
    r"(?:https?|wss?)://(?:(?:#?\$?\{[^}\n]{0,60}\}|\$\w{1,40}|%s|\\\([^)\n]{1,60}\))([\w.-]{0,100})"
    r"|[\"'`]\s?(?:\+|\.\.?|<>|&|,)\s?[\w.$@:(){}]{1,60}(?:\s?(?:\+|\.\.?|<>|&|,)\s?[\"'`]([\w.-]{1,100}))?)"
)
_CONNECTS = re.compile(
    r"TCPSocket\.(?:new|open)\(|fsockopen\(|net\.Dial\(|TcpStream::connect\(|socket\.tcp\(\)|IO::Socket"
)
_MAY_CONNECT = re2.compile(rb"TCPSocket|fsockopen|net\.Dial|TcpStream|socket\.tcp|IO::Socket")
#: How far the arguments of a connection are read, and how many names and uses are followed.
_REACH, _MAX_NAMES, _MAX_USES = 120, 6, 40
#: Stands for a value whose name is no longer known.
_UNNAMED = "$value"
_NAME = re.compile(r"\b[A-Za-z_]\w{0,40}\b")
_REMARK = re.compile(r"(?://|#(?!\{)|--)[^\n]*")
_NEAR = re.compile(r"localhost|127\.0\.0\.1|0\.0\.0\.0")
#: A string that can be a host name, and endings that belong to file names instead.
_BARE_HOST = re.compile(r"[\"'`]((?:[a-z0-9-]{1,63}\.){1,4}[a-z]{2,12})[\"'`]")
_FILE = re.compile(
    r"\.(?:py|rb|rs|sh|pl|pm|md|so|cc|js|ts|go|php|lua|ps|ai|app|zip|mov|json|toml|ya?ml|txt|csv|env"
    r"|key|pem|cfg|conf|ini|log|html?|xml|db|sql|exe|dll|tar|gz)$"
)
#: Strings of a list that is joined elsewhere.
_LISTED = re.compile(r"([\"'])\s{0,9},\s{0,9}\1")
_SECRET_FOLDER = re.compile(
    r"[\"'/]\.(?:ssh|aws|gnupg|kube|azure|ethereum|electrum|bitcoin|exodus|password-store|mozilla)[\"']"
)
_ANY_KEYS, _PRINTED_TOKENS = "ssh keys or cloud credentials", "printed tokens"
_EVERY_VARIABLE = "every variable of the system"
_LISTS_FILES = re.compile(
    r"(?i)enumerate\w*files|get_?files|list_?files|read_?dir\w*|\bDir\W{1,3}(?:glob|children|entries"
    r"|each)|scandir|\bglob\w*\s?\(|walk\w*\s?\(|opendir|list\.files|\bentries\b|contentsofdirectory"
    r"|\.iterator\("
)


def secrets_sent(text: str) -> list[Fact]:
    """Return a secret and an address of an unknown vendor, if a program names both."""
    if "://" not in text and not _MAY_CONNECT.search(_raw(text)):
        return []
    printed = _PRINTS_TOKEN.search(text) if _MAY_PRINT_TOKEN.search(_raw(text)) else None
    text = text if printed else _LISTED.sub("/", text)  # File.join(home, ".aws", "credentials")
    found = (printed.start(), _PRINTED_TOKENS) if printed else _secret(text)
    if found is None:
        return []
    start, whole = found
    sends = (
        send
        for send in _addresses(text)
        if not printed or send.host_class is not HostClass.PLACEHOLDER
    )
    for send in islice(sends, 1):
        line = text[start : text.find("\n", start) % (len(text) + 1)][:_MAX_LINE]
        detail = whole if whole == _PRINTED_TOKENS else str(secret_in(line) or whole)
        number = text.count("\n", 0, start) + 1
        return [Fact(act=Act.READ_SECRET, line=number, text=shorten(line), detail=detail), send]
    return []


def _raw(text: str) -> bytes:
    return text.encode(errors="replace")


def _secret(text: str) -> tuple[int, str] | None:
    """Return where a program names a secret, and its kind if its path does not show that."""
    if places := secrets_in(text):
        return places[0], _ANY_KEYS
    if _MAY_NAME_VARIABLES.search(_raw(text)) and (variables := ALL_VARIABLES.search(text)):
        return variables.start(), _EVERY_VARIABLE
    if (listed := _SECRET_FOLDER.search(text)) and _LISTS_FILES.search(text):
        return listed.start(), _ANY_KEYS
    return None


def _addresses(text: str) -> Iterator[Fact]:
    """Yield each place from which a program may send to an untrusted host."""
    known: set[str] = set()
    for found in _ADDRESS.finditer(text):
        host = next(iter(hosts_in(found[0])), "")
        if host and host not in known and classify_host(host) not in _REPUTABLE:
            fact = _send(text, found.start())
            yield msgspec.structs.replace(fact, host=host, host_class=classify_host(host))
        known.add(host)
    named = {host for host in _BARE_HOST.findall(text) if not _FILE.search(host)}
    host = next((one for one in sorted(named) if classify_host(one) not in _REPUTABLE), "")
    places = chain(COMPUTED_ADDRESS.finditer(text), _CONNECTS.finditer(text))
    for found in islice(places, _MAX_ADDRESSES):
        behind = (found[1] or found[2] or "") if found.re is COMPUTED_ADDRESS else ""
        if behind.startswith(".") and classify_host(behind.strip(".")) in _REPUTABLE:
            continue
        if not host and ((named and _UNNAMED in found[0]) or _is_known(text, found)):
            continue
        fact = _send(text, found.start())
        if host:
            fact = msgspec.structs.replace(fact, host=host, host_class=classify_host(host))
        yield fact


def _is_known(text: str, found: re.Match[str]) -> bool:
    """Return whether the host of an address is a name whose values are known to be harmless."""
    if found.re is COMPUTED_ADDRESS:
        used = found[0].partition("://")[2]
    else:
        used = _REMARK.sub("", text[found.start() : found.end() + _REACH])
    if _NEAR.search(used) or any(map(_is_harmless, _BARE_HOST.findall(used))):
        return True
    names = islice(dict.fromkeys(_NAME.findall(used)), _MAX_NAMES)
    return any(_NEAR.search(line) or _BARE_HOST.search(line) for line in _lines_with(text, names))


def _is_harmless(host: str) -> bool:
    return classify_host(host) in _REPUTABLE


def _lines_with(text: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the text after each use of a name, up to the end of the line."""
    for name in names:
        for found in islice(re.finditer(rf"(?<![\w.]){name}\b([^\n]{{0,100}})", text), _MAX_USES):
            yield _REMARK.sub("", found[1])


def _send(text: str, start: int) -> Fact:
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)][:_MAX_LINE]
    return Fact(act=Act.SEND, line=text.count("\n", 0, start) + 1, text=shorten(line))
