"""Settings: none is required, a wrong one stops the start and is named."""

import re
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from vskill_platform.errors import ConfigError
from vskill_platform.secret_settings import hide_secrets, show_url
from vskill_platform.setting_values import format_duration, parse_duration
from vskill_platform.settings import (
    Settings,
    load_settings,
    variable,
)


def test_nothing_has_to_be_set() -> None:
    settings = load_settings({})

    assert settings.max_batch_size == 3
    assert settings.max_concurrency == 10
    assert settings.stuck_threshold == timedelta(minutes=5)


def test_a_variable_sets_its_setting() -> None:
    settings = load_settings({"VSKILL_PORT": "9000", "VSKILL_LEASE": "1m30s"})

    assert (settings.port, settings.lease) == (9000, timedelta(seconds=90))


@all_cases(
    ("name", "value"),
    [
        ("VSKILL_FEATURED_SKILLS", "notes"),
        ("VSKILL_FEATURED_SKILLS", ",".join(f"ada/notes/{n}" for n in range(13))),
        ("VSKILL_PORT", "many"),
        ("VSKILL_LEASE", "soon"),
        ("VSKILL_LEASE", ""),
        ("VSKILL_LOG_FORMAT", "xml"),
        ("VSKILL_MAX_BATCH_SIZE", "0"),
    ],
)
def test_a_wrong_value_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load_settings({name: value})


@all_cases(
    ("name", "value", "fix"),
    [
        ("VSKILL_PORT", "many", "use a whole number"),
        ("VSKILL_PORT", "8000.5", "use a whole number"),
        ("VSKILL_PORT", "70000", "it must be at most 65535"),
        ("VSKILL_MAX_BATCH_SIZE", "0", "it must be at least 1"),
        ("VSKILL_JUDGE_PRICE_IN", "much", "use a number"),
        ("VSKILL_JUDGE_PRICE_IN", "-1", "it must be at least 0"),
        ("VSKILL_ACCESS_LOG", "yes", "use true or false"),
    ],
)
def test_the_error_about_a_value_says_what_to_write(name: str, value: str, fix: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_settings({name: value})

    assert str(error.value) == f"{name}={value}: {fix}"


def test_a_misspelt_name_is_noticed() -> None:
    with pytest.raises(ConfigError, match="did you mean VSKILL_DATABASE_URL"):
        load_settings({"VSKILL_DATABSE_URL": "sqlite:///x.db"})


def test_other_programs_may_share_the_prefix() -> None:
    assert load_settings({"VSKILL_API_BASE": "https://registry.example"}).port == 8000


@pytest.mark.parametrize(
    ("environ", "inner", "outer"),
    [
        ({"VSKILL_JUDGE_DEADLINE": "55s"}, "VSKILL_JUDGE_DEADLINE", "VSKILL_MESSAGE_DEADLINE"),
        ({"VSKILL_MESSAGE_DEADLINE": "2m"}, "VSKILL_MESSAGE_DEADLINE", "VSKILL_LEASE"),
        ({"VSKILL_STUCK_THRESHOLD": "1m"}, "VSKILL_LEASE", "VSKILL_STUCK_THRESHOLD"),
    ],
)
def test_deadlines_that_do_not_nest_stop_the_start(
    environ: dict[str, str], inner: str, outer: str
) -> None:
    with pytest.raises(ConfigError, match=rf"{inner} .* must be shorter than {outer}"):
        load_settings(environ)


@given(st.timedeltas(min_value=timedelta(milliseconds=1), max_value=timedelta(days=400)))
def test_a_duration_is_read_as_it_is_written(duration: timedelta) -> None:
    duration = timedelta(milliseconds=duration // timedelta(milliseconds=1))

    assert parse_duration(format_duration(duration)) == duration


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Settings().port = 1  # type: ignore[misc]  # that is the point


JUDGE = {"VSKILL_JUDGE_URL": "https://judge.example/v1", "VSKILL_JUDGE_MODEL": "m-1"}


@all_cases(
    ("environ", "named"),
    [
        ({"VSKILL_JUDGE_MODEL": "m-1"}, "VSKILL_JUDGE_MODEL is set, but VSKILL_JUDGE_URL is not"),
        ({"VSKILL_JUDGE_KEY": "k"}, "VSKILL_JUDGE_KEY is set, but VSKILL_JUDGE_URL is not"),
        ({"VSKILL_JUDGE_URL": "https://judge.example"}, "VSKILL_JUDGE_MODEL must be set"),
        ({**JUDGE, "VSKILL_JUDGE_URL": "judge.example/v1"}, "VSKILL_JUDGE_URL must be like"),
        ({**JUDGE, "VSKILL_JUDGE_URL": "ftp://judge.example"}, "VSKILL_JUDGE_URL must be like"),
        ({**JUDGE, "VSKILL_JUDGE_URL": "https://"}, "VSKILL_JUDGE_URL must be like"),
        ({**JUDGE, "VSKILL_JUDGE_URL": "https://a b/v1"}, "VSKILL_JUDGE_URL must be like"),
        ({**JUDGE, "VSKILL_JUDGE_URL": "https://☃.example"}, "VSKILL_JUDGE_URL must be like"),
        ({**JUDGE, "VSKILL_JUDGE_URL": "https://h:99999/v1"}, "VSKILL_JUDGE_URL must be like"),
        ({**JUDGE, "VSKILL_JUDGE_URL": "https://h/v1?key=x"}, "VSKILL_JUDGE_URL must be like"),
        ({**JUDGE, "VSKILL_JUDGE_OPTIONS": "[]"}, "VSKILL_JUDGE_OPTIONS must be a JSON object"),
        ({**JUDGE, "VSKILL_JUDGE_OPTIONS": "{"}, "VSKILL_JUDGE_OPTIONS must be a JSON object"),
        ({**JUDGE, "VSKILL_JUDGE_OPTIONS": '{"n": 2}'}, "VSKILL_JUDGE_OPTIONS must not set n"),
        ({**JUDGE, "VSKILL_JUDGE_MAX_CHARS": "10"}, "VSKILL_JUDGE_MAX_CHARS=10"),
        ({**JUDGE, "VSKILL_JUDGE_PRICE_IN": "-1"}, "VSKILL_JUDGE_PRICE_IN=-1"),
        ({**JUDGE, "VSKILL_JUDGE_DAILY_TOKENS": "0"}, "VSKILL_JUDGE_DAILY_TOKENS"),
        ({**JUDGE, "VSKILL_JUDGE_OVER_BUDGET": "x"}, "choose one of review, tier1"),
        ({**JUDGE, "VSKILL_JUDGE_MAY_LOWER": "perhaps"}, "VSKILL_JUDGE_MAY_LOWER=perhaps"),
        ({**JUDGE, "VSKILL_JUDGE_KEY_FIL": "x"}, "did you mean VSKILL_JUDGE_KEY_FILE"),
    ],
)
def test_a_judge_that_could_never_be_asked_stops_the_start(
    environ: dict[str, str], named: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(named)):
        load_settings(environ)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/v1", "http://[::1]:80", "https://10.0.0.5"])
def test_a_judge_may_be_anywhere(url: str) -> None:
    assert load_settings({**JUDGE, "VSKILL_JUDGE_URL": url}).judge_url == url


def test_a_password_in_the_url_of_the_judge_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="VSKILL_JUDGE_URL") as refused:
        load_settings({**JUDGE, "VSKILL_JUDGE_URL": "https://ada:hunter2@judge.example/v1"})

    assert "hunter2" not in str(refused.value)


def test_a_secret_may_lie_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-1\n")

    settings = load_settings({**JUDGE, "VSKILL_JUDGE_KEY_FILE": str(file)})

    assert settings.judge_key.reveal() == "sk-1"
    assert "sk-1" not in f"{settings} {settings!r} {settings.judge_key}"


def test_a_file_without_a_secret_stops_the_start(tmp_path: Path) -> None:
    missing, empty, binary = tmp_path / "missing", tmp_path / "empty", tmp_path / "binary"
    empty.write_text("\n")
    binary.write_bytes(b"\xff\xfe")

    for file, why in (
        (missing, "No such file"),
        (empty, "is empty"),
        (binary, "is not a text file"),
    ):
        with pytest.raises(ConfigError, match=rf"VSKILL_JUDGE_KEY_FILE=.*{why}"):
            load_settings({**JUDGE, "VSKILL_JUDGE_KEY_FILE": str(file)})


def test_a_secret_that_is_set_twice_or_cannot_be_sent_is_named_and_not_shown() -> None:
    with pytest.raises(ConfigError, match="both set"):
        load_settings({**JUDGE, "VSKILL_JUDGE_KEY": "k", "VSKILL_JUDGE_KEY_FILE": "f"})
    with pytest.raises(ConfigError, match="VSKILL_JUDGE_KEY contains") as refused:
        load_settings({**JUDGE, "VSKILL_JUDGE_KEY": "se\ncret"})

    assert "cret" not in str(refused.value).replace("secret", "")


@pytest.mark.parametrize("name", ["KEEP_FAILED", "KEEP_DEAD_LETTERS", "KEEP_AUDIT", "KEEP_YANKED"])
def test_records_are_kept_for_a_day_at_least_or_for_ever(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"VSKILL_{name} \(1m30s\) must be at least 1d, or 0s"):
        load_settings({f"VSKILL_{name}": "90s"})

    assert getattr(load_settings({f"VSKILL_{name}": "0s"}), name.lower()) == timedelta(0)
    assert getattr(load_settings({f"VSKILL_{name}": "1d"}), name.lower()) == timedelta(days=1)


_PASSWORDS = ["pass%40word", "pa:ss", "p%2Fw%3F%23"]


@pytest.mark.parametrize("password", _PASSWORDS)
def test_a_database_url_is_never_shown_with_its_password(password: str) -> None:
    url = f"postgresql://ada:{password}@db.example:5433/skills?schema=one&password={password}"

    settings = load_settings({"VSKILL_DATABASE_URL": url})

    shown = f"{settings} {settings!r} {settings.database_url} {settings.database_url!r}"
    assert password not in shown
    assert "ada" not in shown
    assert str(settings.database_url) == "postgresql://db.example:5433/skills"
    assert settings.database_url == url


def test_a_database_url_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://ada:secret@db/skills\n")

    settings = load_settings({"VSKILL_DATABASE_URL_FILE": str(file)})

    assert settings.database_url == "postgresql://ada:secret@db/skills"
    with pytest.raises(ConfigError, match="both set"):
        load_settings({"VSKILL_DATABASE_URL_FILE": str(file), "VSKILL_DATABASE_URL": "sqlite:///a"})


@pytest.mark.parametrize(
    "authority", ["ada:se@cret@db", "ada:se/cret@db", "ada:se?cret@db", "ada:se#cret@db", "db:cret"]
)
def test_a_password_that_is_not_encoded_is_refused_and_not_shown(authority: str) -> None:
    with pytest.raises(ConfigError, match=r"VSKILL_DATABASE_URL must be like .* %40") as refused:
        load_settings({"VSKILL_DATABASE_URL": f"postgresql://{authority}/skills"})

    assert "cret" not in str(refused.value)


def test_a_file_of_a_database_is_shown_as_it_is() -> None:
    settings = load_settings({"VSKILL_DATABASE_URL": "sqlite:////srv/my skills@home.db"})

    assert str(settings.database_url) == "sqlite:////srv/my skills@home.db"
    assert show_url("mysql://ada:secret@db/skills") == "mysql://db/skills"


def test_a_database_server_has_a_cache_folder_of_the_user() -> None:
    server = {"VSKILL_DATABASE_URL": "postgresql://db/skills", "HOME": "/home/ada"}

    assert load_settings({}).cache_dir == ""
    assert load_settings(server).cache_dir == "/home/ada/.cache/vskill-platform/registry"
    elsewhere = load_settings({**server, "XDG_CACHE_HOME": "/cache"})
    assert elsewhere.cache_dir == "/cache/vskill-platform/registry"
    with pytest.raises(ConfigError, match="VSKILL_CACHE_DIR=here: use an absolute path"):
        load_settings({"VSKILL_CACHE_DIR": "here"})


def test_the_url_for_notifications_is_a_secret_too() -> None:
    settings = load_settings({"VSKILL_DATABASE_LISTEN_URL": "postgresql://ada:hush-hush@db/skills"})

    assert "hush-hush" not in repr(settings)
    assert load_settings({}).database_listen_url == ""


def test_an_empty_variable_counts_as_unset_next_to_its_file(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://ada:secret@db.example/skills\n")

    settings = load_settings({"VSKILL_DATABASE_URL": "", "VSKILL_DATABASE_URL_FILE": str(file)})

    assert settings.database_url[:] == "postgresql://ada:secret@db.example/skills"


def refusal(name: str, value: str) -> ConfigError | None:
    try:
        load_settings({name: value})
    except ConfigError as error:
        return error
    return None


@all_cases(
    ("value", "password"),
    [
        ("https://ada:hunter2@host.acme.dev:port/x", "hunter2"),
        ("ada:hunter2@host.acme.dev", "hunter2"),
        ("other.acme.dev, https://ada:hunter2@host.acme.dev/x y", "hunter2"),
        ("https://host.acme.dev/?api_key=hunter2", "hunter2"),
        ('{"password": "hunter2", ', "hunter2"),
        ("https://ada:hun\\ter2@host.acme.dev/x", "ter2"),
    ],
)
def test_a_refused_setting_is_named_without_the_password_in_it(value: str, password: str) -> None:
    names = [variable(field.name) for field in msgspec.structs.fields(Settings)]

    refused = {name: error for name in names if (error := refusal(name, value))}

    assert len(refused) > 30
    assert not [name for name, error in refused.items() if password in str(error)]
    assert all(error.__suppress_context__ for error in refused.values())


def test_an_error_keeps_the_example_of_a_url_with_a_password() -> None:
    with pytest.raises(ConfigError, match="postgresql://user:password@host"):
        load_settings({"VSKILL_DATABASE_URL": "postgresql://ada:p@ss@host/db"})


@all_cases("start", ["?", '{"', "&"])
def test_secrets_are_hidden_in_a_time_that_grows_with_the_length(start: str) -> None:
    text = start + "key" * 300_000

    assert hide_secrets(text) == text
    assert hide_secrets("message", of=text) == "message"
