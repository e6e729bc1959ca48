"""The sign-in of a program: the real one asks, and a user approves or denies in a real browser."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.processes import Running
from tests.browser.registry import PASSWORD, Registry


def start_login(registry: Registry, home: Path) -> tuple[Running, str]:
    """Start `login` on another machine; return it with the code that it shows."""
    home.mkdir()
    kept = {name: text for name, text in os.environ.items() if not name.startswith("VSKILL_")}
    own = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
    }
    arguments = ["login", registry.url, "--no-browser"]
    running = registry.platform.start_elsewhere(arguments, {**kept, **own}, home)
    (code,) = re.findall(r"[A-Z]{4}-[A-Z]{4}", running.wait_for("enter the code"))
    return running, str(code)


@pytest.mark.slow
def test_a_program_is_signed_in_by_a_user_who_signs_in_first(
    ben: Page, cyd: Page, registry: Registry, tmp_path: Path
) -> None:
    running, code = start_login(registry, tmp_path / "home")

    ben.goto(f"/device?user_code={code}")  # as the link of the program, in a new browser
    ben.get_by_label("Name").fill("cyd")
    ben.get_by_label("Password").fill(PASSWORD)
    ben.get_by_role("button", name="Sign in").click()
    expect(ben.locator("main")).to_contain_text("is asking for access to your account cyd")
    expect(ben.locator("main")).to_contain_text(code)
    ben.get_by_role("button", name="Approve").click()

    expect(ben.get_by_role("status")).to_contain_text("Approved.")
    assert running.wait() == 0
    tokens = tmp_path / "home/.config/vskill-platform/tokens.json"
    assert tokens.stat().st_mode & 0o777 == 0o600
    cyd.goto("/account")
    expect(cyd.locator("main")).to_contain_text("vskill-platform on")


@pytest.mark.slow
def test_a_program_that_is_denied_gets_nothing(
    plain_cyd: Page, registry: Registry, tmp_path: Path
) -> None:
    running, code = start_login(registry, tmp_path / "home")

    plain_cyd.goto("/device")
    plain_cyd.get_by_label("Code").fill(code.lower())  # typed by hand
    plain_cyd.get_by_role("button", name="Continue").click()
    plain_cyd.get_by_role("button", name="Deny").click()

    expect(plain_cyd.get_by_role("status")).to_contain_text("Denied.")
    running.wait_for("denied in the browser")
    assert running.wait() == 1


@pytest.mark.slow
def test_an_unknown_code_is_an_error_on_the_page(cyd: Page, registry: Registry) -> None:
    cyd.goto("/device")
    cyd.get_by_label("Code").fill("BCDF-GHJK")
    cyd.get_by_role("button", name="Continue").click()

    expect(cyd.get_by_role("alert")).to_be_visible()
    expect(cyd.get_by_role("button", name="Approve")).to_have_count(0)
