"""Tell public IP addresses from those of private networks."""

import asyncio
import ipaddress
import socket

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: Exceptions from `is_global`, which differs between Python versions.
_NOT_PUBLIC = (
    ipaddress.ip_network("168.63.129.16/32"),  # on one large cloud, the machine's own host
    ipaddress.ip_network("192.0.0.0/24"),  # the metadata service of another cloud
    ipaddress.ip_network("192.88.99.0/24"),
    ipaddress.ip_network("2001::/23"),  # protocol assignments: Teredo, ORCHID, benchmarks
    ipaddress.ip_network("2001:db8::/32"),
    ipaddress.ip_network("2002::/16"),  # 6to4: a relay leads on to an IPv4 address
    ipaddress.ip_network("3fff::/20"),
)
#: The only IPv6 addresses in public use. Everything else is local, or leads through a translator to
#: an unchecked IPv4 address.
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
#: The middle of an address with an IPv4 address in its last 32 bits (ISATAP).
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def is_public(address: Address) -> bool:
    """Tell whether *address* is public."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return is_public(address.ipv4_mapped)
        if address not in _GLOBAL_UNICAST or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
            return False
    return (
        address.is_global
        and not address.is_multicast
        and not any(address in network for network in _NOT_PUBLIC)
    )


def is_literal(host: str) -> bool:
    """Tell whether *host* is an IP address, not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def resolve(host: str, port: int) -> list[Address]:
    """Return every address that a name resolves to now."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(place[0]) for *_, place in found))
