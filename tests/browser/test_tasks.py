"""What people come for, the shortest way that a page shows them."""

import re
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.browser.registry import STEALS, Registry, own_words, wait_for_state
from tests.casts import a_skill_folder
from tests.repos import commit_all

_ASKS = "import urllib.request\n\nurllib.request.urlopen('https://api.github.com/events')\n"


@pytest.fixture(scope="module")
def growing(chromium: Browser, registry: Registry, admin_state: StorageState) -> str:
    """A skill that reaches the network since 3.0.0; return its name."""
    name = f"grow-{token_hex(4)}"
    folder = registry.platform.folder / name
    skill = a_skill_folder(folder / "skills", name)
    text = own_words(name)
    versions = {
        version: text.replace("\n---\n#", f"\nmetadata:\n  version: {version}\n---\n#")
        for version in ("2.2.0", "3.0.0")
    }
    (skill / "SKILL.md").write_text(versions["2.2.0"])
    url = registry.git.serve_repo(folder, f"{name}/notes")
    with chromium.new_context(base_url=registry.url, storage_state=admin_state) as context:
        page = context.new_page()
        registry.submit(page, url)
        wait_for_state(page, "Published")
        (skill / "SKILL.md").write_text(versions["3.0.0"])
        (skill / "ask.py").write_text(_ASKS)
        commit_all(folder)
        registry.submit(page, url)
        expect(page.locator("#story")).to_contain_text("3.0.0", timeout=40_000)
    return name


@pytest.mark.parametrize("visitor", ["ben", "plain_ben"])
def test_somebody_finds_the_line_that_installs_a_skill_for_codex(
    visitor: str, request: pytest.FixtureRequest, growing: str
) -> None:
    page: Page = request.getfixturevalue(visitor)
    page.goto(f"/?q={growing}")

    page.get_by_role("link", name=growing).first.click()
    page.get_by_text("Codex", exact=True).click()

    line = page.locator(".install .panel:visible code")
    expect(line).to_contain_text(f"/notes/{growing} -a codex -y")


def test_somebody_sees_what_a_version_can_do_that_the_one_before_could_not(
    plain_ben: Page, growing: str
) -> None:
    plain_ben.goto(f"/?q={growing}")

    plain_ben.get_by_role("link", name=growing).first.click()
    plain_ben.get_by_role("link", name="Versions").click()
    expect(plain_ben.locator(".gain")).to_contain_text("api.github.com")
    plain_ben.get_by_role("link", name="Changes since 2.2.0").click()

    gained = plain_ben.locator(".notice", has_text="3.0.0 can do what 2.2.0 could not")
    expect(gained).to_contain_text("Network")
    expect(gained).to_contain_text("api.github.com")


def test_somebody_sees_the_line_behind_a_capability_and_that_an_old_version_had_none(
    plain_ben: Page, growing: str
) -> None:
    plain_ben.goto(f"/?q={growing}")
    plain_ben.get_by_role("link", name=growing).first.click()

    plain_ben.locator("summary.chip", has_text="Network").click()

    expect(plain_ben.get_by_role("link", name="ask.py:3")).to_be_visible()
    plain_ben.get_by_label("Version").select_option(label="2.2.0")
    plain_ben.get_by_role("button", name="Show").click()
    expect(plain_ben.locator(".skill-head")).to_contain_text("No network")


def test_somebody_finds_a_pdf_skill_that_cannot_reach_the_network(
    plain_ben: Page, ben: Page, registry: Registry
) -> None:
    word = f"pdf{token_hex(3)}"
    registry.publish(ben, f"{word}-offline")
    registry.publish(ben, f"{word}-online", ask_dot_py=_ASKS)
    plain_ben.goto("/")

    plain_ben.get_by_label("Search skills").fill(word)
    plain_ben.get_by_role("button", name="Search").click()
    plain_ben.get_by_role("link", name="Cannot reach the network").click()

    results = plain_ben.locator("#results li h2")
    expect(results).to_have_count(1)
    expect(results).to_contain_text(f"{word}-offline")
    chosen = plain_ben.get_by_role("link", name="Remove filter Cannot reach the network")
    expect(chosen).to_be_visible()


def test_somebody_says_why_a_skill_was_rejected_and_shares_the_finding(
    ben: Page, registry: Registry
) -> None:
    name = f"steal-{token_hex(4)}"
    registry.submit(ben, registry.repo(name, run_dot_sh=STEALS * 2))
    wait_for_state(ben, "Failed checks")
    ben.goto(f"/queue?q={name}")

    ben.get_by_role("link", name=name).first.click()
    card = ben.locator(".finding", has_text="run.sh:1").first
    expect(card).to_contain_text("Runs code from an untrusted host")
    card.get_by_role("link", name="Link to this finding").first.click()

    expect(ben).to_have_url(re.compile("#finding-"))
    shared = ben.url
    ben.goto("/")
    ben.goto(shared)
    expect(ben.locator(".finding:target")).to_contain_text("Runs code from an untrusted host")
