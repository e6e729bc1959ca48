"""Settings: none is required, a wrong one stops the start and is named."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vskill_platform.errors import ConfigError
from vskill_platform.settings import Settings, format_duration, load_settings, parse_duration


def test_nothing_has_to_be_set() -> None:
    settings = load_settings({})

    assert settings.max_batch_size == 3
    assert settings.max_concurrency == 10
    assert settings.stuck_threshold == timedelta(minutes=5)


def test_a_variable_sets_its_setting() -> None:
    settings = load_settings({"VSKILL_PORT": "9000", "VSKILL_LEASE": "1m30s"})

    assert (settings.port, settings.lease) == (9000, timedelta(seconds=90))


@pytest.mark.parametrize(
    ("name", "value"),
    [
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
