"""The page of a publisher: its skills, and nothing that its visitor may not see."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clocks import NOON
from tests.unit.web.pages_cast import Site, change_skill, open_site, put_skill
from vskill_platform.model.block import publisher_subject
from vskill_platform.model.skill import TakenDown
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env


@pytest.fixture
async def site(env: WorkerEnv) -> AsyncIterator[Site]:
    async with open_site(env) as opened:
        yield opened


async def put_upload(env: WorkerEnv, folder: Path, slug: str) -> None:
    publisher = slug.partition("/")[0]
    await put_skill(env, folder, slug, publisher=publisher, repo_url=f"upload:{slug}")


async def test_a_publisher_has_a_page_with_its_skills(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_skill(env, tmp_path, "ben/tools/plot", publisher="github.com/ben")

    short = await site.get("/ada")
    long = await site.get("/publishers/ada")

    assert short.status_code == long.status_code == 200
    assert "<h1>ada</h1>" in short.text
    assert 'href="/skills/ada/notes/tidy"' in short.text
    assert "ben/tools/plot" not in short.text
    assert "1 skill<" in short.text
    assert "first published" in short.text
    assert 'href="https://github.com/ada"' in short.text


async def test_uploads_and_other_hosts_have_pages(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_upload(env, tmp_path, "@ada/plot")
    await put_skill(env, tmp_path, "git.example/ada/n/tidy", publisher="git.example/ada")

    upload = await site.get("/@ada")
    host = await site.get("/publishers/git.example/ada")
    skill = await site.get("/skills/@ada/plot")

    assert "Uploaded to this registry" in upload.text
    assert "git.example/ada/n/tidy" in host.text
    assert 'href="/@ada"' in skill.text


async def test_skills_that_were_taken_down_are_named(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await change_skill(env, "ada/notes/tidy", down=TakenDown(reason="x", by="cyd", at=NOON))

    page = await site.get("/ada")

    assert "1 skill taken down" in page.text


async def test_the_page_of_a_blocked_publisher_says_why(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_upload(env, tmp_path, "@ben/plot")
    await run_with_worker_env(
        env,
        lambda: block(publisher_subject("github.com/ada"), reason="steals keys", actor="cyd"),
    )

    blocked, other = await site.get("/ada"), await site.get("/@ben")

    assert "This publisher is blocked" in blocked.text
    assert "Steals keys" in blocked.text
    assert "This publisher is blocked" not in other.text


async def test_a_publisher_with_only_private_skills_is_not_found(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, is_private=True)
    await put_skill(env, tmp_path, "ada/notes/gone", is_private=True)
    await change_skill(env, "ada/notes/gone", down=TakenDown(reason="x", by="cyd", at=NOON))

    pages = [await site.get(path) for path in ("/ada", "/publishers/ada", "/nobody", "/@nobody")]

    assert {page.status_code for page in pages} == {404}
    assert not any("notes" in page.text for page in pages)


@pytest.mark.parametrize("path", ["/%00", "/..%2f", "/@", "/a b", "/a.ico", "/publishers/a/b/c"])
async def test_an_odd_name_is_not_found(site: Site, path: str) -> None:
    assert (await site.get(path)).status_code == 404


@pytest.mark.parametrize("path", ["/trust", "/queue", "/skills", "/api", "/sign-in"])
async def test_no_publisher_replaces_a_page(
    site: Site, env: WorkerEnv, tmp_path: Path, path: str
) -> None:
    owner = path.removeprefix("/")
    await put_skill(env, tmp_path, f"{owner}/r/tidy", publisher=f"github.com/{owner}")

    page = await site.get(path)
    publisher = await site.get(f"/publishers{path}")

    assert f"<h1>{owner}</h1>" not in page.text
    assert f"<h1>{owner}</h1>" in publisher.text


async def test_long_lists_have_pages(site: Site, env: WorkerEnv, tmp_path: Path) -> None:
    for number in range(26):
        await put_skill(env, tmp_path, f"ada/notes/skill-{number:02}")

    first = await site.get("/ada")
    beyond = await site.get("/ada?page=9")

    assert 'href="/publishers/ada?page=2"' in first.text
    assert beyond.headers["location"] == "/publishers/ada?page=2"
