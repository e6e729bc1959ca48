"""Settings about who gets in, and how often."""

from datetime import timedelta

import pytest

from vskill_platform.errors import ConfigError
from vskill_platform.settings import load_settings


def test_who_may_submit_and_how_often_can_be_set() -> None:
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


@pytest.mark.parametrize(
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
