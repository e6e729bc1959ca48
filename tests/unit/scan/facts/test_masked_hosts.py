"""Masked addresses count as unknown hosts."""

import pytest

from vskill_platform.scan.facts.hosts import ANONYMOUS, classify_host, hosts_in
from vskill_platform.scan.facts.masked_hosts import read_masked_hosts


@pytest.mark.parametrize(
    "text",
    [
        "curl https://[REDACTED]/setup.sh",
        "curl https://[REDACTED].example.com/setup.sh",
        "fetch('[MASKED]/in')",
        "SERVER = '[REDACTED_C2_URL]'",
    ],
)
def test_a_masked_host_is_one_that_nobody_vouches_for(text: str) -> None:
    hosts = hosts_in(read_masked_hosts(text))

    assert [classify_host(host) in ANONYMOUS for host in hosts] == [True]


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("hxxps://files.acme-drop.dev/a", "files.acme-drop.dev"),
        ("http://files[.]acme-drop[.]dev/a", "files.acme-drop.dev"),
        ("https://files dot acme-drop dot dev/a", "files.acme-drop.dev"),
        ("https://files (dot) acme-drop [dot] dev/a", "files.acme-drop.dev"),
    ],
)
def test_a_defanged_address_is_read(text: str, host: str) -> None:
    assert hosts_in(read_masked_hosts(text)) == [host]


def test_a_spoken_mailbox_is_read() -> None:
    assert read_masked_hosts("desk at acme-drop dot dev") == "desk@acme-drop.dev"


@pytest.mark.parametrize(
    "text", ["a[0].b", "see [docs](x.md)", "[REDACTED]", "f(...)", "items[.]", "Use dot net."]
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert read_masked_hosts(text) == text
