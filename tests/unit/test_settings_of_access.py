"""Settings about sign-in, access and rate limits."""

from datetime import timedelta

import pytest

from tests.cases import all_cases
from vskill_platform.errors import ConfigError
from vskill_platform.settings import load_settings


def test_access_and_its_limits_can_be_set() -> None:
    settings = load_settings(
        {
            "VSKILL_SUBMIT_BY": "publishers",
            "VSKILL_SESSION_LIFETIME": "12h",
            "VSKILL_READS_PER_MINUTE": "1000",
            "VSKILL_TRUSTED_PROXIES": "10.0.0.0/8, 2001:db8::1",
        }
    )

    assert settings.submit_by == "publishers"
    assert settings.session_lifetime == timedelta(hours=12)
    assert settings.reads_per_minute == 1000


@all_cases(
    ("name", "value"),
    [
        ("VSKILL_SUBMIT_BY", "everybody"),
        ("VSKILL_SESSION_LIFETIME", "0s"),
        ("VSKILL_READS_PER_MINUTE", "0"),
        ("VSKILL_SIGN_INS_PER_MINUTE", "many"),
        ("VSKILL_TRUSTED_PROXIES", "*"),
        ("VSKILL_TRUSTED_PROXIES", "proxy.example"),
    ],
)
def test_a_wrong_one_stops_the_start_and_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load_settings({name: value})


@all_cases(
    ("environ", "submit_by"),
    [
        ({}, "anyone"),
        ({"VSKILL_HOST": "::1"}, "anyone"),
        ({"VSKILL_HOST": "localhost"}, "anyone"),
        ({"VSKILL_PUBLIC_URL": "http://127.0.0.1:8000"}, "anyone"),
        ({"VSKILL_HOST": "0.0.0.0"}, "signed_in"),  # noqa: S104 - not bound
        ({"VSKILL_HOST": "::"}, "signed_in"),
        ({"VSKILL_HOST": "10.0.0.7"}, "signed_in"),
        ({"VSKILL_HOST": "web.internal"}, "signed_in"),
        ({"VSKILL_PUBLIC_URL": "https://skills.example"}, "signed_in"),
        ({"VSKILL_HOST": "0.0.0.0", "VSKILL_SUBMIT_BY": "anyone"}, "anyone"),  # noqa: S104 - the same
    ],
)
def test_submitting_to_a_reachable_registry_needs_an_account_by_default(
    environ: dict[str, str], submit_by: str
) -> None:
    assert load_settings(environ).submit_by == submit_by


def test_no_proxy_is_trusted_by_default() -> None:
    assert load_settings({}).trusted_proxies == ""


@pytest.mark.parametrize("text", ["https://skills.example", "skills.example:80", "a b", "*"])
def test_a_name_that_no_request_could_have_stops_the_start(text: str) -> None:
    with pytest.raises(ConfigError, match="VSKILL_ALLOWED_HOSTS"):
        load_settings({"VSKILL_ALLOWED_HOSTS": text})
