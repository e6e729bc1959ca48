"""Keyboard use, typing while a page updates, and folder uploads; with and without scripts."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.registry import RISKY, Registry, own_words, wait_for_state
from vskill_platform.web.html.numbers import ago_in_words


@pytest.mark.slow
def test_without_scripts_a_reason_can_be_typed_for_as_long_as_it_takes(
    plain_cyd: Page, registry: Registry
) -> None:
    registry.submit(plain_cyd, registry.repo("type-slowly", run_dot_sh=RISKY))
    wait_for_state(plain_cyd, "Needs review")
    plain_cyd.locator("details.confirm > summary").click()
    reason = plain_cyd.get_by_label("Reason")
    reason.fill("half a sen")

    expect(plain_cyd.locator("meta[http-equiv=refresh]")).to_have_count(0)
    expect(reason).to_have_value("half a sen")
    expect(plain_cyd.get_by_role("link", name="Refresh")).to_be_visible()


@pytest.mark.slow
def test_the_hint_about_typing_is_only_shown_with_scripts(cyd: Page, plain_cyd: Page) -> None:
    for path in ("/admin", "/admin/queue", "/admin/reviews", "/queue"):
        cyd.goto(path)
        plain_cyd.goto(path)

        expect(cyd.locator(".live")).to_be_visible()
        expect(cyd.get_by_role("link", name="Refresh")).to_have_count(0)
        expect(plain_cyd.locator(".live")).to_be_hidden()
        expect(plain_cyd.get_by_role("link", name="Refresh")).to_be_visible()


@pytest.mark.torture
def test_after_escape_field_address_and_results_agree(ben: Page, registry: Registry) -> None:
    registry.publish(ben, "leave-fields")
    registry.publish(ben, "plough-fields")
    ben.goto("/skills")

    ben.keyboard.press("/")
    ben.keyboard.type("leave-fields")
    expect(ben.locator("[data-rows] > *")).to_have_count(1)
    expect(ben).to_have_url(re.compile("q=leave-fields"))
    ben.keyboard.press("Escape")

    expect(ben.locator("#search")).to_have_value("leave-fields")
    expect(ben.locator("#search")).not_to_be_focused()
    expect(ben).to_have_url(re.compile("q=leave-fields"))
    expect(ben.locator("[data-rows] > *")).to_have_count(1)


@pytest.mark.slow
def test_the_slash_key_focuses_the_search_field_of_every_page(ben: Page) -> None:
    fields = {"/": "#search", "/submit": "#bar-search", "/queue": "#q", "/trust": "#bar-search"}
    for path, field in fields.items():
        ben.goto(path)

        ben.keyboard.press("/")

        expect(ben.locator(field)).to_be_focused()
        expect(ben.locator("[data-slash]")).to_have_count(1)


@pytest.mark.slow
def test_a_folder_is_chosen_with_the_file_picker(ben: Page, tmp_path: Path) -> None:
    folder = tmp_path / "fold-shirts"
    (folder / "notes").mkdir(parents=True)
    (folder / "SKILL.md").write_text(own_words("fold-shirts"))
    (folder / "notes" / "more.md").write_text("Fold twice.\n")
    ben.goto("/submit")

    ben.get_by_label("Folder", exact=True).last.set_input_files(folder)
    expect(ben.locator("[data-file-name]")).to_contain_text("fold-shirts: 2 files")
    expect(ben.locator("[data-file-name]")).to_contain_text("Not uploaded yet.")
    ben.get_by_role("button", name="Upload and submit").click()

    ben.wait_for_url("**/submissions/**")
    wait_for_state(ben, "Published")
    ben.get_by_role("link", name="View the published skill").click()
    ben.get_by_role("link", name=re.compile(r"^Files\b")).click()
    expect(ben.locator("main")).to_contain_text("more.md")


@pytest.mark.slow
def test_without_scripts_there_is_the_archive_alone(plain_ben: Page) -> None:
    plain_ben.goto("/submit")

    expect(plain_ben.get_by_label("Archive")).to_be_visible()
    expect(plain_ben.locator("#folder")).to_be_hidden()


@pytest.mark.slow
def test_submitting_without_a_selection_shows_an_error_and_the_list(
    ben: Page, registry: Registry
) -> None:
    registry.submit(ben, registry.repo("one-cup", "two-cups"))
    for box in ben.get_by_role("checkbox").all():
        box.uncheck()
    ben.get_by_role("button", name="Submit selected").click()

    expect(ben.get_by_role("alert")).to_contain_text("Choose at least one skill")
    ben.get_by_role("checkbox", name="two-cups").check()
    ben.get_by_role("checkbox", name="one-cup").check()
    ben.get_by_role("button", name="Submit selected").click()
    expect(ben.get_by_role("status")).to_contain_text("2 of 2 skills were submitted")


@pytest.mark.slow
def test_browser_and_server_say_the_same_of_every_length(ben: Page) -> None:
    lengths = [sign * seconds for sign in (1, -1) for seconds in _lengths()]
    ben.goto("/trust")

    said = ben.evaluate("(all) => all.map(agoInWords)", lengths)

    assert said == [ago_in_words(seconds) for seconds in lengths]


def _lengths() -> list[float]:
    """Return lengths around every place where the words change."""
    edges = [
        count * unit
        for unit in (60, 3600, 86_400, 30 * 86_400, 365 * 86_400)
        for count in (0.5, 1, 1.5, 2, 11.5, 23.5, 59.5, 89.6, 90, 99, 99.5, 100)
    ]
    return [0, 1, *(edge + step for edge in edges for step in (-1, 0, 1))]


@pytest.mark.slow
def test_the_question_mark_lists_the_shortcuts_and_escape_closes_them(ben: Page) -> None:
    ben.goto("/queue")

    ben.keyboard.press("?")

    shortcuts = ben.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_be_visible()
    ben.keyboard.press("Escape")
    expect(shortcuts).to_be_hidden()


@pytest.mark.slow
def test_on_a_phone_the_header_is_one_row_and_its_menu_needs_no_scripts(plain_ben: Page) -> None:
    plain_ben.set_viewport_size({"width": 320, "height": 700})
    plain_ben.goto("/queue")

    plain_ben.get_by_role("button", name="Menu").click()

    assert plain_ben.locator("header.bar").evaluate("bar => bar.offsetHeight") < 64
    plain_ben.get_by_role("navigation", name="Main").get_by_role("link", name="Trust").click()
    expect(plain_ben).to_have_url(re.compile("/trust$"))


@pytest.mark.slow
def test_a_selected_row_keeps_the_focus_when_its_list_is_updated(
    ben: Page, registry: Registry
) -> None:
    registry.publish(ben, "keep-the-focus")
    ben.goto("/queue")
    ben.keyboard.press("j")
    row = ben.evaluate("document.activeElement.textContent")

    ben.evaluate("""() => {
        document.querySelector("#rows time").textContent = "long ago";
        return swapFrom(location.href);
    }""")

    expect(ben.locator("#rows")).not_to_contain_text("long ago")
    assert ben.evaluate("document.activeElement.textContent") == row
