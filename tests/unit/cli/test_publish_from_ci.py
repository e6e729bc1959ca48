"""`publish` in a CI job: it says when it does not use the identity of the job."""

from pathlib import Path

import pytest

from vskill_platform.cli.publish import PublishOptions, _from_ci
from vskill_platform.client.credentials import Target

TARGET = Target(name="hub", url="https://skills.example")


def the_options() -> PublishOptions:
    return PublishOptions(
        path=Path(),
        namespace="",
        is_private=False,
        dry_run=False,
        no_scan=False,
        wait=False,
        as_json=False,
    )


def test_a_job_that_names_no_namespace_gets_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VSKILL_ID_TOKEN", "signed")

    target = _from_ci(TARGET, the_options())

    assert target == TARGET
    assert "Use --namespace to publish as a trusted publisher." in capsys.readouterr().err


def test_nothing_is_printed_outside_of_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("VSKILL_ID_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL"):
        monkeypatch.delenv(name, raising=False)

    target = _from_ci(TARGET, the_options())

    assert (target, capsys.readouterr().err) == (TARGET, "")
