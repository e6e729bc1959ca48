"""Check the URLs of registries: whether they are valid, private, or of the same registry."""

import ipaddress
import re
import socket
import ssl
from urllib.parse import quote, urlsplit

from vskill_platform.errors import InvalidInput

_LOOPBACK = re.compile(r"(localhost|127\.[0-9.]+|\[::1\])(?![^:/])")


def segment(text: str) -> str:
    """Encode *text*, such as a slug, as one segment of a path."""
    return quote(text, safe="@")


def checked_url(text: str) -> str:
    """Return the URL of a registry without a trailing slash; https is the default."""
    text = text.strip()
    if "://" not in text:
        scheme = "http" if _LOOPBACK.match(text) else "https"
        text = f"{scheme}://{text}"
    try:
        parts = urlsplit(text)
        is_fine = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise _no_registry(text) from error
    if not is_fine or not text.isprintable() or " " in text:
        raise _no_registry(text)
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInput("the URL of a registry has no user name, query or fragment")
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def is_address(text: str) -> bool:
    """Return whether a text is meant as the URL of a registry; otherwise it is the name of one."""
    return "://" in text or bool(set(".:/") & set(text)) or text == "localhost"


def _no_registry(text: str) -> InvalidInput:
    return InvalidInput(f"{text!r} is not the URL of a registry, such as https://skills.example")


def is_confidential(url: str) -> bool:
    """Return whether no one in between can read requests to *url*."""
    parts = urlsplit(url)
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def leads_inside(source: str, target: str) -> bool:
    """Return whether a host outside of the user's network names one inside, in any notation.

    A name that cannot be resolved is outside, because only a proxy knows it.
    """
    near = _are_near(source)
    return any(_are_near(target)) and not (near and all(near))


def _are_near(host: str) -> list[bool]:
    """Return for each address of a host whether it is this machine or in its network."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    addresses = (ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found)
    return [not (getattr(one, "ipv4_mapped", None) or one).is_global for one in addresses]


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}"


def connect_hint(error: BaseException) -> str:
    """Return advice about a connection that could not be opened."""
    cause: BaseException | None = error
    while cause:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                "its certificate is not trusted; if your organization or you have issued it, set "
                "SSL_CERT_FILE to a file with the certificates to trust"
            )
        if isinstance(cause, ssl.SSLError):
            return "it does not speak TLS there; if it is on this machine, its address is http://"
        cause = cause.__cause__ or cause.__context__
    return "check the address and your network"
