"""The URL of this registry."""

import msgspec
import pytest

from vskill_platform.model.registry_url import base_url
from vskill_platform.settings import Settings


@pytest.mark.parametrize(
    ("changes", "url"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"host": ".".join("0000"), "port": 80}, "http://127.0.0.1:80"),
        ({"host": "::"}, "http://[::1]:8000"),
        ({"host": "::1"}, "http://[::1]:8000"),
        ({"public_url": "https://skills.example/"}, "https://skills.example"),
    ],
)
def test_the_url_is_one_that_a_browser_here_can_open(changes: dict[str, str], url: str) -> None:
    assert base_url(msgspec.structs.replace(Settings(), **changes)) == url
