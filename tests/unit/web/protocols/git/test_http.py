"""Repositories of skills over HTTP, and the marketplaces that point to them."""

import asyncio
import base64
import gzip
import os
import subprocess
from pathlib import Path

import pytest
from httpx import Response
from litestar.exceptions import LitestarException

from tests.unit.web.api_cast import Registry, token_of
from tests.unit.web.pages_cast import FILES, change_skill, put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.engines.operations import Delete
from vskill_platform.model.block import BlockKind, BlockSubject
from vskill_platform.model.skill import TakenDown, Yank
from vskill_platform.model.user import Role, Scope
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.publish.versions import git_objects
from vskill_platform.stores.db import get_now
from vskill_platform.stores.version_store import get_versions
from vskill_platform.web.protocols.git import build_repo
from vskill_platform.web.protocols.git.build_repo import PACK, RepoBuild
from vskill_platform.web.protocols.git.protocol import packet
from vskill_platform.web.protocols.git.repos import cache_folder
from vskill_platform.web.skills.client_names import market_name, plugin_name
from vskill_platform.web.skills.downloads import DOWNLOADS

SLUG = "@acme/demo"
SERVICE = "/info/refs?service=git-upload-pack"
REFS = f"/git/{SLUG}.git{SERVICE}"
MARKETPLACE = "/.claude-plugin/marketplace.json"


def refs_in(answer: Response) -> dict[str, str]:
    """Return the commit of each ref in an answer of version 0."""
    assert answer.status_code == 200, answer.text
    lines = answer.content.split(b"\n")
    found = {}
    for line in lines:
        commit, _, name = line.partition(b"\0")[0].rpartition(b" ")
        if name.startswith(b"refs/"):
            found[name.decode()] = commit[-40:].decode()
    return found


async def put_versions(registry: Registry, folder: Path, count: int) -> None:
    for number in range(count):
        files = {**FILES, "references/a.md": f"version {number}"}
        await put_skill(registry.env, folder, SLUG, files=files)


def run_git(repo: Path, *arguments: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(repo)}
    done = subprocess.run(
        ["git", f"--git-dir={repo}", *arguments],
        env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def only_repo(registry: Registry) -> Path:
    (folder,) = cache_folder(registry.env.settings).iterdir()
    return folder


def builds_of(registry: Registry) -> list[RepoBuild]:
    return list(registry.app.state["git_repos"]._builds.values())


async def test_every_version_has_a_commit_and_a_tag(registry: Registry, tmp_path: Path) -> None:
    await put_versions(registry, tmp_path, 2)

    answer = await registry.get(REFS)

    refs = refs_in(answer)
    assert answer.headers["content-type"] == "application/x-git-upload-pack-advertisement"
    assert set(refs) == {"refs/heads/main", "refs/tags/v1.0.0", "refs/tags/v1.0.1"}
    assert refs["refs/heads/main"] == refs["refs/tags/v1.0.1"]
    repo = only_repo(registry)
    assert run_git(repo, "rev-list", "main").split() == [
        refs["refs/tags/v1.0.1"], refs["refs/tags/v1.0.0"],
    ]  # fmt: skip
    assert run_git(repo, "fsck", "--strict") == ""


async def test_a_repository_built_again_has_the_same_commits(
    registry: Registry, tmp_path: Path
) -> None:
    await put_versions(registry, tmp_path, 2)
    first = refs_in(await registry.get(REFS))
    repo = only_repo(registry)
    repo.rename(repo.with_name("elsewhere"))

    assert refs_in(await registry.get(REFS)) == first


async def test_a_blocked_version_is_not_in_the_repository_and_the_others_keep_their_commits(
    registry: Registry, tmp_path: Path
) -> None:
    await put_versions(registry, tmp_path, 3)
    before = refs_in(await registry.get(REFS))
    first = only_repo(registry)
    middle = before["refs/tags/v1.0.1"]
    digest = run_git(first, "log", "-1", "--format=%B", middle).rsplit("sha256:", 1)[1]

    await block(BlockSubject(BlockKind.DIGEST, digest), reason="it steals", actor="cyd")
    after = refs_in(await registry.get(REFS))

    assert after == {name: ref for name, ref in before.items() if ref != middle}
    (second,) = set(cache_folder(registry.env.settings).iterdir()) - {first}
    assert run_git(second, "fsck", "--strict") == ""
    assert run_git(second, "rev-list", "main").split() == [after["refs/heads/main"]]
    with pytest.raises(subprocess.CalledProcessError):
        run_git(second, "cat-file", "-t", middle)


async def test_a_yanked_version_keeps_its_tag_but_is_not_the_branch(
    registry: Registry, tmp_path: Path
) -> None:
    await put_versions(registry, tmp_path, 2)
    yank = Yank(number=2, reason="broken", by="ada", at=get_now())
    await change_skill(registry.env, SLUG, yanked=(yank,), version="1.0.0")

    refs = refs_in(await registry.get(REFS))

    assert refs["refs/heads/main"] == refs["refs/tags/v1.0.0"]
    assert "refs/tags/v1.0.1" in refs


async def test_a_skill_that_was_taken_down_has_no_repository(
    registry: Registry, tmp_path: Path
) -> None:
    await put_versions(registry, tmp_path, 1)
    down = TakenDown(reason="it steals", by="cyd", at=get_now())
    await change_skill(registry.env, SLUG, down=down)

    answer = await registry.get(REFS)

    assert answer.status_code == 403
    assert "it steals" in answer.text


async def test_a_private_repository_and_none_are_the_same_without_a_token(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, SLUG, is_private=True)
    member = await token_of(Role.PUBLISHER, Scope.READ, name="ada")
    await add_owner("@acme", "ada", actor="test")
    token = member["Authorization"].removeprefix("Bearer ")
    stranger = await token_of(Role.READER, Scope.READ, name="ben")

    private = await registry.get(REFS)
    missing = await registry.get(REFS.replace("demo", "none"))
    opened = await registry.get(REFS, headers=basic("any", token))
    refused = await registry.get(REFS, headers=basic("any", "vsk_wrong"))
    other = await registry.get(REFS, headers=stranger)

    assert private.status_code == missing.status_code == 401
    assert private.headers["www-authenticate"].startswith("Basic ")
    assert private.json()["detail"].replace("demo", "none") == missing.json()["detail"]
    assert opened.status_code == 200
    assert (refused.status_code, other.status_code) == (401, 404)


def basic(user: str, password: str) -> dict[str, str]:
    text = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {text}"}


async def test_basic_authentication_is_for_git_alone(registry: Registry) -> None:
    member = await token_of(Role.ADMIN)
    token = member["Authorization"].removeprefix("Bearer ")

    answer = await registry.get("/api/v1/account", headers=basic("cyd", token))

    assert answer.status_code == 401


async def test_objects_are_fetched_by_post_compressed_or_not(
    registry: Registry, tmp_path: Path
) -> None:
    await put_versions(registry, tmp_path, 1)
    commit = refs_in(await registry.get(REFS))["refs/heads/main"]
    want = f"0032want {commit}\n00000009done\n".encode()
    path = f"/git/{SLUG}.git/git-upload-pack"

    plain = await registry.post(path, content=want)
    packed = await registry.post(
        path, content=gzip.compress(want), headers={"Content-Encoding": "gzip"}
    )

    assert plain.headers["content-type"] == "application/x-git-upload-pack-result"
    assert plain.content.startswith(b"0008NAK\nPACK")
    assert packed.content == plain.content
    installs = (await registry.json(f"/skills/{SLUG}"))["skill"]["vskillInstalls"]
    assert installs == 1


async def ask_v2(registry: Registry, *lines: bytes) -> bytes:
    """Send a command of version 2; return the answer."""
    command, *arguments = lines
    packets = [packet(command + b"\n"), packet(b"object-format=sha1"), b"0001"]
    packets += [packet(argument + b"\n") for argument in arguments]
    answer = await registry.post(
        f"/git/{SLUG}.git/git-upload-pack",
        content=b"".join([*packets, b"0000"]),
        headers={"Git-Protocol": "version=2"},
    )
    assert answer.status_code == 200, answer.text
    return answer.content


async def test_version_2_lists_the_refs_that_were_asked_for(
    registry: Registry, tmp_path: Path
) -> None:
    await put_versions(registry, tmp_path, 2)
    refs = refs_in(await registry.get(REFS))
    head = refs["refs/heads/main"]

    hello = await registry.get(REFS, headers={"Git-Protocol": "version=2"})
    everything = await ask_v2(registry, b"command=ls-refs")
    some = await ask_v2(
        registry, b"command=ls-refs", b"symrefs", b"ref-prefix HEAD", b"ref-prefix refs/heads/"
    )

    assert hello.content.startswith(b"000eversion 2\n")
    assert everything.count(b"\n") == 4
    assert some == (
        packet(f"{head} HEAD symref-target:refs/heads/main\n".encode())
        + packet(f"{head} refs/heads/main\n".encode())
        + b"0000"
    )


async def test_a_clone_gets_the_pack_and_a_shallow_one_what_git_makes_of_it(
    registry: Registry, tmp_path: Path
) -> None:
    await put_versions(registry, tmp_path, 2)
    head = refs_in(await registry.get(REFS))["refs/heads/main"].encode()
    pack = (only_repo(registry) / PACK).read_bytes()

    whole = await ask_v2(registry, b"command=fetch", b"ofs-delta", b"want " + head, b"done")
    shallow = await ask_v2(registry, b"command=fetch", b"deepen 1", b"want " + head, b"done")
    unknown = await ask_v2(registry, b"command=fetch", b"want " + b"1" * 40, b"done")

    assert whole == packet(b"packfile\n") + packet(b"\x01" + pack) + b"0000"
    assert shallow.startswith(packet(b"shallow-info\n") + packet(b"shallow " + head))
    assert b"PACK" in shallow
    assert b"PACK" not in unknown


async def head_of(registry: Registry) -> bytes:
    """Return the latest commit; nothing is built for this answer."""
    answer = await ask_v2(registry, b"command=ls-refs", b"ref-prefix HEAD")
    return answer[4:44]


def pack_in(answer: bytes) -> bytes:
    """Return what an answer contains on the band of the pack."""
    rest = answer.removeprefix(packet(b"packfile\n"))
    pack = b""
    while rest != b"0000":
        size = int(rest[:4], 16)
        assert rest[4:5] == b"\x01"
        pack, rest = pack + rest[5:size], rest[size:]
    return pack


@pytest.mark.parametrize("at_once", [1, 2, 8])
async def test_a_pack_is_sent_while_it_is_made(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(build_repo, "_AT_ONCE", at_once)
    monkeypatch.setattr(build_repo, "_GROUP_BYTES", 100)
    await put_versions(registry, tmp_path, 3)
    want = b"want " + await head_of(registry)

    answers = await asyncio.gather(
        *(ask_v2(registry, b"command=fetch", want, b"done") for _ in range(3))
    )
    # A pack may have been sent before its repository has its name.
    await asyncio.gather(*(build.wait() for build in builds_of(registry)))
    later = await ask_v2(registry, b"command=fetch", want, b"done")

    stored = (only_repo(registry) / PACK).read_bytes()
    assert {pack_in(answer) for answer in (*answers, later)} == {stored}
    assert run_git(only_repo(registry), "fsck", "--strict") == ""


async def test_a_pack_that_cannot_be_completed_breaks_off(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_objects, "MAX_PACK_BYTES", 500)
    monkeypatch.setattr(build_repo, "_GROUP_BYTES", 100)
    await put_versions(registry, tmp_path, 3)
    want = b"want " + await head_of(registry)

    with pytest.raises(LitestarException, match="after response started"):
        await ask_v2(registry, b"command=fetch", want, b"done")

    assert not list(cache_folder(registry.env.settings).iterdir())
    assert DOWNLOADS.count == 0


async def test_nothing_is_sent_of_a_repository_whose_archives_are_gone(
    registry: Registry, tmp_path: Path
) -> None:
    await put_versions(registry, tmp_path, 3)
    want = b"want " + await head_of(registry)
    (version, *_) = await get_versions(SLUG)
    await registry.env.engine.commit([Delete(f"blob:{version.archive_sha256}")])

    body = b"".join([packet(b"command=fetch\n"), b"0001", packet(want), packet(b"done\n"), b"0000"])
    answer = await registry.post(
        f"/git/{SLUG}.git/git-upload-pack", content=body, headers={"Git-Protocol": "version=2"}
    )

    assert answer.status_code == 404
    assert "no longer stored" in answer.text


@pytest.mark.parametrize(
    "body", [b"x", b"zzzz", b"0003", b"ffffshort", b"0014command=ls-refs\n", b"00010000"]
)
async def test_malformed_requests_of_version_2_are_answered(
    registry: Registry, tmp_path: Path, body: bytes
) -> None:
    await put_versions(registry, tmp_path, 1)

    answer = await registry.post(
        f"/git/{SLUG}.git/git-upload-pack", content=body, headers={"Git-Protocol": "version=2"}
    )

    assert answer.status_code in {200, 400}
    assert b"PACK" not in answer.content


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"rubbish", {}, {200, 400}),
        (b"x" * 2_000_000, {}, {413}),
        (gzip.compress(bytes(2_000_000)), {"Content-Encoding": "gzip"}, {413}),
        (b"not gzip", {"Content-Encoding": "gzip"}, {400}),
        (b"x", {"Content-Encoding": "br"}, {400}),
    ],
)
async def test_strange_requests_are_refused(
    registry: Registry, tmp_path: Path, body: bytes, headers: dict[str, str], status: set[int]
) -> None:
    await put_versions(registry, tmp_path, 1)

    answer = await registry.post(f"/git/{SLUG}.git/git-upload-pack", content=body, headers=headers)

    assert answer.status_code in status
    assert b"PACK" not in answer.content


@pytest.mark.parametrize(
    "path",
    ["/git/x", "/git/@acme/demo.git", "/git/@acme/demo.git/HEAD", "/git/@acme/demo.git/../x.git"],
)
async def test_other_paths_are_not_found(registry: Registry, tmp_path: Path, path: str) -> None:
    await put_versions(registry, tmp_path, 1)

    assert (await registry.get(path)).status_code == 404


async def test_pushing_is_refused(registry: Registry, tmp_path: Path) -> None:
    await put_versions(registry, tmp_path, 1)

    answer = await registry.get(f"/git/{SLUG}.git/info/refs?service=git-receive-pack")

    assert answer.status_code == 403


async def test_the_marketplace_pins_the_commit_of_the_latest_version(
    registry: Registry, tmp_path: Path
) -> None:
    await put_versions(registry, tmp_path, 2)

    for scope in ("", "/n/@acme", f"/s/{SLUG}"):
        (plugin,) = (await registry.get(f"{scope}{MARKETPLACE}")).json()["plugins"]

        refs = refs_in(await registry.get(REFS))
        assert plugin["source"] == {
            "source": "url",
            "url": f"http://registry/git/{SLUG}.git",
            "sha": refs["refs/tags/v1.0.1"],
        }
        assert plugin["version"] == "1.0.1"
        assert (plugin["strict"], plugin["skills"]) == (False, ["./"])


async def test_a_skill_with_files_that_mean_more_in_a_plugin_is_put_into_a_folder(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, SLUG, files={**FILES, "hooks/hooks.json": "{}"})

    (plugin,) = (await registry.get(MARKETPLACE)).json()["plugins"]
    refs = refs_in(await registry.get(REFS))

    repo = only_repo(registry)
    assert plugin["skills"] == ["./skill"]
    assert plugin["source"]["sha"] == refs["refs/plugins/v1.0.0"]
    assert run_git(repo, "ls-tree", "--name-only", plugin["source"]["sha"]) == "skill"
    assert run_git(repo, "rev-parse", f"{plugin['source']['sha']}:skill") == run_git(
        repo, "rev-parse", "main^{tree}"
    )


async def test_a_private_plugin_has_a_signed_url_that_git_can_use(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, SLUG, is_private=True)

    seen = await registry.get(MARKETPLACE, headers=await token_of(Role.ADMIN))
    (plugin,) = seen.json()["plugins"]
    url = plugin["source"]["url"].removeprefix("http://registry")
    opened = await registry.get(f"{url}{SERVICE}")
    other = await registry.get(f"{url.replace('demo', 'else')}{SERVICE}")

    assert (await registry.get(MARKETPLACE)).json()["plugins"] == []
    assert opened.status_code == 200
    assert other.status_code == 401


async def test_an_owner_may_be_called_signed(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path, "signed/notes/tidy")

    answer = await registry.get(f"/git/signed/notes/tidy.git{SERVICE}")

    assert answer.status_code == 200


def test_no_two_skills_have_the_same_plugin_name() -> None:
    slugs = [
        "@a/b-c", "@a-b/c", "a/b/c", "a/b.c/d", "a/b_c/d", "a/b/c/d", "a.b/c/d/e", "a/b__c/d",
        "a/B/c", "a/b,c/d", "a/b--c/d", "a/b_2ec/d",
    ]  # fmt: skip

    found = [plugin_name(slug) for slug in slugs]

    assert len(set(found)) == len(slugs)
    assert all(name == name.lower() and set(name) <= set(ALLOWED) for name in found)
    assert plugin_name("@acme/demo") == "acme__demo"


ALLOWED = "abcdefghijklmnopqrstuvwxyz0123456789-_"


def test_marketplaces_of_namespaces_have_different_names() -> None:
    base = "https://skills.example"

    found = [market_name(base, below) for below in ("", "@acme", "acme", "acme/repo", "g.x/acme")]

    assert found[0] == "vskill-skills-example"
    assert found[1] == "vskill-skills-example__acme"
    assert len(set(found)) == len(found)
