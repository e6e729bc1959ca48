"""Settings about hosts and folders of skills: canonical, and checked at the start."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.cases import all_cases
from vskill_platform.errors import ConfigError
from vskill_platform.settings import allowed_folders, allowed_origins, load_settings


def test_a_host_has_a_scheme_and_a_port_even_if_nobody_wrote_them() -> None:
    settings = load_settings(
        {"VSKILL_PRIVATE_HOSTS": "git.Example, git.example:8443,http://10.0.0.7:80, https://b"}
    )

    assert allowed_origins(settings) == {
        "https://git.example:443",
        "https://git.example:8443",
        "http://10.0.0.7:80",
        "https://b:443",
    }


def test_folders_are_listed_with_commas() -> None:
    settings = load_settings({"VSKILL_LOCAL_FOLDERS": "/srv/skills , /home/ada"})

    assert allowed_folders(settings) == (Path("/srv/skills"), Path("/home/ada"))


def test_by_default_nothing_private_is_within_reach() -> None:
    settings = load_settings({})

    assert allowed_origins(settings) == frozenset()
    assert allowed_folders(settings) == ()
    assert settings.fetch_deadline == timedelta(seconds=40)


@all_cases(
    ("variable", "value"),
    [
        ("VSKILL_PRIVATE_HOSTS", "*.example"),
        ("VSKILL_PRIVATE_HOSTS", "ftp://git.example"),
        ("VSKILL_PRIVATE_HOSTS", "https://git.example/path"),
        ("VSKILL_PRIVATE_HOSTS", "10.0.0.0/8"),
        ("VSKILL_LOCAL_FOLDERS", "skills"),
        ("VSKILL_DEFAULT_HOST", "https://git.example"),
        ("VSKILL_DEFAULT_HOST", ""),
        ("VSKILL_DEFAULT_HOST", "git example"),
    ],
)
def test_an_impossible_setting_stops_the_start(variable: str, value: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        load_settings({variable: value})
