"""`admin check`: the problems that it finds."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from vskill_platform.access.users import add_user
from vskill_platform.base.tls import tls_context
from vskill_platform.cli.main import cli
from vskill_platform.cli.run_command import run_command
from vskill_platform.model.user import Role


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'skills.db'}")

    async def fill() -> None:
        await add_user("cyd", Role.ADMIN, actor="test")

    run_command(fill, create=True)


def check(*options: str) -> Result:
    return CliRunner().invoke(cli, ["admin", "check", *options])


def results(done: Result) -> dict[str, Any]:
    return {one["check"]: one for one in msgspec.json.decode(done.stdout)["checks"]}


def test_a_registry_that_is_set_up_passes() -> None:
    done = check("--json")

    found = results(done)
    assert done.exit_code == 0, done.output
    assert {one["result"] for one in found.values()} == {"ok", "not used"}
    assert {"settings", "database", "disk", "git", "address", "admin", "queue"} <= found.keys()
    assert {found["email"]["result"], found["sign-on"]["result"]} == {"not used"}


def test_what_does_not_answer_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSKILL_SMTP_URL", "smtp://127.0.0.1:1?tls=none")
    monkeypatch.setenv("VSKILL_MAIL_FROM", "skills@example.org")
    monkeypatch.setenv("VSKILL_OIDC_ISSUER", "http://127.0.0.1:1")
    monkeypatch.setenv("VSKILL_OIDC_CLIENT_ID", "vskill")

    done = check("--json")

    found = results(done)
    assert done.exit_code == 1
    assert {name for name, one in found.items() if one["result"] == "problem"} == {
        "email", "sign-on"
    }  # fmt: skip
    assert "127.0.0.1:1" in found["email"]["detail"]


def test_a_file_of_certificates_that_cannot_be_read_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tls_context.cache_clear()
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent/authorities.pem")

    done = check("--json")

    assert done.exit_code == 1
    assert "/nonexistent/authorities.pem" in results(done)["certificates"]["detail"]


def test_what_is_probably_wrong_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSKILL_PUBLIC_URL", "https://skills.example")

    done = check()

    assert done.exit_code == 0, done.output
    assert "VSKILL_TRUSTED_PROXIES" in done.stdout


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("VSKILL_PORT", "many", "VSKILL_PORT"), ("VSKILL_POLICY", "/nonexistent", "VSKILL_POLICY")],
)
def test_an_invalid_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)

    done = check()

    assert done.exit_code == 1
    assert words in str(done.exception)


def test_a_registry_without_an_admin_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'other.db'}")

    async def nothing() -> None:
        return None

    run_command(nothing, create=True)

    assert results(check("--json"))["admin"]["result"] == "warning"
