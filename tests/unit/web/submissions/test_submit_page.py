"""The submit page: a URL or files, a choice if there are several skills, and clear errors."""

import re
from collections.abc import AsyncIterator
from html import unescape
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from tests.archives import zip_of
from tests.casts import GOOD_MANIFEST, a_skill_folder
from tests.git_server import GitServer
from tests.unit.web.api_cast import (
    Registry,
    anonymous_browser,
    browser_of,
    delay_index,
    open_registry,
)
from vskill_platform.access.namespaces import add_member, add_owner
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import git_source
from vskill_platform.model.user import Role
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.web.submissions import submit_skills

MANIFEST = GOOD_MANIFEST.format(name="tidy-notes").encode()
_PROBLEM = re.compile(r"<b>This could not be submitted\.</b></p><p>(.*?)</p>", re.DOTALL)

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(git_server: GitServer) -> AsyncIterator[Registry]:
    async with open_registry(bound_env()) as opened:
        yield opened


async def send(registry: Registry, who: dict[str, str], **options: Any) -> Response:
    return await registry.post("/submit", headers=who, **options)


def problem_in(page: Response) -> str:
    found = _PROBLEM.search(page.text)
    assert found, page.text
    return unescape(found.group(1))


async def test_the_form_shows_what_a_visitor_may(registry: Registry) -> None:
    ada = await browser_of(Role.PUBLISHER)
    await browser_of(Role.REVIEWER)
    await add_owner("@team", "ada", actor="test")
    await add_member("@rae", "ada", actor="test")

    nobody = await registry.get("/submit?source=%3Cscript%3E", headers={"Accept": "text/html"})
    known = await registry.get("/submit", headers=ada)

    assert "<code>@local</code>" in nobody.text
    assert 'value="&lt;script&gt;"' in nobody.text
    assert "Private:" not in nobody.text
    assert re.findall(r"<option>(@\w+)</option>", known.text) == ["@ada", "@team"]
    assert "Private:" in known.text


async def test_a_repo_with_one_skill_is_followed_and_one_with_several_is_chosen_from(
    registry: Registry, git_server: GitServer, tmp_path: Path
) -> None:
    stranger = anonymous_browser()
    one = git_server.serve_repo(a_skill_folder(tmp_path / "one", "tidy-notes").parent, "ada/one")
    for name in ("a", "b", "c"):
        a_skill_folder(tmp_path / "many", f"{name}-notes")
    many = git_server.serve_repo(tmp_path / "many", "ada/many")

    followed = await send(registry, stranger, data={"source": one})
    choice = await send(registry, stranger, data={"source": many})
    chosen = await registry.post(
        "/submit/chosen",
        data={"source": many, "paths": ["a-notes", "b-notes"]},
        headers=stranger,
    )
    nothing = await registry.post("/submit/chosen", data={"source": many}, headers=stranger)
    queue = await registry.get(chosen.headers["location"], headers=stranger)

    assert followed.status_code == 303
    assert followed.headers["location"].startswith("/submissions/sub_")
    assert choice.status_code == 200
    assert "3 skills found" in choice.text
    assert re.findall(r'name="paths" value="([\w-]+)" checked', choice.text) == [
        "a-notes", "b-notes", "c-notes",
    ]  # fmt: skip
    assert chosen.headers["location"].startswith("/sets/set_")
    assert (">a-notes<" in queue.text, ">c-notes<" in queue.text) == (True, False)
    assert (nothing.status_code, problem_in(nothing)) == (400, "Choose at least one skill")
    assert "3 skills found" in nothing.text
    assert not re.findall(r'name="paths" value="[\w-]+" checked', nothing.text)


async def test_a_set_shows_also_what_had_come_in_before_it(
    registry: Registry, git_server: GitServer
) -> None:
    repo = f"{git_server.url}/ada/many"
    await submit(git_source(repo, "a-notes"), submitter="ada")
    stranger = anonymous_browser()

    chosen = await registry.post(
        "/submit/chosen", data={"source": repo, "paths": ["a-notes", "b-notes"]}, headers=stranger
    )
    queue = await registry.get(chosen.headers["location"], headers=stranger)

    assert ">a-notes<" in queue.text
    assert ">b-notes<" in queue.text


async def test_the_list_after_a_submission_contains_it(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    delay_index(registry, monkeypatch)
    stranger = anonymous_browser()
    twins = [("files", (f"all/{name}/SKILL.md", MANIFEST)) for name in ("a", "b")]

    sent = await send(registry, stranger, files=twins)
    queue = await registry.client.get(sent.headers["location"], headers=stranger)

    assert queue.text.count('id="row-sub_') == 2


async def test_files_are_accepted_and_ignored_ones_are_listed(
    registry: Registry, tmp_path: Path
) -> None:
    ada = await browser_of(Role.PUBLISHER)
    folder = a_skill_folder(tmp_path, "tidy-notes")
    archive = [("files", ("tidy.zip", zip_of(folder, under="tidy-notes")))]
    twins = [("files", (f"all/{name}/x/SKILL.md", MANIFEST)) for name in ("a", "b")]
    several = [*twins, ("files", ("all/y/SKILL.md", MANIFEST))]

    taken = await send(registry, ada, files=archive, data={"private": "yes"})
    partly = await send(registry, ada, files=several)
    said = SimpleCookie(partly.headers["set-cookie"])["vskill_flash"]
    queue = await registry.get(
        partly.headers["location"],
        headers={**ada, "Cookie": f"{ada['Cookie']}; vskill_flash={said.value}"},
    )

    stored = await get_submission(taken.headers["location"].rpartition("/")[2])
    assert stored
    assert (stored.record.source.namespace, stored.record.is_private) == ("@ada", True)
    assert partly.headers["location"].startswith("/sets/set_")
    assert said["path"] == "/sets"
    assert "2 of 3 skills were submitted. Refused: b/x:" in queue.text
    assert "&#39;a/x&#39; and &#39;b/x&#39; are both called" in queue.text
    assert 'vskill_flash=""' in queue.headers["set-cookie"]


async def test_an_error_is_shown_in_the_form_with_the_typed_values(
    registry: Registry, git_server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = anonymous_browser()
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "README.md").write_text("nothing")
    empty = git_server.serve_repo(tmp_path / "none", "ada/none")
    await browser_of(Role.PUBLISHER)
    await add_owner("ada", "ada", actor="test")

    nothing = await send(registry, stranger, data={"source": ""})
    odd = await send(registry, stranger, data={"source": "<b>x</b>", "ref": "v1"})
    no_skill = await send(registry, stranger, data={"source": empty})
    not_theirs = await send(registry, stranger, data={"source": "ada/notes", "path": "x"})
    bad_file = await send(registry, stranger, files=[("files", ("x.exe", b"MZ"))])
    monkeypatch.setattr(submit_skills._looks, "in_all", 0)
    busy = await send(registry, stranger, data={"source": empty})

    statuses = [one.status_code for one in (nothing, odd, no_skill, not_theirs, bad_file, busy)]
    assert statuses == [400, 400, 400, 403, 422, 429]
    assert "No SKILL.md" in problem_in(no_skill)
    assert "<b>x</b>" in problem_in(odd)
    assert "<b>x</b>" not in odd.text
    assert 'value="v1"' in odd.text
    assert "has other owners" in problem_in(not_theirs)
    assert busy.headers["retry-after"] == "5"


async def test_a_folder_and_its_manifest_are_the_same_place(registry: Registry) -> None:
    stranger = anonymous_browser()

    by_folder = await send(registry, stranger, data={"source": "ada/x", "path": "skills/tidy"})
    by_file = await send(
        registry, stranger, data={"source": "ada/x", "path": "skills/tidy/SKILL.md"}
    )
    by_page = await send(
        registry, stranger, data={"source": "https://github.com/ada/x/tree/main/skills/tidy"}
    )

    assert by_folder.headers["location"] == by_file.headers["location"]
    assert by_page.status_code == 303


async def test_anonymous_visitors_are_asked_to_sign_in_before_they_submit(
    registry: Registry,
) -> None:
    await browser_of(Role.PUBLISHER)
    open_to_all = await registry.get("/submit", headers=anonymous_browser())

    await add_owner("@local", "ada", actor="test")
    owned = await registry.get("/submit", headers=anonymous_browser())
    owners = await registry.get("/submit", headers=await browser_of(Role.PUBLISHER))

    assert "data-upload" in open_to_all.text
    assert "data-upload" not in owned.text
    assert "It will be published in" not in owned.text
    assert 'href="/sign-in?next=/submit"' in owned.text
    assert "data-upload" in owners.text


async def test_the_result_of_a_set_is_shown_on_the_next_page(
    registry: Registry, git_server: GitServer
) -> None:
    repo = f"{git_server.url}/ada/many"
    await submit(git_source(repo, "a-notes"), submitter="ada")
    stranger = anonymous_browser()

    async def choose(*paths: str) -> str:
        chosen = await registry.post(
            "/submit/chosen", data={"source": repo, "paths": list(paths)}, headers=stranger
        )
        said = SimpleCookie(chosen.headers["set-cookie"])["vskill_flash"].value
        headers = {**stranger, "Cookie": f"{stranger['Cookie']}; vskill_flash={said}"}
        return (await registry.get(chosen.headers["location"], headers=headers)).text

    partly, again = await choose("a-notes", "b-notes"), await choose("a-notes", "b-notes")

    assert 'class="toast good" role="status"' in partly
    assert "<p>1 of 2 skills was submitted. 1 is already in progress.</p>" in partly
    assert "None of 2 skills was submitted. 2 are already in progress." in again
