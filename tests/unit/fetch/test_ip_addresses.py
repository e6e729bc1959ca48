"""Which IP addresses are public, also when embedded in others."""

import ipaddress

from tests.cases import all_cases
from vskill_platform.fetch.ip_addresses import is_public, resolve


@all_cases(
    "address",
    ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "2a00::1", "2001:4860::1", "::ffff:1.1.1.1"],
)
def test_the_public_internet_may_be_reached(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@all_cases(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254",
        "100.64.0.1", "192.0.0.192", "198.18.0.1", "203.0.113.1", "240.0.0.1", "224.0.0.251",
        "255.255.255.255", "168.63.129.16", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1",
        "fd00:ec2::254", "ff02::1", "fec0::1",
        "3fff::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
        "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::",
        # Translators and tunnels, whatever they lead to; ORCHID; an address without a purpose yet
        "64:ff9b::101:101", "2002:101:101::", "2001:10::1", "2001:20::1", "2001:2::1", "4000::1",
        "8000::1", "100::1", "5f00::1", "2606:4700::5efe:a00:1", "2606:4700::200:5efe:a00:1",
        # Teredo: a public server, and a client at 10.0.0.1
        "2001:0:4136:e378:8000:63bf:f5ff:fffe",
    ],
)  # fmt: skip
def test_nothing_else_may(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


async def test_every_spelling_of_an_address_is_resolved_before_it_is_judged() -> None:
    for spelling in ("127.0.0.1", "127.1", "2130706433", "0x7f000001", "localhost"):
        found = await resolve(spelling, 443)
        assert found
        assert not any(is_public(address) for address in found)
