"""One skill from the form to the download, in a browser, with scripts and without."""

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.registry import RISKY, STEALS, Registry, own_words, wait_for_state
from tests.casts import a_skill_folder


def test_a_skill_is_submitted_watched_found_read_and_downloaded(
    ben: Page, registry: Registry
) -> None:
    registry.submit(ben, registry.repo("sort-letters"))
    wait_for_state(ben, "Published")  # the page was never loaded again
    _find_read_and_download(ben, "sort-letters")


@pytest.mark.slow
def test_the_same_journey_works_without_scripts(plain_ben: Page, registry: Registry) -> None:
    registry.submit(plain_ben, registry.repo("count-letters"))
    wait_for_state(plain_ben, "Published")  # it loads itself again
    _find_read_and_download(plain_ben, "count-letters")


def _find_read_and_download(page: Page, name: str) -> None:
    page.goto(f"/?q={name}")
    page.get_by_role("link", name=name, exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    expect(page.locator(".prose")).to_be_visible()
    slug = page.url.partition("/skills/")[2]
    answer = page.request.get(f"/skills/{slug}/download")

    assert answer.status == 200
    archive = answer.body()
    assert answer.headers["etag"].strip('"') == hashlib.sha256(archive).hexdigest()
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        assert "SKILL.md" in [Path(member).name for member in files.getnames()]


@pytest.mark.slow
@pytest.mark.parametrize("visitor", ["ben", pytest.param("plain_ben", marks=pytest.mark.torture)])
def test_a_rejected_skill_says_what_was_found_where_and_what_to_do(
    visitor: str, request: pytest.FixtureRequest, registry: Registry
) -> None:
    page: Page = request.getfixturevalue(visitor)
    registry.submit(page, registry.repo("fast-setup", run_dot_sh=STEALS))

    wait_for_state(page, "Failed checks")

    finding = page.locator(".finding").first
    expect(finding).to_contain_text("run.sh:1")
    expect(finding).to_contain_text("How to fix:")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()


@pytest.mark.slow
def test_a_repo_with_several_skills_lets_the_visitor_choose(ben: Page, registry: Registry) -> None:
    registry.submit(ben, registry.repo("red-tea", "green-tea", "black-tea"))

    expect(ben.get_by_role("heading", name="3 skills found")).to_be_visible()
    ben.get_by_role("checkbox", name="black-tea").uncheck()
    ben.get_by_role("button", name="Submit selected").click()

    expect(ben.locator("#rows tbody tr")).to_have_count(2)
    expect(ben.locator("#rows .badge.good")).to_have_count(2, timeout=40_000)


@pytest.mark.slow
def test_the_queue_shows_changes_from_before_it_was_listening(
    ben: Page, registry: Registry
) -> None:
    held: list[Route] = []
    ben.route("**/live/queue", lambda route, _request: held.append(route))
    ben.goto("/queue?q=late-tea")
    url = registry.repo("late-tea")
    done = registry.platform.run("submit", url, "--path", "skills/late-tea", "--watch")
    while 'id="row-sub_' not in ben.request.get("/queue?q=late-tea").text():
        pass  # the index follows the database
    shown_before = ben.locator("#rows tbody tr").count()

    held[0].continue_()

    assert (done.code, shown_before) == (0, 0)
    expect(ben.locator("#rows tbody tr")).to_have_count(1)


@pytest.mark.slow
def test_an_archive_is_uploaded(ben: Page, registry: Registry, tmp_path: Path) -> None:
    archive = tmp_path / "pack-bags.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("pack-bags/SKILL.md", own_words("pack-bags"))

    ben.goto("/submit")
    ben.locator("#files").set_input_files(archive)
    ben.get_by_role("button", name="Upload and submit").click()

    wait_for_state(ben, "Published")
    expect(ben.locator("#story")).to_contain_text("Source@local/pack-bags")


def drop(page: Page, path: Path) -> None:
    """Drop a folder or a file of this machine on the field, as a hand would."""
    page.locator(".drop").scroll_into_view_if_needed()
    box = page.locator(".drop").bounding_box()
    assert box
    session = page.context.new_cdp_session(page)
    for step in ("dragEnter", "dragOver", "drop"):
        session.send(
            "Input.dispatchDragEvent",
            {
                "type": step,
                "x": box["x"] + 20,
                "y": box["y"] + 20,
                "data": {"items": [], "files": [str(path)], "dragOperationsMask": 1},
            },
        )


def count_submissions(registry: Registry) -> object:
    return registry.get_json("/api/v1/submissions")["total"]


@pytest.mark.slow
def test_a_folder_that_is_dropped_is_listed_and_waits_for_the_button(
    ben: Page, registry: Registry, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path, "drop-bags", notes_dot_txt="heavy\n")
    (folder / "SKILL.md").write_text(own_words("drop-bags"))
    before = count_submissions(registry)
    ben.goto("/submit")

    drop(ben, folder)

    expect(ben.locator("[data-file-name]")).to_contain_text("drop-bags: 2 files")
    expect(ben.locator("[data-picked] li")).to_have_count(2)
    expect(ben.locator("[data-picked]")).to_contain_text("drop-bags/notes.txt (6 bytes)")
    assert ben.url.endswith("/submit")
    assert count_submissions(registry) == before
    ben.get_by_role("button", name="Upload and submit").click()
    ben.wait_for_url("**/submissions/**")
    wait_for_state(ben, "Published")


@pytest.mark.slow
def test_a_dropped_folder_is_private_if_that_was_ticked_before_the_button(
    cyd: Page, registry: Registry, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path, "hide-bags")
    (folder / "SKILL.md").write_text(own_words("hide-bags"))
    before = count_submissions(registry)
    cyd.goto("/submit")

    drop(cyd, folder)
    expect(cyd.locator("[data-picked] li")).to_have_count(1)
    cyd.locator("[data-upload] [name=private]").check()
    cyd.get_by_role("button", name="Upload and submit").click()

    cyd.wait_for_url("**/submissions/**")
    wait_for_state(cyd, "Published")
    expect(cyd.locator("#story")).to_contain_text("private (namespace members)")
    assert count_submissions(registry) == before


@pytest.mark.slow
def test_a_dropped_archive_and_a_picked_folder_wait_for_the_button_too(
    ben: Page, registry: Registry, tmp_path: Path
) -> None:
    archive = tmp_path / "fold-bags.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("fold-bags/SKILL.md", own_words("fold-bags"))
    folder = a_skill_folder(tmp_path, "other-bags")
    before = count_submissions(registry)
    ben.goto("/submit")

    ben.locator("#folder").set_input_files(folder)
    expect(ben.locator("[data-file-name]")).to_contain_text("other-bags: 1 file")
    drop(ben, archive)

    expect(ben.locator("[data-file-name]")).to_contain_text("fold-bags.zip")
    assert count_submissions(registry) == before
    ben.get_by_role("button", name="Upload and submit").click()
    ben.wait_for_url("**/submissions/**")
    expect(ben.locator("#story")).to_contain_text("Source@local/fold-bags")


def test_an_invalid_source_shows_an_error_and_keeps_the_typed_text(ben: Page) -> None:
    ben.goto("/submit")
    ben.get_by_label("Repository").fill("not a repo")
    ben.get_by_role("button", name="Submit repository").click()

    expect(ben.get_by_role("alert")).to_contain_text("neither owner/repo nor")
    expect(ben.get_by_label("Repository")).to_have_value("not a repo")


@pytest.mark.slow
def test_typing_searches_and_arrow_keys_move_through_the_list(
    ben: Page, registry: Registry
) -> None:
    registry.publish(ben, "walk-dogs")
    registry.publish(ben, "walk-cats")
    ben.goto("/skills")

    ben.keyboard.press("/")
    ben.keyboard.type("walk")
    ben.wait_for_url("**q=walk**")
    expect(ben.locator("[data-rows] > *")).to_have_count(2)
    ben.keyboard.press("Escape")
    ben.keyboard.press("j")
    ben.keyboard.press("j")
    expect(ben.locator("[data-rows] > *").nth(1)).to_have_attribute("data-selected", "")
    ben.keyboard.press("k")
    ben.keyboard.press("Enter")
    ben.wait_for_url("**/skills/**")


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["cyd", pytest.param("plain_cyd", marks=pytest.mark.torture)])
def test_the_admin_reviews_blocks_and_unblocks(
    operator: str, request: pytest.FixtureRequest, registry: Registry
) -> None:
    page: Page = request.getfixturevalue(operator)
    name = f"look-twice-{operator.replace('_', '-')}"
    registry.submit(page, registry.repo(name, run_dot_sh=RISKY))
    wait_for_state(page, "Needs review")

    page.goto("/admin/reviews")
    page.get_by_role("link", name=name).click()
    expect(page.locator(".code tr.it")).to_contain_text("get.unknown-tool.dev")
    page.get_by_label("Reason").fill("I know that host")
    page.get_by_label("Reason").press("Enter")  # decides nothing
    expect(page.get_by_label("Reason")).to_have_value("I know that host")
    expect(page.get_by_role("button", name="Approve and publish")).to_be_visible()
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("status")).to_contain_text("is rejected")

    slug = registry.publish(page, f"block-{name}")
    page.goto(f"/admin/skills/{slug}")
    page.get_by_role("link", name="This skill").click()
    expect(page.locator("main")).to_contain_text("1 skill would be taken down")
    page.get_by_label("Reason", exact=True).first.fill("seen stealing")
    page.get_by_role("button", name="Block", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("1 skill taken down")
    page.goto(f"/skills/{slug}")
    expect(page.locator("main")).to_contain_text("seen stealing")

    page.goto("/admin/audit")
    expect(page.locator("tbody")).to_contain_text("seen stealing")
    expect(page.locator("tbody")).to_contain_text("cyd")


@pytest.mark.slow
def test_the_admin_pauses_and_resumes(cyd: Page) -> None:
    cyd.goto("/admin/queue")
    cyd.get_by_label("Reason", exact=True).fill("the disk is being changed")
    cyd.get_by_role("button", name="Pause").click()
    expect(cyd.locator("#state")).to_contain_text("Paused; resumes")
    cyd.get_by_role("button", name="Resume now").click()

    expect(cyd.get_by_role("status")).to_contain_text("is running again")


@pytest.mark.slow
def test_a_visitor_is_sent_to_the_sign_in_page_and_back(ben: Page, admin_state: object) -> None:
    ben.goto("/admin/queue")
    expect(ben.get_by_role("heading", level=1)).to_contain_text("Sign in")
    ben.get_by_label("Name").fill("cyd")
    ben.get_by_label("Password").fill("correct horse battery staple")
    ben.get_by_role("button", name="Sign in", exact=True).click()

    expect(ben.get_by_role("heading", name="Queue", exact=True)).to_be_visible()
