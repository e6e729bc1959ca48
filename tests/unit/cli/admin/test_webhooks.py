"""`admin webhooks` and `admin trusted-publishers` on the database of this machine."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from vskill_platform.access.namespaces import add_owner
from vskill_platform.access.users import add_user
from vskill_platform.cli.main import cli
from vskill_platform.cli.run_command import run_command
from vskill_platform.events.manage_webhooks import send_test_event
from vskill_platform.model.user import Role
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.db import commit
from vskill_platform.stores.webhook_store import get_delivery, write_delivery

URL = "https://hooks.example/in"


@pytest.fixture(autouse=True)
def own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry with the namespace @acme of the publisher ada, and the publisher ben."""
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'skills.db'}")

    async def fill() -> None:
        for name in ("ada", "ben"):
            await add_user(name, Role.PUBLISHER, actor="test")
        await add_owner("@acme", "ada", actor="test")

    run_command(fill, create=True)


def admin(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["admin", *arguments])


def json_of(*arguments: str) -> Any:
    done = admin(*arguments, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    return msgspec.json.decode(done.stdout)


def a_webhook() -> str:
    made = json_of("webhooks", "add", URL, "--owner", "ada", "--namespace", "@acme")
    return str(made["webhook"]["id"])


def a_failed_delivery(webhook: str) -> str:
    async def fail() -> str:
        delivery = await send_test_event(webhook, actor="ada")
        stored = await get_delivery(delivery.id)
        assert stored
        failed = msgspec.structs.replace(stored.record, state="failed", attempts=8)
        await commit([write_delivery(failed, expected=stored.revision)])
        return delivery.id

    return run_command(fail)


def actions() -> list[tuple[str, str]]:
    async def read() -> list[tuple[str, str]]:
        return [(one.action, one.actor) for one in (await list_audit(limit=10)).records]

    return run_command(read, read_only=True)


def test_a_webhook_is_added_listed_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "root")

    made = json_of("webhooks", "add", URL, "--owner", "ada", "--namespace", "@acme")
    listed = json_of("webhooks", "list")
    removed = admin("webhooks", "remove", made["webhook"]["id"])

    assert made["secret"].startswith("whsec_")
    assert listed["webhooks"] == [made["webhook"]]
    assert (made["webhook"]["owner"], made["webhook"]["namespace"]) == ("ada", "@acme")
    assert removed.exit_code == 0, removed.output
    assert json_of("webhooks", "list") == {"webhooks": []}
    assert {("webhook add", "root"), ("webhook remove", "root")} <= set(actions())


def test_a_webhook_is_changed_tested_and_gets_a_new_secret() -> None:
    webhook = a_webhook()

    changed = json_of("webhooks", "change", webhook, "--label", "ops", "--type", "skill.blocked")
    off = json_of("webhooks", "change", webhook, "--off")
    refused = admin("webhooks", "test", webhook)
    every = json_of("webhooks", "change", webhook, "--on", "--all-types")
    tested = admin("webhooks", "test", webhook)
    rotated = json_of("webhooks", "rotate", webhook)

    assert (changed["label"], changed["types"], off["isEnabled"]) == (
        "ops", ["skill.blocked"], False
    )  # fmt: skip
    assert (every["isEnabled"], every["types"]) == (True, [])
    assert "switch the webhook on first" in str(refused.exception)
    assert tested.exit_code == 0
    assert rotated["secret"].startswith("whsec_")
    (delivery,) = json_of("webhooks", "log", webhook)["deliveries"]
    assert delivery["type"] == "endpoint.test"


def test_failed_deliveries_are_listed_and_sent_again() -> None:
    webhook = a_webhook()
    delivery = a_failed_delivery(webhook)

    failed = json_of("webhooks", "log", webhook, "--failed")
    one = admin("webhooks", "replay", webhook, delivery)
    left = json_of("webhooks", "log", webhook, "--failed")
    a_failed_delivery(webhook)
    rest = admin("webhooks", "replay", webhook, "--failed", "--since", "2000-01-01T00:00:00Z")

    assert [(row["id"], row["attempts"]) for row in failed["deliveries"]] == [(delivery, 8)]
    assert "1 will be sent again." in one.stdout
    assert left == {"deliveries": []}
    assert "1 will be sent again." in rest.stdout


def test_a_trusted_publisher_is_added_listed_and_removed() -> None:
    made = json_of("trusted-publishers", "add", "@acme", "Acme/Tools", "--owner", "ada")

    listed = json_of("trusted-publishers", "list", "@acme")
    table = admin("trusted-publishers", "list", "@acme")
    removed = admin("trusted-publishers", "remove", made["id"])

    assert (made["repository"], made["addedBy"]) == ("acme/tools", "ada")
    assert listed["publishers"] == [made]
    assert "acme/tools" in table.stdout
    assert removed.exit_code == 0, removed.output
    assert json_of("trusted-publishers", "list", "@acme")["publishers"] == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("webhooks", "add", URL, "--owner", "ben", "--namespace", "@acme"), "@acme is not a"),
        (("webhooks", "add", URL, "--owner", "ada"), "only admins can add webhooks"),
        (("webhooks", "add", URL, "--owner", "zoe"), "zoe"),
        (("webhooks", "log", "whk_none"), "there is no webhook 'whk_none'"),
        (("webhooks", "remove", "whk_none"), "there is no webhook 'whk_none'"),
        (("webhooks", "change", "whk_none"), "say what to change"),
        (("webhooks", "change", "whk_none", "--label", "a" * 501), "of length <= 500"),
        (("webhooks", "rotate", "whk_none"), "there is no webhook 'whk_none'"),
        (("webhooks", "replay", "whk_none"), "name one delivery, or use --failed"),
        (("webhooks", "replay", "whk_none", "--failed"), "there is no webhook 'whk_none'"),
        (
            ("trusted-publishers", "add", "@acme", "acme/tools", "--owner", "ben"),
            "ben does not manage @acme",
        ),
        (("trusted-publishers", "remove", "tp_none"), "there is no trusted publisher 'tp_none'"),
    ],
)
def test_errors_have_a_clear_message(arguments: tuple[str, ...], problem: str) -> None:
    result = admin(*arguments)

    assert result.exit_code != 0
    assert problem in f"{result.exception}{result.output}"
