"""Passkeys in a real browser, with the virtual device of Chromium."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.registry import PASSWORD, Registry

_DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


@pytest.mark.slow
def test_a_passkey_is_added_and_signs_in_without_a_password(
    chromium: Browser, cyd: Page, registry: Registry
) -> None:
    cyd.goto("/admin/people")
    cyd.get_by_text("Invite user").click()
    cyd.get_by_label("Name", exact=True).fill("pia")
    cyd.get_by_role("button", name="Invite").click()
    link = cyd.get_by_label("Invitation").locator("code").inner_text()
    url = registry.url.replace("127.0.0.1", "localhost")  # passkeys need a name

    with chromium.new_context(base_url=url) as context:
        page = context.new_page()
        device = context.new_cdp_session(page)
        device.send("WebAuthn.enable")
        device.send("WebAuthn.addVirtualAuthenticator", {"options": _DEVICE})
        page.goto(link.replace("127.0.0.1", "localhost"))
        for field in page.locator("input[type=password]").all():
            field.fill(PASSWORD)
        page.locator("main form button").click()
        page.wait_for_url("**/account?done=welcome")
        page.goto("/account/security")
        page.get_by_label("Name").fill("Laptop")
        page.locator("#passkey-password").fill("not the password")
        page.get_by_role("button", name="Add a passkey").click()
        expect(page.get_by_role("alert")).to_have_text("the current password is wrong")
        page.locator("#passkey-password").fill(PASSWORD)
        page.get_by_role("button", name="Add a passkey").click()
        expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
        expect(page.locator("main")).to_contain_text("Laptop")
        page.get_by_role("button", name="Sign out", exact=True).click()
        page.wait_for_url(f"{url}/")

        page.goto("/sign-in?next=/account")
        page.get_by_role("button", name="Use a passkey").click()
        page.wait_for_url("**/account")
        expect(page.get_by_role("heading", name="pia")).to_be_visible()

        context.clear_cookies()
        page.goto("/sign-in?next=/account")
        page.get_by_label("Name").fill("pia")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/sign-in/second")
        page.get_by_role("button", name="Use a passkey").click()
        page.wait_for_url("**/account")
        expect(page.get_by_role("heading", name="pia")).to_be_visible()
