"""A wrong setting stops the start with its name, before anything is created or changed."""

import socket

import pytest

from tests.acceptance.program import Platform


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("port", "eighty", "VSKILL_PORT=eighty: use a whole number"),
        ("port", "70000", "VSKILL_PORT=70000: it must be at most 65535"),
        ("lease", "5", "VSKILL_LEASE=5: '5' is not a duration such as 90s, 10m or 1h30m"),
        ("max_batch_size", "0", "VSKILL_MAX_BATCH_SIZE=0: it must be at least 1"),
        ("log_level", "LOUD", "VSKILL_LOG_LEVEL=LOUD: choose one of DEBUG, INFO, WARNING, ERROR"),
        ("leese", "90s", "VSKILL_LEESE is not a setting; did you mean VSKILL_LEASE?"),
        (
            "message_deadline",
            "10s",
            "VSKILL_JUDGE_DEADLINE (30s) must be shorter than VSKILL_MESSAGE_DEADLINE (10s)",
        ),
        (
            "lease",
            "50s",
            "VSKILL_MESSAGE_DEADLINE (55s) must be shorter than VSKILL_LEASE (50s)",
        ),
        (
            "stuck_threshold",
            "1m",
            "VSKILL_LEASE (1m25s) must be shorter than VSKILL_STUCK_THRESHOLD (1m)",
        ),
    ],
)
def test_a_wrong_setting_stops_the_start(
    platform: Platform, name: str, value: str, message: str
) -> None:
    refused = platform.run("serve", **{name: value})

    assert refused.code == 1
    assert refused.err.startswith(f"vskill-platform: {message}")
    assert "Traceback" not in refused.err
    assert not platform.database.exists()


def test_a_port_that_is_taken_is_named_with_what_to_set(platform: Platform) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        refused = platform.run("serve", port=str(port))

    assert refused.code == 1
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use" in refused.err
    assert "VSKILL_HOST and VSKILL_PORT" in refused.err


def test_a_host_that_is_not_ours_is_named_with_what_to_set(platform: Platform) -> None:
    refused = platform.run("serve", host="nowhere.invalid")

    assert refused.code == 1
    assert "cannot listen on nowhere.invalid:8000" in refused.err
    assert "VSKILL_HOST and VSKILL_PORT" in refused.err
