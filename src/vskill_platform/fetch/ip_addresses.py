"""Resolve host names and classify IP addresses as public or private, for guarded_proxy.py."""

import asyncio
import ipaddress
import socket

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: Not public, although some Python versions say `is_global`.
_NOT_PUBLIC = (
    ipaddress.ip_network("168.63.129.16/32"),  # Azure: the host of the virtual machine
    ipaddress.ip_network("192.0.0.0/24"),  # contains Oracle Cloud's metadata service
    ipaddress.ip_network("192.88.99.0/24"),
    ipaddress.ip_network("2001::/23"),  # protocol assignments: Teredo, ORCHID, benchmarks
    ipaddress.ip_network("2001:db8::/32"),
    ipaddress.ip_network("2002::/16"),  # 6to4: relays to an IPv4 address
    ipaddress.ip_network("3fff::/20"),
)
#: The only IPv6 range allocated for the internet. Any other address is local, or is translated to
#: an IPv4 address that has not been checked.
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
#: The interface id prefix of an ISATAP address, which ends with an IPv4 address.
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def is_public(address: Address) -> bool:
    """Return whether *address* is on the public internet."""
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
    """Return whether *host* is an IP address, not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def resolve(host: str, port: int) -> list[Address]:
    """Return all addresses that the system resolver returns for a name."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(place[0]) for *_, place in found))
