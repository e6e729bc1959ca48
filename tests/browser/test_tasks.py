"""The main tasks of visitors, each in as few steps as the pages offer."""

import re
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.browser.registry import RISKY, STEALS, Registry, own_words, wait_for_state
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_somebody_says_why_a_skill_was_rejected_and_shares_the_finding(
    ben: Page, registry: Registry
) -> None:
    name = f"steal-{token_hex(4)}"
    registry.submit(ben, registry.repo(name, run_dot_sh=STEALS * 2))
    wait_for_state(ben, "Failed checks")
    ben.goto("/")

    ben.get_by_role("main").get_by_label("Search skills").fill(name)
    ben.get_by_role("main").get_by_role("button", name="Search").click()
    why = ben.get_by_role("status").filter(has_text="failed the checks")
    expect(why).to_contain_text("Runs code from an untrusted host")
    why.get_by_role("link", name=name).click()
    card = ben.locator(".finding", has_text="run.sh:1").first
    expect(card).to_contain_text("Runs code from an untrusted host")
    card.get_by_role("link", name="Link to this finding").first.click()

    expect(ben).to_have_url(re.compile("#finding-"))
    shared = ben.url
    ben.goto("/")
    ben.goto(shared)
    expect(ben.locator(".finding:target")).to_contain_text("Runs code from an untrusted host")


@pytest.mark.slow
def test_a_reviewer_approves_the_oldest_review_and_those_after_it(
    plain_cyd: Page, ben: Page, registry: Registry
) -> None:
    name = f"wait-{token_hex(4)}"
    registry.submit(ben, registry.repo(name, run_dot_sh=RISKY))
    wait_for_state(ben, "Needs review")
    plain_cyd.goto("/admin")

    plain_cyd.get_by_role("link", name="Reviews", exact=True).click()
    with plain_cyd.expect_navigation():
        plain_cyd.get_by_role("link", name="Start with the oldest").click()
    expect(plain_cyd.get_by_label("Reviews")).to_contain_text("1 of ")
    title = plain_cyd.get_by_role("heading", level=1)
    while title.text_content() != name:  # other tests left theirs
        with plain_cyd.expect_navigation():
            plain_cyd.get_by_role("link", name="Next", exact=True).click()
    plain_cyd.get_by_label("Reason").fill("our own tool")
    plain_cyd.get_by_role("button", name="Approve and publish").click()

    expect(plain_cyd.get_by_role("status")).to_contain_text(f"{name} is published")
    ben.goto(f"/skills?q={name}")
    expect(ben.locator("#results")).to_contain_text(name)


@pytest.mark.slow
def test_an_admin_blocks_a_publisher_and_a_visitor_says_why(
    plain_cyd: Page, plain_ben: Page, ben: Page, registry: Registry
) -> None:
    name, why = f"gone-{token_hex(4)}", f"seen stealing {token_hex(4)}"
    slug = registry.publish(ben, name)
    plain_cyd.goto(f"/skills?q={name}")

    plain_cyd.get_by_role("link", name=name).first.click()
    plain_cyd.get_by_role("link", name="Manage").click()
    plain_cyd.get_by_role("link", name="Everything by").click()
    preview = plain_cyd.get_by_role("region", name="Block")
    expect(preview).to_contain_text("1 skill would be taken down")
    expect(preview).to_contain_text(slug)
    preview.get_by_label("Reason", exact=True).fill(why)
    preview.get_by_role("button", name="Block", exact=True).click()
    expect(plain_cyd.get_by_role("status")).to_contain_text("1 skill taken down")

    plain_ben.goto("/")
    blocked = plain_ben.get_by_role("region", name="Recently blocked")
    expect(blocked).to_contain_text(why, ignore_case=True)
    blocked.get_by_role("link", name=name).click()
    expect(plain_ben.locator("main")).to_contain_text(why, ignore_case=True)
    plain_ben.goto("/")
    plain_ben.get_by_role("main").get_by_label("Search skills").fill(name)
    plain_ben.get_by_role("main").get_by_role("button", name="Search").click()
    expect(plain_ben.get_by_role("region", name="Skills")).to_contain_text(why, ignore_case=True)
    plain_cyd.get_by_role("link", name="Audit log").click()
    plain_cyd.get_by_label("Action").fill("block add")
    plain_cyd.get_by_role("button", name="Filter").click()
    expect(plain_cyd.locator("tbody tr", has_text=why)).to_contain_text("cyd")


@pytest.mark.slow
@pytest.mark.parametrize("admin", ["cyd", "plain_cyd"])
def test_an_admin_changes_the_policy_after_seeing_whom_it_affects(
    admin: str, request: pytest.FixtureRequest, growing: str
) -> None:
    page: Page = request.getfixturevalue(admin)
    most = {"cyd": "900", "plain_cyd": "901"}[admin]
    page.goto("/admin")

    page.get_by_role("link", name="Policy", exact=True).click()
    page.get_by_label("Files per skill").fill(most)
    page.get_by_role("button", name="Preview changes").click()
    expect(page.locator("tr.add")).to_contain_text([f"max_files = {most}"])
    expect(page.locator("main")).to_contain_text("Nothing would change.")
    page.get_by_label("Reason").fill("smaller skills")
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_role("status")).to_contain_text("is saved")
    expect(page.get_by_label("Files per skill")).to_have_value(most)
    page.get_by_role("button", name="Edit as text").click()
    expect(page.get_by_label("Policy as TOML")).to_have_value(re.compile(f"max_files = {most}"))
    page.get_by_role("link", name="Versions").click()
    page.locator("tbody a").first.click()
    expect(page.locator("main")).to_contain_text("Smaller skills")


@pytest.mark.slow
def test_an_admin_restores_an_earlier_policy(plain_cyd: Page) -> None:
    for most in ("910", "911"):
        _save_policy(plain_cyd, most)
    earlier = plain_cyd.locator("section", has=plain_cyd.get_by_role("heading", name="Versions"))

    earlier.get_by_role("link", name="Version").nth(1).click()
    plain_cyd.get_by_role("button", name="Restore").click()
    expect(plain_cyd.locator("tr.add")).to_contain_text(["max_files = 910"])
    expect(plain_cyd.get_by_label("Reason")).to_have_value(re.compile("Restore version"))
    plain_cyd.get_by_role("button", name="Save", exact=True).click()

    expect(plain_cyd.get_by_role("status")).to_contain_text("is saved")
    expect(plain_cyd.get_by_label("Files per skill")).to_have_value("910")


def _save_policy(page: Page, most: str) -> None:
    page.goto("/admin/policy")
    page.get_by_label("Files per skill").fill(most)
    page.get_by_role("button", name="Preview changes").click()
    page.get_by_label("Reason").fill(f"at most {most}")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Files per skill")).to_have_value(most)


@pytest.mark.slow
def test_an_admin_downloads_what_one_actor_did(plain_cyd: Page, growing: str) -> None:
    why = f"note {token_hex(4)}"
    plain_cyd.goto("/admin/queue")
    plain_cyd.get_by_label("Reason", exact=True).fill(why)
    plain_cyd.get_by_role("button", name="Pause").click()
    plain_cyd.get_by_role("button", name="Resume now").click()

    plain_cyd.get_by_role("link", name="Audit log").click()
    plain_cyd.locator("tbody tr", has_text=why).get_by_role("link", name="pause").click()
    expect(plain_cyd.locator("tbody tr").first).to_contain_text(why)
    with plain_cyd.expect_download() as started:
        plain_cyd.get_by_role("link", name="CSV").click()

    lines = started.value.path().read_text().splitlines()
    assert any(why in line for line in lines)
    assert all('"pause"' in line for line in lines[1:])


@pytest.mark.slow
def test_a_publisher_finds_what_became_of_several_skills(cyd: Page, registry: Registry) -> None:
    good, bad = f"good-{token_hex(4)}", f"more-{token_hex(4)}"
    registry.submit(cyd, registry.repo(good, bad))

    cyd.get_by_role("button", name="Submit selected").click()
    expect(cyd.get_by_role("heading", name="All checked")).to_be_visible(timeout=40_000)
    expect(cyd.locator("#rows tbody tr")).to_have_count(2)
    cyd.get_by_role("link", name="cyd", exact=True).click()

    own = cyd.get_by_role("region", name="Your submissions")
    expect(own).to_contain_text(good)
    own.get_by_role("link", name="Show all").click()
    expect(cyd.locator("#rows")).to_contain_text(bad)
    expect(cyd.get_by_role("link", name="Remove filter Your submissions")).to_be_visible()


@pytest.mark.slow
def test_staff_feature_a_skill_on_the_home_page(plain_cyd: Page, growing: str) -> None:
    plain_cyd.goto(f"/skills?q={growing}")

    plain_cyd.get_by_role("link", name=growing).first.click()
    plain_cyd.get_by_role("link", name="Manage").click()
    plain_cyd.get_by_role("button", name="Feature it").click()
    expect(plain_cyd.get_by_role("status")).to_contain_text("is featured on the home page")

    plain_cyd.goto("/")
    expect(plain_cyd.get_by_role("region", name="Featured")).to_contain_text(growing)
    plain_cyd.goto("/admin/featured")
    row = plain_cyd.locator("tbody tr", has_text=growing)
    row.get_by_role("button", name="Stop featuring").click()
    expect(plain_cyd.get_by_role("status")).to_contain_text("is no longer featured")


@pytest.mark.slow
def test_text_that_was_not_saved_is_still_there_when_the_admin_comes_back(cyd: Page) -> None:
    cyd.goto("/admin/policy?edit=text")
    editor = cyd.get_by_label("Policy as TOML")
    saved = editor.input_value()
    editor.press_sequentially("# mine ")
    cyd.goto("/admin/audit")

    cyd.goto("/admin/policy?edit=text")
    expect(editor).to_have_value(re.compile("# mine "))
    cyd.get_by_role("button", name="Discard it").click()

    expect(editor).to_have_value(saved)
    cyd.reload()
    expect(editor).to_have_value(saved)


@pytest.mark.slow
def test_a_form_keeps_what_was_typed_when_its_action_is_refused(cyd: Page) -> None:
    cyd.goto("/admin/people")

    cyd.get_by_text("Invite user").click()
    cyd.get_by_label("Name", exact=True).first.fill("Not A Name")
    cyd.get_by_label("Role").first.select_option("reviewer")
    cyd.get_by_role("button", name="Invite").click()

    expect(cyd.get_by_role("alert")).to_contain_text("cannot be a user name")
    expect(cyd.get_by_label("Name", exact=True).first).to_have_value("Not A Name")
    expect(cyd.get_by_label("Role").first).to_have_value("reviewer")


@pytest.mark.slow
def test_a_search_without_results_takes_the_whole_width(ben: Page) -> None:
    # Too long to be corrected to a random name, or to the port in one, of another test.
    ben.goto("/skills?q=jqxzwjqxzwjqxzw")
    expect(ben.get_by_role("heading", name="No skills found")).to_be_visible()

    found = ben.locator("#results").bounding_box()
    searched = ben.locator("main form[role=search]").bounding_box()

    assert found
    assert searched
    assert found["width"] == searched["width"]


@pytest.mark.slow
def test_the_review_desk_is_worked_through_with_the_keyboard(
    cyd: Page, ben: Page, registry: Registry
) -> None:
    names = [f"keys-{token_hex(4)}" for _ in range(2)]
    urls = []
    for name in names:
        registry.submit(ben, registry.repo(name, run_dot_sh=RISKY))
        wait_for_state(ben, "Needs review")
        urls.append("/admin/reviews/" + ben.url.rpartition("/")[2])
    title = cyd.get_by_role("heading", level=1)
    cyd.goto(urls[0])

    cyd.keyboard.press("?")
    shortcuts = cyd.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_contain_text("Write the reason")
    cyd.keyboard.press("Escape")
    cyd.keyboard.press("j")
    expect(title).to_have_text(names[1])
    cyd.keyboard.press("k")
    expect(title).to_have_text(names[0])
    cyd.keyboard.press("r")
    expect(cyd.get_by_label("Reason")).to_be_focused()
    cyd.keyboard.type("jk? as agreed")  # keys in a field are text
    cyd.keyboard.press("Tab")
    cyd.keyboard.press("Enter")

    expect(cyd.get_by_role("status")).to_contain_text(f"{names[0]} is published")
    expect(title).to_have_text(names[1])
