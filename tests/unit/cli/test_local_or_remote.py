"""Where a command goes, and what the help and the tables look like."""

from pathlib import Path
from typing import Any

import pytest
from click import unstyle
from click.testing import CliRunner

from tests.cases import all_cases
from vskill_platform.cli.admin.group import ADMIN
from vskill_platform.cli.lazy import load
from vskill_platform.cli.local_or_remote import (
    DATABASE_VARIABLE,
    DEFAULT_DATABASE,
    REGISTRY_VARIABLE,
    find_registry,
)
from vskill_platform.cli.main import SECTIONS, cli
from vskill_platform.cli.output import tables
from vskill_platform.cli.short_help import SHORT_HELP
from vskill_platform.client import credentials
from vskill_platform.client.credentials import Target, remember_registry
from vskill_platform.errors import ConfigError
from vskill_platform.settings import Settings, variable

URL, OTHER = "https://skills.example", "https://other.example"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and a user who is not signed in anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    for name in (REGISTRY_VARIABLE, DATABASE_VARIABLE, "VSKILL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(credentials, "keep_in_keyring", lambda *_: False)
    return tmp_path


def test_the_names_are_those_of_the_settings() -> None:
    assert variable("database_url") == DATABASE_VARIABLE
    assert Settings().database_url == f"sqlite:///{DEFAULT_DATABASE}"
    assert credentials.REGISTRY_VARIABLE == REGISTRY_VARIABLE


def test_without_a_registry_or_a_database_the_command_says_what_to_do(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"login URL.*serve"):
        find_registry(None)

    assert list(here.iterdir()) == []


def test_the_first_that_is_set_decides(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / DEFAULT_DATABASE).touch()
    found: list[Any] = [find_registry(None)]
    remember_registry("work", URL, "vsk_1")
    found.append(find_registry(None))
    monkeypatch.setenv(DATABASE_VARIABLE, "sqlite:///other.db")
    found.append(find_registry(None))
    monkeypatch.setenv(REGISTRY_VARIABLE, OTHER)
    found.append(find_registry(None))
    found.append(find_registry("work"))

    work = Target(name="work", url=URL, token="vsk_1")
    assert found == [None, work, None, Target(name=OTHER, url=OTHER), work]


@all_cases(
    ("command", "url"),
    [
        (("search", "x"), "ftp://skills.example"),
        (("install", "x"), "https://"),
        (("publish", "."), "https://skills.example?x=1"),
        (("reviews",), "https://me@skills.example"),
        (("reviews", "list"), "http://[::1"),
        (("whoami",), "skills.example:0"),
        (("verify",), "https://a b"),
    ],
)
def test_an_invalid_address_is_wrong_usage(here: Path, command: tuple[str, ...], url: str) -> None:
    done = CliRunner().invoke(cli, [*command, "--registry", url])

    assert done.exit_code == 2
    assert "'--registry'" in done.output


@pytest.mark.parametrize(
    "command", [("submit", "x"), ("status", "x"), ("submissions",), ("search", "x"), ("reviews",)]
)
def test_no_command_creates_a_database_by_itself(here: Path, command: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, command)

    assert done.exit_code == 1
    assert isinstance(done.exception, ConfigError)
    assert list(here.iterdir()) == []


def test_a_misspelled_command_is_corrected() -> None:
    done = CliRunner().invoke(cli, ["publsh"])

    assert done.exit_code == 2
    assert "Did you mean 'publish'?" in done.output


@all_cases(
    ("typed", "meant"),
    [("uninstall", "remove"), ("upgrade", "update"), ("add", "install"), ("show", "info")],
)
def test_a_command_of_another_package_manager_is_answered_with_ours(typed: str, meant: str) -> None:
    done = CliRunner().invoke(cli, [typed])

    assert done.exit_code == 2
    assert f"Did you mean '{meant}'?" in done.output


def test_old_names_work_and_are_not_in_the_help() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).output
    old = CliRunner().invoke(cli, ["users", "--help"])
    new = CliRunner().invoke(cli, ["admin", "users", "--help"])

    assert "users" not in shown
    assert old.exit_code == new.exit_code == 0
    assert old.output.replace("cli users", "") == new.output.replace("cli admin users", "")


def test_list_with_a_named_database_lists_submissions(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, "sqlite:///x.db")

    done = CliRunner().invoke(cli, ["list", "--help"])

    assert "List submissions" in done.output


def test_in_a_pipe_a_table_has_tabs_and_no_heading(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show_table(("id", "text"), [("a", tables.Cell("b\tc\x1b[31m", "red"))])

    assert capsys.readouterr().out == "a\tb    c⟨U+001B⟩[31m\n"


def test_on_a_terminal_ids_are_never_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    name = "sub_" + "a" * 32

    tables.show_table(
        ("id", "state", "updated", "skill"),
        [(name, "TIER2_SCANNING", "12m ago", "@acme/a-skill-with-quite-a-long-name-" * 2)],
        keys=("id", "state"),
    )

    lines = unstyle(capsys.readouterr().out).splitlines()
    assert name in lines[1]
    assert "TIER2_SCANNING" in lines[1]
    assert max(map(len, lines)) <= 80


def test_the_help_shows_the_first_sentence_of_each_command() -> None:
    parts = [*SECTIONS.values(), *ADMIN.values()]
    places = [place for part in parts for place in part.values()]

    found = {place: load(place).get_short_help_str(1000) for place in places}

    assert found == SHORT_HELP
