"""The registered domain of a host."""

from tests.cases import all_cases
from vskill_platform.scan.facts.registered_domain import registered_domain


@all_cases(
    ("host", "domain"),
    [
        ("acme.com", "acme.com"),
        ("a.b.acme.co.uk", "acme.co.uk"),
        ("shop.acme.github.io", "github.io"),
        ("a.b.anything.ck", "b.anything.ck"),
        ("a.www.ck", "www.ck"),
        ("www.acme.\u516c\u53f8.cn", "acme.\u516c\u53f8.cn"),
        ("www.acme.xn--55qx5d.cn", "acme.xn--55qx5d.cn"),
    ],
)
def test_the_registered_part_is_known(host: str, domain: str) -> None:
    assert registered_domain(host) == domain


@all_cases("host", ["localhost", "co.uk", "anything.ck", "a.unheard-of", "x...onion", ""])
def test_a_host_without_such_a_part_stays_as_it_is(host: str) -> None:
    assert registered_domain(host) == host
