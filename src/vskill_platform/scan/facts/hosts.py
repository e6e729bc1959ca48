"""Classify hosts, and find the hosts in a text."""

import ipaddress
import re
import unicodedata
from enum import StrEnum
from functools import cache, lru_cache
from urllib.parse import unquote

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.masked_hosts import MASKED_HOST
from vskill_platform.scan.facts.registered_domain import registered_domain


class HostClass(StrEnum):
    PASTE = "paste"
    DROP = "drop"
    CALLBACK = "callback"
    TUNNEL = "tunnel"
    SHORTENER = "shortener"
    DYNAMIC = "dynamic"
    FREE = "free"
    DRIVE = "drive"
    CODE = "code"
    REGISTRY = "registry"
    INSTALLER = "installer"
    SERVICE = "service"
    ADDRESS = "address"  #: a public IP address instead of a name
    ONION = "onion"
    MASKED = "masked"  #: written so that it cannot be read
    BORROWED = "borrowed"  #: an unrelated domain that contains a well-known name
    LOCAL = "local"  #: this machine or a private network
    PLACEHOLDER = "placeholder"  #: a name that cannot be registered
    UNKNOWN = "unknown"


#: Hosts whose owner is not accountable for the content.
ANONYMOUS = frozenset(
    {
        HostClass.PASTE, HostClass.DROP, HostClass.CALLBACK, HostClass.TUNNEL,
        HostClass.SHORTENER, HostClass.DYNAMIC, HostClass.ADDRESS, HostClass.ONION,
        HostClass.MASKED, HostClass.BORROWED,
    }
)  # fmt: skip
#: Hosts whose owner is accountable for the content, and this machine.
VOUCHED_FOR = frozenset(
    {HostClass.CODE, HostClass.REGISTRY, HostClass.INSTALLER, HostClass.SERVICE, HostClass.LOCAL}
)
_INTERNAL_NAMES = (".internal", ".local", ".lan", ".svc", ".corp", ".intranet", ".consul")
#: Text between the scheme of a URL and its host; user names are limited only in length.
USER = r"(?:[^\s/@\"'<>]{1,2000}@)?"
HOST = r"\[[0-9a-fA-F:.]{2,45}\]|[^\s/:?#\"'<>\\\]\[(){}|^`,;$]{1,253}"
_URL = re.compile(
    rf"(?P<scheme>https?|ftp|wss?|tcp)(?:://|:\\/\\/|\[:\]//){USER}(?P<host>{HOST})(?::\d{{1,5}})?",
    re.IGNORECASE,
)
_DOTS = str.maketrans("。", ".")
#: Characters that end an address in a script without spaces, and words directly after it. A letter
#: followed by another dot belongs to the name.
_PUNCTUATION = re.compile(r"[、，；：！？（）《》「」“”‘’…]")  # noqa: RUF001 - these are meant
_WORDS_BEHIND = re.compile(r"\.[a-z]{2,13}(?=[^\x00-\x7f])(?=\w[^.。]*$)", re.IGNORECASE)
#: Names that cannot be registered: reserved by RFC 2606 and 6761, or with an underscore.
_PLACEHOLDERS = re.compile(
    r"(?:^|\.)(?:example|invalid|test|localdomain)$|(?:^|\.)example\.(?:com|org|net)$"
    r"|_[^.]*\.[a-z0-9-]+$"
)


def hosts_in(text: str) -> list[str]:
    """Return the hosts of all URLs in *text*, in order."""
    if "//" not in text and "\\/" not in text:  # as in most texts
        return []
    return [plain_host(found["host"]) for found in _URL.finditer(text)]


def plain_host(host: str) -> str:
    """Return a host as clients look it up: without escapes, with plain letters and dots."""
    host = unquote(host[: end_of_host(host)]).lower()
    if not host.isascii():
        host = unicodedata.normalize("NFKC", host).translate(_DOTS)
    return host.rstrip(".*")


def end_of_host(text: str) -> int:
    """Return the end of a host that may be followed by a period or by text without spaces."""
    host = text if text.isascii() else _PUNCTUATION.split(text)[0]
    host = host.rstrip(".*。")
    words = None if host.isascii() else _WORDS_BEHIND.search(host)
    return words.end() if words else len(host)


@lru_cache(maxsize=4096)
def classify_host(host: str) -> HostClass:
    address = _address(host)
    if address is not None:
        return _classify_address(address)
    by_shape = _classify_shape(host)
    if by_shape is not None:
        return by_shape
    known = _known_hosts()
    labels = host.split(".")
    for start in range(len(labels) - 1):  # the longest known name is used
        found = known.get(".".join(labels[start:]))
        if found:
            return found
    return HostClass.BORROWED if _imitates_known_name(host) else HostClass.UNKNOWN


_OFFICIAL = re.compile(
    r"https://raw\.githubusercontent\.com/(?P<repo>[\w-]+/[\w-]+)/"
    r"(?:refs/(?:heads|tags)/)?(?:main|master|HEAD|v?\d{1,4}(?:\.\d{1,4}){0,3})/(?:[\w-][\w.-]*/){0,6}[\w-][\w.-]*"
    r"|https://github\.com/(?P<owner>[\w-]+/[\w-]+)/releases/(?:latest/download|download/[\w.-]{1,40})/[\w-][\w.-]*",
    re.IGNORECASE,
)


def is_official_installer(url: str) -> bool:
    """Return whether a URL is the installer of a well-known project in its own repo."""
    found = _OFFICIAL.fullmatch(url)
    return found is not None and (found["repo"] or found["owner"]).lower() in _official_repos()


@cache
def _official_repos() -> frozenset[str]:
    return frozenset(load_data("hosts.toml")["official"]["repos"])


@lru_cache(maxsize=4096)
def is_documentation(host: str) -> bool:
    """Return whether a host is a well-known site that is read, and that nobody can send to."""
    if host in _documentation("domains"):
        return True
    is_part = registered_domain(host) in _documentation("domains")
    return is_part and _documentation("open").isdisjoint(host.lower().split("."))


@cache
def _documentation(kind: str) -> frozenset[str]:
    return frozenset(load_data("hosts.toml")["documentation"][kind].split())


def is_internal(host: str) -> bool:
    """Return whether a host is another machine of the user's network, not this one."""
    if host.endswith(_INTERNAL_NAMES):
        return True
    address = _address(host)
    if address is None or _classify_address(address) is not HostClass.LOCAL:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_link_local)


def _imitates_known_name(host: str) -> bool:
    """Return whether a domain is a well-known name with something added."""
    domain = registered_domain(host)
    label = domain.partition(".")[0]
    return any(
        name in label and label != name and domain not in owned
        for name, owned in _known_names().items()
    )


@cache
def _known_names() -> dict[str, frozenset[str]]:
    return {
        name: frozenset(owned) for name, owned in load_data("hosts.toml")["borrowed"]["of"].items()
    }


def _classify_shape(host: str) -> HostClass | None:
    """Classify a host by its name alone, if possible."""
    if host == "localhost" or host.endswith((".local", ".localhost", ".internal", ".lan", ".svc")):
        return HostClass.LOCAL
    if host.endswith(".onion"):
        return HostClass.ONION
    if MASKED_HOST in host:
        return HostClass.MASKED
    is_placeholder = _PLACEHOLDERS.search(host) or "." not in host
    return HostClass.PLACEHOLDER if is_placeholder else None


@cache
def _known_hosts() -> dict[str, HostClass]:
    return {
        host: HostClass(name)
        for name, table in load_data("hosts.toml").items()
        for host in table.get("hosts", ())
    }


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    bare = host.strip("[]")
    try:
        if bare.isdecimal() or bare.startswith("0x"):  # http://2130706433 and http://0x7f000001
            return ipaddress.ip_address(int(bare, 0))
        return ipaddress.ip_address(bare)
    except ValueError:
        return None


def _classify_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> HostClass:
    # Addresses reserved for documentation count as public, because an attack with one is still an
    # attack.
    for network in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"):
        if address in ipaddress.ip_network(network):
            return HostClass.ADDRESS
    is_near = address.is_private or address.is_loopback or address.is_link_local
    return HostClass.LOCAL if is_near or address.is_unspecified else HostClass.ADDRESS
