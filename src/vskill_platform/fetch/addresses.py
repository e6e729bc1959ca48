"""Which addresses belong to the public internet, and which to somebody's own network."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterator

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: What `is_global` of one Python or another takes for public, and what is not.
_NOT_PUBLIC = (
    ipaddress.ip_network("168.63.129.16/32"),  # on one large cloud, the machine's own host
    ipaddress.ip_network("192.0.0.0/24"),  # holds the metadata service of another
    ipaddress.ip_network("192.88.99.0/24"),
    ipaddress.ip_network("fec0::/10"),
    ipaddress.ip_network("3fff::/20"),
    ipaddress.ip_network("5f00::/16"),
)
#: IPv6 addresses that carry an IPv4 address in their last 32 bits: a gateway leads on to it.
_TRANSLATED = (
    ipaddress.ip_network("64:ff9b::/96"),
    ipaddress.ip_network("64:ff9b:1::/48"),
    ipaddress.ip_network("::/96"),
)


def is_public(address: Address) -> bool:
    """Tell whether everybody may reach *address*, whatever it is wrapped in."""
    return all(
        inner.is_global
        and not inner.is_multicast
        and not any(inner in network for network in _NOT_PUBLIC)
        for inner in _unwrapped(address)
    )


async def resolve(host: str, port: int) -> list[Address]:
    """Return every address of a name, as the system knows them now."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(place[0]) for *_, place in found))


def _unwrapped(address: Address) -> Iterator[Address]:
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    if address.ipv4_mapped:
        yield address.ipv4_mapped
        return
    yield address
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if any(address in network for network in _TRANSLATED):
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
