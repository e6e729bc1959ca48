"""`publish` in a CI job: it signs in as the job, and says so if it does not."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.cli.publish import PublishOptions, _from_ci
from vskill_platform.client.credentials import Target
from vskill_platform.errors import RegistryError

MADE = {"token": "vsk_made", "namespace": "@acme", "expiresAt": "2026-05-01T12:15:00Z"}


def the_options(namespace: str = "") -> PublishOptions:
    return PublishOptions(
        path=Path(),
        namespace=namespace,
        is_private=False,
        dry_run=False,
        no_scan=False,
        wait=False,
        as_json=False,
    )


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@pytest.fixture
def target(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Target:
    monkeypatch.setenv("VSKILL_ID_TOKEN", "signed")
    return Target(name="hub", url=server.url)


def a_refusal(status: int, detail: str) -> Reply:
    return Reply(status, msgspec.json.encode({"title": "Refused", "detail": detail}))


def test_the_registry_chooses_the_namespace_if_the_job_names_none(
    target: Target, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.replies = [Reply(body=msgspec.json.encode(MADE))]

    signed_in, options = _from_ci(target, the_options())

    assert (signed_in.token, options.namespace) == ("vsk_made", "@acme")
    assert "Only @acme trusts this repository" in capsys.readouterr().err


def test_a_job_that_nobody_trusts_continues_without_signing_in(
    target: Target, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.replies = [a_refusal(401, "no namespace trusts this job")]

    same, options = _from_ci(target, the_options())

    assert (same, options) == (target, the_options())
    assert "Continuing without signing in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("namespace", "refusal"),
    [
        ("@acme", a_refusal(401, "no trusted publisher matches")),
        ("", a_refusal(400, "several namespaces trust it")),
    ],
    ids=["the named one does not trust it", "several trust it"],
)
def test_a_namespace_that_is_not_clear_is_an_error(
    target: Target, server: ScriptedServer, namespace: str, refusal: Reply
) -> None:
    server.replies = [refusal]

    with pytest.raises(RegistryError):
        _from_ci(target, the_options(namespace))


def test_nothing_is_said_outside_of_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("VSKILL_ID_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL"):
        monkeypatch.delenv(name, raising=False)
    target = Target(name="hub", url="https://skills.example")

    assert _from_ci(target, the_options()) == (target, the_options())
    assert capsys.readouterr().err == ""
