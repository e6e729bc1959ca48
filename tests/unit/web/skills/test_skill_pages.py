"""The pages about a published skill: readme, files, versions, diff, security, downloads, badge."""

import hashlib
import io
import re
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.clocks import NOON, ManualClock
from tests.people import a_user, let_in
from tests.unit.web.pages_cast import (
    FILES,
    MANIFEST,
    Site,
    a_finding,
    change_skill,
    open_site,
    put_skill,
)
from vskill_platform.access.namespaces import add_member
from vskill_platform.engines.operations import Delete
from vskill_platform.model.block import digest_subject
from vskill_platform.model.judgement import Judgement, Opinion, Reason
from vskill_platform.model.skill import PublishedSkill, TakenDown, Yank
from vskill_platform.model.user import Role
from vskill_platform.model.verdict import Severity, Verdict
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.publish.versions.diff_versions import FileChange
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import commit
from vskill_platform.stores.repo_health_store import RepoHealth, RepoStatus, put_repo_health
from vskill_platform.stores.scan_store import get_report, write_report_of_published
from vskill_platform.stores.skill_store import migrate_skill_slugs
from vskill_platform.stores.version_store import BLOB, get_versions
from vskill_platform.web.skills import versions
from vskill_platform.web.skills.diff_page import MAX_CHARACTERS, MAX_ROWS, split_pages

PAGE = "/skills/ada/notes/tidy"
PARTS = ("", "/files", "/files/SKILL.md", "/versions", "/security")


@pytest.fixture
async def client(env: WorkerEnv) -> AsyncIterator[Site]:
    async with open_site(env) as opened:
        yield opened


async def test_the_page_shows_the_instructions_and_how_to_install(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    skill = await put_skill(env, tmp_path)

    page = await client.get(PAGE)

    assert page.status_code == 200
    assert '<h2 id="readme-tidy">Tidy</h2>' in page.text
    assert f'href="{PAGE}/files/scripts/run.py#L2"' in page.text
    assert "metadata.author" in page.text
    assert "curl -fL -o tidy-1.0.0.tar.gz" in page.text
    assert f"http://registry{PAGE}/download?version=1.0.0" in page.text
    assert "| sha256sum --check" in page.text
    assert "tar -xzf tidy-1.0.0.tar.gz -C tidy" in page.text
    assert skill.digest in page.text
    assert "https://github.com/ada/notes" in page.text
    assert "Source commit is known" in page.text


async def test_commands_name_the_public_address_if_there_is_one(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    settings = msgspec.structs.replace(env.settings, public_url="https://skills.example/")
    transport = ASGITransport(cast("Any", an_app(replace(env, settings=settings))))

    async with AsyncClient(transport=transport, base_url="http://registry") as own:
        page = await own.get(PAGE)

    assert f"https://skills.example{PAGE}/download?version=1.0.0" in page.text
    assert "http://registry" not in page.text


@pytest.mark.parametrize("slug", ["@local/tidy", "ada/notes/tidy", "git.example/ada/notes/tidy"])
@pytest.mark.parametrize("part", PARTS)
async def test_slugs_have_two_to_four_parts(
    client: Site, env: WorkerEnv, tmp_path: Path, slug: str, part: str
) -> None:
    await put_skill(env, tmp_path, slug)

    page = await client.get(f"/skills/{slug}{part}")

    assert page.status_code == 200
    assert slug in page.text


async def test_a_skill_may_be_called_like_a_part_of_a_page(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, "@local/files")
    await put_skill(env, tmp_path, "ada/notes/versions")

    pages = [
        await client.get(f"/skills/{address}")
        for address in (
            "@local/files", "@local/files/files", "ada/notes/versions",
            "ada/notes/versions/versions",
        )
    ]  # fmt: skip

    assert [page.status_code for page in pages] == [200] * 4
    assert "scripts/" in pages[1].text
    assert "Latest" in pages[3].text


async def test_an_old_slug_leads_to_the_new_one(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await run_with_worker_env(env, lambda: migrate_skill_slugs(lambda _: "ada/notes/neat"))

    answer = await client.get(f"{PAGE}/files/scripts/run.py?version=1.0.0")

    assert answer.status_code == 302
    assert answer.headers["location"] == "/skills/ada/notes/neat/files/scripts/run.py?version=1.0.0"


async def test_a_cut_off_address_leads_to_the_list(client: Site) -> None:
    answer = await client.get("/skills?q=tidy")

    assert answer.status_code == 200
    assert "No skills found for “tidy”" in answer.text


async def test_a_missing_page_is_not_found(client: Site, env: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(env, tmp_path)
    odd = ("nobody", "a/b/c/d/e", "ada/notes/tidy/nonsense", "ada/notes/tidy/versions/1.0.0")

    statuses = [(await client.get(f"/skills/{address}")).status_code for address in odd]
    version = await client.get(f"{PAGE}?version=9.9.9")
    file = await client.get(f"{PAGE}/files/nothing.py")

    assert statuses == [404] * 4
    assert (version.status_code, file.status_code) == (404, 404)
    assert "has no version 9.9.9, only 1.0.0" in version.text
    assert f'href="{PAGE}/versions">All versions</a>' in version.text


async def test_a_private_skill_does_not_exist_for_others(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, is_private=True)

    parts = (*PARTS, "/diff", "/download", "/raw/SKILL.md", "/badge.svg")
    answers = [await client.get(PAGE + part) for part in parts]
    unknown = await client.get("/skills/ada/notes/nothing/badge.svg")

    assert {answer.status_code for answer in answers} == {404}
    assert not any("Tidies notes" in answer.text for answer in answers)
    assert answers[-1].text == unknown.text


async def test_members_of_the_namespace_see_private_skills(
    client: Site, bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path, is_private=True)
    ben = await a_user(Role.READER)
    await add_member("ada", ben.name, actor="test")
    await let_in(client.browser, ben)

    page = await client.get(PAGE)
    listed = await client.get("/")
    badge = await client.get(f"{PAGE}/badge.svg")

    assert page.status_code == 200
    assert "Private" in page.text
    assert "Authorization: Bearer $VSKILL_TOKEN" in page.text
    assert "Manage" not in page.text
    assert "ada/notes/tidy" in listed.text
    assert "private" in badge.headers["cache-control"]


async def test_managers_get_a_link_to_the_settings_of_the_skill(
    client: Site, bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    before = await client.get(PAGE)
    await let_in(client.browser, await a_user(Role.REVIEWER))

    after = await client.get(PAGE)

    assert "Manage" not in before.text
    assert 'href="/admin/skills/ada/notes/tidy">Manage</a>' in after.text


# --- files ---------------------------------------------------------------------------------------


async def test_the_tree_has_every_file_with_its_size(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, files={**FILES, "data/big.bin": b"\0" * 4096})

    whole = await client.get(f"{PAGE}/files")
    folder = await client.get(f"{PAGE}/files/data")

    assert "3 files" in whole.text
    assert "4 KiB" in whole.text
    assert f'href="{PAGE}/files/scripts/run.py"' in whole.text
    assert "big.bin" in folder.text
    assert "run.py" not in folder.text


async def test_a_file_has_lines_that_can_be_pointed_at(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, files={**FILES, "x.html": "<script>\r\n\u202eabc\r\n"})

    page = await client.get(f"{PAGE}/files/x.html")

    assert 'id="L2"' in page.text
    assert 'id="L3"' not in page.text
    assert '&lt;<span class="k">script</span>&gt;' in page.text
    assert "<mark>U+202E</mark>abc" in page.text
    assert "\u202e" not in page.text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\0\1\2", "The file is not text"),
        (b"\xff\xfe\0\xd8", "The file is not text"),
        (b"", "The file is empty"),
        (b"a" * (1024 * 1024 + 1), "larger than 1,048,576 bytes"),
        (b"a\n" * 2001, "the first 2,000 of 2,001 lines"),
        ("Un café au lait, et encore un café.\n".encode("utf-16"), "Un café au lait"),
    ],
    ids=["binary", "broken", "empty", "large", "long", "utf-16"],
)
async def test_a_file_that_cannot_be_shown_has_a_message(
    client: Site, env: WorkerEnv, tmp_path: Path, content: bytes, words: str
) -> None:
    await put_skill(env, tmp_path, files={**FILES, "odd": content})

    page = await client.get(f"{PAGE}/files/odd")

    assert page.status_code == 200
    assert words in page.text


async def test_a_raw_file_is_a_download_that_nothing_runs(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    name = 'x "é.html'
    await put_skill(env, tmp_path, files={**FILES, name: "<script>1</script>", "b": b"\0"})

    text = await client.get(f"{PAGE}/raw/{quote(name)}")
    binary = await client.get(f"{PAGE}/raw/b")

    assert text.content == b"<script>1</script>"
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in text.headers["content-security-policy"]
    assert text.headers["content-disposition"] == "attachment; filename*=UTF-8''x%20%22%C3%A9.html"
    assert binary.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "path", ["../SKILL.md", "..%2f..%2fetc/passwd", "/etc/passwd", "scripts", ""]
)
async def test_no_path_leads_out_of_the_archive(
    client: Site, env: WorkerEnv, tmp_path: Path, path: str
) -> None:
    await put_skill(env, tmp_path)

    assert (await client.get(f"{PAGE}/raw/{path}")).status_code == 404


# --- versions ------------------------------------------------------------------------------------


@pytest.fixture
async def two_versions(env: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(env, tmp_path)
    changed = {**FILES, "scripts/run.py": "import os\nprint('neat')\n", "new.txt": "<b>\u202e\n"}
    await put_skill(env, tmp_path, files=changed)


async def test_every_version_has_its_own_pages(client: Site, two_versions: None) -> None:
    latest = await client.get(f"{PAGE}/files/scripts/run.py")
    first = await client.get(f"{PAGE}/files/scripts/run.py?version=1.0.0")
    versions = await client.get(f"{PAGE}/versions")

    assert "neat" in latest.text
    assert "tidy&#39;</span>)" in first.text
    assert "The latest is 1.0.1" in first.text
    assert f"{PAGE}/diff?from=1.0.0&amp;to=1.0.1" in versions.text
    assert len(re.findall(r'title="[0-9a-f]{64}">content', versions.text)) == 2
    assert versions.text.index("1.0.1</a></h2>") < versions.text.index("1.0.0</a></h2>")


async def keep_report(skill: PublishedSkill) -> None:
    """Store the report of a version, as publishing does."""
    report = await get_report(skill.submission_id)
    assert report
    await commit(write_report_of_published(report))


async def test_every_tab_is_about_the_chosen_version_and_leads_to_the_others(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    first = await put_skill(env, tmp_path, findings=(a_finding(),), verdict=Verdict.REVIEW)
    await run_with_worker_env(env, partial(keep_report, first))
    await put_skill(env, tmp_path, files={**FILES, "new.txt": "x\n"})

    for tab in ("", "/files", "/versions", "/security"):
        old = (await client.get(f"{PAGE}{tab}?version=1.0.0")).text
        new = (await client.get(PAGE + tab)).text
        assert '<option value="1.0.0" selected>1.0.0</option>' in old
        assert '<option value="" selected>1.0.1 (latest)</option>' in new
        assert f'action="{PAGE}{tab}"' in old
        assert "Has findings that nobody reviewed" in old
        assert "Passed all checks" in new


async def test_many_versions_are_listed_page_by_page(
    client: Site, env: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "PAGE_SIZE", 2)
    for _ in range(5):
        await put_skill(env, tmp_path)

    first, last, beyond = [
        (await client.get(f"{PAGE}/versions{query}")).text
        for query in ("", "?page=3", "?page=99999")
    ]

    assert re.findall(r'<li id="v([\d.]+)">', first) == ["1.0.4", "1.0.3"]
    assert re.findall(r'<li id="v([\d.]+)">', last) == ["1.0.0"]
    assert re.findall(r'<li id="v([\d.]+)">', beyond) == ["1.0.0"]
    assert "Changes since 1.0.2" in first
    assert "First version." in last
    assert "5 versions" in first
    assert "page=2" in first


async def test_capabilities_are_shown_although_their_files_are_gone(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_skill(env, tmp_path, files={**FILES, "only-here.txt": "soon gone\n"})

    async def delete_archive() -> None:
        newest = (await get_versions("ada/notes/tidy"))[-1]
        await commit([Delete(BLOB + newest.archive_sha256)])

    await run_with_worker_env(env, delete_archive)

    page = (await client.get(f"{PAGE}/versions")).text

    assert "api.example" in page
    assert "The files of this version cannot be read right now" in page
    assert "the scanner derived it" not in page


async def test_the_security_report_lists_what_the_version_can_do(
    client: Site, two_versions: None
) -> None:
    report = (await client.get(f"{PAGE}/security")).text.partition('id="can"')[2]

    assert "api.example" in report.partition("</aside>")[0]


async def test_the_list_of_versions_says_what_each_changed(
    client: Site, two_versions: None
) -> None:
    page = (await client.get(f"{PAGE}/versions")).text

    assert "1 file added, 1 file changed." in page
    new = page.index("New in 1.0.1")
    assert new < page.index("api.example", new) < page.index("First version.")


async def test_a_diff_shows_lines_and_what_the_skill_can_do_now(
    client: Site, two_versions: None
) -> None:
    newest = await client.get(f"{PAGE}/diff")
    back = await client.get(f"{PAGE}/diff?from=1.0.1&to=1.0.0")
    unknown = await client.get(f"{PAGE}/diff?from=7.0.0%E2%80%AE")

    assert "1.0.1 can do what 1.0.0 could not" in newest.text
    assert "api.example" in newest.text
    assert '<tr class="del"><td class="line">2</td><td class="line"></td>' in newest.text
    assert '<tr class="add"><td class="line"></td><td class="line">2</td>' in newest.text
    assert "&lt;b&gt;<mark>U+202E</mark>" in newest.text
    assert "\u202e" not in newest.text
    assert "1.0.0 has no capabilities that 1.0.1 does not have" in back.text
    assert unknown.status_code == 404
    assert "\u202e" not in unknown.text


async def test_a_diff_shows_no_line_that_is_not_there(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    more = {"new.md": "hello\n", "open.md": "no end", "empty.md": ""}
    await put_skill(env, tmp_path)
    await put_skill(env, tmp_path, files={**FILES, **more})

    page = (await client.get(f"{PAGE}/diff")).text
    parts = {
        name: page.partition(f'<span class="mono">{name}</span>')[2].partition("</section>")[0]
        for name in more
    }

    assert parts["new.md"].count("<tr") == 1  # nothing is left out before it
    assert parts["open.md"].count("<tr") == 2
    assert "No newline at end of file" in parts["open.md"]
    assert (parts["empty.md"].count("<tr"), "an empty file" in parts["empty.md"]) == (0, True)


def test_a_diff_is_no_longer_than_a_page_takes() -> None:
    lines = ("@@ -0,0 +1,900 @@", *("+" + "ж" * 400 for _ in range(900)))
    changes = tuple(
        FileChange(path=path, old=None, new=None, lines=lines) for path in ("a.txt", "b.txt")
    )

    pages = split_pages(changes)

    sizes = [sum(len(row.text) for part in page for row in part.rows) for page in pages]
    assert max(sizes) <= MAX_CHARACTERS
    assert sum(len(part.rows) for page in pages for part in page) == 2 * 900
    assert [part.change.path for part in pages[1]] == ["a.txt", "b.txt"]
    assert [part.is_continued for part in pages[1]] == [True, False]


async def test_a_long_diff_goes_on_on_the_next_page(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_skill(env, tmp_path, files={**FILES, "long.py": "y = 1\n" * (MAX_ROWS + 5)})

    first = (await client.get(f"{PAGE}/diff")).text
    last = (await client.get(f"{PAGE}/diff?page=2")).text
    beyond = (await client.get(f"{PAGE}/diff?page=9999999")).text

    assert first.count('<tr class="add">') == MAX_ROWS
    assert 'to=1.0.1&amp;page=2" rel="next"' in first
    assert last.count('<tr class="add">') == 5
    assert "continued</span>" in last
    assert '<td class="line">1005</td>' in last
    assert beyond.count('<tr class="add">') == 5


async def test_the_versions_link_to_the_changelog_of_the_publisher(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    without = (await client.get(f"{PAGE}/versions")).text
    await put_skill(env, tmp_path, files={**FILES, "CHANGELOG.md": "# 1.0.1\n"})

    page = (await client.get(f"{PAGE}/versions")).text

    assert f'href="{PAGE}/files/CHANGELOG.md"' in page
    assert "Changelog of the publisher" not in without


async def test_the_first_version_has_nothing_before_it(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)

    page = await client.get(f"{PAGE}/diff")

    assert page.status_code == 404
    assert "is the first version" in page.text


async def test_a_yanked_version_says_why_and_can_be_had_by_name(
    client: Site, env: WorkerEnv, two_versions: None
) -> None:
    mark = Yank(number=2, reason="It <b>eats</b> notes.", by="ada", at=NOON)
    await change_skill(env, "ada/notes/tidy", yanked=(mark,), version="1.0.0")

    named = await client.get(f"{PAGE}?version=1.0.1")
    latest = await client.get(PAGE)
    download = await client.get(f"{PAGE}/download?version=1.0.1")

    assert "It &lt;b&gt;eats&lt;/b&gt; notes." in named.text
    assert "Latest version: 1.0.0" in named.text
    assert "eats" not in latest.text
    assert download.status_code == 200


async def test_a_skill_with_nothing_left_can_be_read_but_not_installed(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    mark = Yank(number=1, reason="It eats notes.", by="ada", at=NOON)
    await change_skill(env, "ada/notes/tidy", yanked=(mark,), version="", digest="")

    page = await client.get(PAGE)
    named = await client.get(f"{PAGE}?version=1.0.0")
    download = await client.get(f"{PAGE}/download")

    assert page.status_code == 200
    assert "All versions of this skill are yanked" in page.text
    assert "curl -fL" not in page.text
    assert ">Download</a>" not in page.text
    assert f'<li><a href="{PAGE}?version=1.0.0">1.0.0</a></li>' in page.text
    assert "curl -fL" in named.text
    assert ">Download</a>" in named.text
    assert download.status_code == 404


async def test_a_blocked_version_is_gone_while_others_stay(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    first = await put_skill(env, tmp_path)
    await put_skill(env, tmp_path, files={**FILES, "more.txt": "more"})
    subject = digest_subject(first.digest)
    await run_with_worker_env(env, lambda: block(subject, reason="It stole.", actor="cyd"))

    old = await client.get(f"{PAGE}?version=1.0.0")
    download = await client.get(f"{PAGE}/download?version=1.0.0")
    versions = await client.get(f"{PAGE}/versions")
    latest = await client.get(PAGE)

    assert (old.status_code, download.status_code, latest.status_code) == (410, 410, 200)
    assert "It stole." in old.text
    assert f'href="{PAGE}/versions"' in old.text
    assert "Blocked" in versions.text
    assert "version=1.0.0" not in versions.text


# --- downloads -----------------------------------------------------------------------------------


async def test_the_archive_is_exactly_what_was_checked(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)

    answer = await client.get(f"{PAGE}/download?version=1.0.0")
    latest = await client.get(f"{PAGE}/download")
    sealed = hashlib.sha256(answer.content).hexdigest()
    again = await client.get(f"{PAGE}/download", **{"If-None-Match": f'"{sealed}"'})

    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        assert archive.getnames() == ["SKILL.md", "scripts/run.py"]
    assert answer.headers["etag"] == f'"{sealed}"'
    assert answer.headers["content-disposition"] == 'attachment; filename="tidy-1.0.0.tar.gz"'
    assert answer.headers["repr-digest"].startswith("sha-256=:")
    assert "immutable" in answer.headers["cache-control"]
    assert "public" not in answer.headers["cache-control"]
    assert "no-cache" in latest.headers["cache-control"]
    assert (again.status_code, again.content) == (304, b"")


# --- security ------------------------------------------------------------------------------------


async def test_findings_stand_where_they_were_found(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    opinion = Judgement(
        opinion=Opinion.REVIEW, confidence=0.7, summary="It <i>may</i> be fine.",
        reasons=(Reason(claim="It prints.", file="scripts/run.py", line=2, quote="print"),),
        unseen=("big.py",), model="m", answered_by="m", prompt="1", asked_at=NOON,
        duration_seconds=1, tokens_in=1, tokens_out=1, cost=0,
    )  # fmt: skip
    await put_skill(
        env,
        tmp_path,
        findings=(a_finding(), a_finding(rule="MAN-040", kind="quality", severity=Severity.LOW)),
        verdict=Verdict.REVIEW,
        report={"judgement": opinion, "score": 40, "capabilities": {"hosts": ("api.example",)}},
    )

    page = await client.get(f"{PAGE}/security")

    assert "Needs review" in page.text
    assert "of 100 (0 is clean)" not in page.text
    assert "Somebody&#39;s script is fetched and run</h3>" in page.text
    assert f'href="{PAGE}/files/scripts/run.py#L2"' in page.text
    assert "print(&#39;tidy&#39;)" in page.text
    assert "It &lt;i&gt;may&lt;/i&gt; be fine." in page.text
    assert "1 formatting finding (" in page.text


async def test_a_report_of_other_content_is_not_shown_for_this_one(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_skill(env, tmp_path, files={**FILES, "new.txt": "x"}, findings=(a_finding(),))

    first = await client.get(f"{PAGE}/security?version=1.0.0")
    latest = await client.get(f"{PAGE}/security")

    assert "No report for 1.0.0" in first.text
    assert "Somebody" not in first.text
    assert "Somebody" in latest.text


async def test_a_report_spreads_no_secret(client: Site, env: WorkerEnv, tmp_path: Path) -> None:
    key = "AKIA" + "Q7XN2VJ5K3ZPW4RT"
    files = {**FILES, "scripts/run.py": f"import os\nKEY = '{key}'\n"}
    finding = a_finding(message=f"The key {key} lies open.", evidence=(f"KEY = '{key}'",))
    await put_skill(env, tmp_path, files=files, findings=(finding,))

    page = await client.get(f"{PAGE}/security")

    assert "lies open" in page.text
    assert key not in page.text


# --- badge ---------------------------------------------------------------------------------------


async def test_the_badge_says_how_far_the_skill_is_trusted(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)

    badge = await client.get(f"{PAGE}/badge.svg")
    same = await client.get(f"{PAGE}/badge.svg", **{"If-None-Match": badge.headers["etag"]})
    nothing = await client.get("/skills/ada/notes/nothing/badge.svg")
    await change_skill(env, "ada/notes/tidy", down=TakenDown(reason="x", by="cyd", at=NOON))
    down = await client.get(f"{PAGE}/badge.svg")

    assert badge.headers["content-type"].startswith("image/svg+xml")
    assert "scanned · 1.0.0" in badge.text
    assert "max-age=300" in badge.headers["cache-control"]
    assert badge.headers["cross-origin-resource-policy"] == "cross-origin"
    assert (same.status_code, same.content) == (304, b"")
    assert (nothing.status_code, "not published" in nothing.text) == (404, True)
    assert "verified skill: blocked" in down.text


# --- what strangers wrote ------------------------------------------------------------------------


async def test_nothing_of_a_stranger_acts_on_any_page(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    evil = '"><script>alert(1)</script>\u202e'
    path = "<script>alert(1)<script>.md"
    manifest = MANIFEST.format(name="tidy").replace("MIT", f"'{evil}'") + evil
    await put_skill(
        env,
        tmp_path,
        files={"SKILL.md": manifest, path: evil},
        description=evil,
        license=evil,
        skill_path=evil,
        findings=(a_finding(message=evil, file=path, evidence=(evil,), why=evil, fix=evil),),
        report={"decided": evil, "capabilities": {"hosts": (evil,)}},
    )

    for part in (*PARTS, f"/files/{quote(path)}"):
        page = await client.get(PAGE + part)
        assert page.status_code == 200, part
        assert "<script>alert" not in page.text, part
        assert "\u202e" not in page.text, part


async def test_a_huge_name_breaks_nothing(client: Site, env: WorkerEnv, tmp_path: Path) -> None:
    name = "a" * 64
    await put_skill(env, tmp_path, f"ada/notes/{name}", description="b" * 1024)

    page = await client.get(f"/skills/ada/notes/{name}")
    long = await client.get(f"/skills/ada/notes/{'x' * 5000}")

    assert (page.status_code, long.status_code) == (200, 404)


# --- the source ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (RepoHealth(status=RepoStatus.ONLINE, checked_at=NOON), "Source is online"),
        (
            RepoHealth(status=RepoStatus.ONLINE, checked_at=NOON, has_moved=True),
            "Source is online and has changed since",
        ),
        (
            RepoHealth(status=RepoStatus.STALE, checked_at=NOON),
            "Source has had no commit for a year",
        ),
        (RepoHealth(status=RepoStatus.GONE, checked_at=NOON), "Source is gone"),
        (RepoHealth(status=RepoStatus.UNKNOWN, checked_at=NOON), "Source was not checked recently"),
    ],
    ids=["online", "moved", "stale", "gone", "unknown"],
)
async def test_the_health_of_the_source_is_shown(
    client: Site, env: WorkerEnv, tmp_path: Path, health: RepoHealth, words: str
) -> None:
    await put_skill(env, tmp_path)
    await run_with_worker_env(env, lambda: put_repo_health("ada/notes/tidy", health))

    assert words in (await client.get(PAGE)).text


async def test_the_folder_of_the_operator_is_not_revealed(
    client: Site, env: WorkerEnv, tmp_path: Path, clock: ManualClock
) -> None:
    await put_skill(env, tmp_path, "@local/tidy", repo_url="/srv/cellar/tidy")

    page = await client.get("/skills/@local/tidy")

    assert "cellar" not in page.text
    assert "Uploaded files" in page.text
