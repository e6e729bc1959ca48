"""Under which names the registry answers.

A page of somebody else can give its own name the address of this registry and then read what is
here with the visitor's browser (DNS rebinding). The `Host` header still says the other name.
"""

import ipaddress

from litestar.types import Scope

from vskill_platform.errors import WrongHost
from vskill_platform.settings import Settings, allowed_hosts, is_loopback, variable


def check_host(scope: Scope, settings: Settings) -> None:
    """Refuse a request for a host that is not this registry."""
    named = [value for name, value in scope["headers"] if name.lower() == b"host"]
    host = _host_of(named[0].decode("latin-1")) if len(named) == 1 else ""
    if not host or not _is_ours(host, scope, settings):
        raise WrongHost(
            f"this registry is not known as {host or 'a host without a name'!r}; its operator can "
            f"set {variable('public_url')} or {variable('allowed_hosts')}"
        )


def _is_ours(host: str, scope: Scope, settings: Settings) -> bool:
    if host in allowed_hosts(settings) or is_loopback(host):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # No name leads here, so nobody can have made it lead elsewhere before. Once the operator has
    # said where the registry is, only the address that was connected to is its own.
    server = scope.get("server")
    return not settings.public_url or (server is not None and str(address) == server[0])


def _host_of(text: str) -> str:
    """Return the host of a `Host` header in lower case, without its port; empty if it is none."""
    host, _, port = text.lower().rpartition(":") if _has_port(text) else (text.lower(), "", "")
    if port and not (port.isascii() and port.isdigit()):
        return ""
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1]
    return host.removesuffix(".")


def _has_port(text: str) -> bool:
    return ":" in text and not text.endswith("]")
