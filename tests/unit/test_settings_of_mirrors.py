"""The file of mirrors: each mistake stops the start and says what to write instead."""

from datetime import timedelta
from pathlib import Path

import pytest

from vskill_platform.errors import ConfigError
from vskill_platform.mirror_settings import MirrorKind, read_mirrors
from vskill_platform.settings import load_settings

FULL = """
[hub]
kind = "clawhub"
url = "https://hub.example/"
token_file = "{folder}/token"
allow = ["acme/*"]
deny = ["acme/internal-*"]
min_age = "3d"
offline = true

[site]
kind = "discovery"
url = "https://site.example/skills"
"""


def write(folder: Path, text: str) -> str:
    (folder / "token").write_text("vsk_secret\n")
    path = folder / "mirrors.toml"
    path.write_text(text.replace("{folder}", str(folder)))
    return str(path)


def test_every_option_is_read(tmp_path: Path) -> None:
    hub, site = read_mirrors(write(tmp_path, FULL))

    assert (hub.name, hub.kind, hub.url) == ("hub", MirrorKind.CLAWHUB, "https://hub.example")
    assert (hub.token.reveal(), hub.offline) == ("vsk_secret", True)
    assert "vsk_secret" not in repr(hub)
    assert hub.min_age == timedelta(days=3)
    assert [hub.takes(name) for name in ("acme/demo", "acme/internal-x", "ada/x")] == [
        True,
        False,
        False,
    ]
    assert (site.url, site.takes("anything"), site.min_age) == (
        "https://site.example/skills",
        True,
        timedelta(0),
    )


def test_without_a_file_nothing_is_mirrored() -> None:
    assert read_mirrors("") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[hub", "it is not TOML"),
        ("hub = 1", "each mirror is a table"),
        ('[my_hub]\nkind = "vskill"\nurl = "https://a.example"', "'my_hub' is not"),
        ('[hub]\nkind = "npm"\nurl = "https://a.example"', "the mirror hub: Invalid enum value"),
        ('[hub]\nkind = "vskill"', "missing required field `url`"),
        ('[hub]\nkind = "vskill"\nurl = "a.example"', "the url must be like https"),
        ('[hub]\nkind = "vskill"\nurl = "https://u:p@a.example"', "the url must be like https"),
        ('[hub]\nkind = "vskill"\nurl = "https://a.example"\nage = 1', "unknown field `age`"),
        ('[hub]\nkind = "vskill"\nurl = "https://a.example"\nmin_age = "3"', "is not a duration"),
        ('[hub]\nkind = "vskill"\nurl = "https://a.example"\nmin_age = "999d"', "at most 365d"),
        ('[hub]\nkind = "vskill"\nurl = "https://a.example"\nallow = []', "allow is empty"),
        ('[hub]\nkind = "vskill"\nurl = "https://a.example"\ndeny = [""]', "at most 1000 patterns"),
        (
            '[hub]\nkind = "vskill"\nurl = "https://a.example"\ntoken_file = "{folder}/none"',
            "the file cannot be read",
        ),
        (
            '[hub]\nkind = "vskill"\nurl = "http://a.example"\ntoken_file = "{folder}/token"',
            "only sent over https",
        ),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)

    with pytest.raises(ConfigError, match=message) as caught:
        load_settings({"VSKILL_MIRRORS": path})

    assert "VSKILL_MIRRORS" in str(caught.value)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"VSKILL_MIRRORS=.*none\.toml: the file cannot be read"):
        load_settings({"VSKILL_MIRRORS": str(tmp_path / "none.toml")})


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(ConfigError, match="use an absolute path"):
        load_settings({"VSKILL_MIRRORS": "mirrors.toml"})


def test_plain_http_is_only_for_listed_hosts(tmp_path: Path) -> None:
    path = write(tmp_path, '[hub]\nkind = "vskill"\nurl = "http://10.0.0.7:8000"')
    with pytest.raises(ConfigError, match="VSKILL_PRIVATE_HOSTS"):
        load_settings({"VSKILL_MIRRORS": path})

    settings = load_settings(
        {"VSKILL_MIRRORS": path, "VSKILL_PRIVATE_HOSTS": "http://10.0.0.7:8000"}
    )

    assert settings.mirrors == path


@pytest.mark.parametrize("text", ["30s", "8d"])
def test_how_often_mirrors_are_compared_is_limited(text: str) -> None:
    with pytest.raises(ConfigError, match="VSKILL_MIRROR_EVERY must be between 1m and 7d"):
        load_settings({"VSKILL_MIRROR_EVERY": text})
