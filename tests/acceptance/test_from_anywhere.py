"""Users with only the URL of a registry sign in, publish and review over HTTP."""

import os
import re
from collections.abc import Iterator, Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import msgspec
import pytest

from tests.acceptance.forked_program import Order
from tests.acceptance.loaded_program import loaded_program
from tests.acceptance.ports import free_port, get_json
from tests.acceptance.processes import Finished, Running
from tests.acceptance.program import PROGRAM, Platform
from tests.browser.registry import PASSWORD, RISKY, STEALS, own_words
from tests.casts import a_skill_folder

pytestmark = pytest.mark.timeout(120)


class Site(msgspec.Struct, frozen=True):
    platform: Platform
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def token(self, user: str, *scopes: str) -> str:
        options = [word for scope in scopes for word in ("--scope", scope)]
        made = self.platform.run("tokens", "add", user, "--label", "test", "--json", *options)
        return str(msgspec.json.decode(made.out)["token"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    platform, port = Platform(tmp_path_factory.mktemp("site")), free_port()
    server = platform.start("serve", port=str(port))
    server.wait_for("vskill-platform is at")
    for name, role in (("ada", "publisher"), ("rae", "reviewer")):
        link = platform.run("users", "add", name, "--role", role, "--json", port=str(port))
        _choose_password(msgspec.json.decode(link.out)["link"])
    yield Site(platform, port)
    platform.end_everything()


class Laptop:
    """A machine with a home of its own, and no database."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "work"
        self.folder.mkdir(parents=True)

    def run(self, *arguments: str | Path, harm: Sequence[str] = (), **environ: str) -> Finished:
        order = Order(
            [os.fsencode(argument) for argument in (PROGRAM, *arguments)],
            self.environment(**environ),
            str(self.folder),
            list(harm),
        )
        return loaded_program().run(order, patience=60)

    def json(self, *arguments: str | Path, **environ: str) -> Any:
        done = self.run(*arguments, "--json", **environ)
        assert done.code == 0, done
        return msgspec.json.decode(done.out)

    def environment(self, **environ: str) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("VSKILL_")}
        own = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "COLUMNS": "80",
        }
        return {**kept, **own, **environ}

    def skill(self, name: str, **files: str) -> Path:
        folder = a_skill_folder(self.folder, name, **files)
        (folder / "SKILL.md").write_text(own_words(name))
        return folder


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path)


@pytest.fixture
def signed_in(site: Site, laptop: Laptop) -> Laptop:
    token = site.token("ada", "read", "submit", "manage")
    done = laptop.run("login", site.url, "--token", token, "--name", "lab")
    assert done.code == 0, done
    return laptop


def _a_browser() -> OpenerDirector:
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    browser.addheaders = [("Accept", "text/html")]
    return browser


def _choose_password(link: str) -> None:
    browser = _a_browser()
    page = browser.open(link).read().decode()
    base, _, key = link.partition("/welcome?key=")
    form = {"key": key, "name": "", "password": PASSWORD, "password_again": PASSWORD}
    _post(browser, f"{base}/welcome", page, form)


def _post(browser: OpenerDirector, url: str, page: str, form: dict[str, str]) -> str:
    (csrf,) = set(re.findall(r'name="csrf_token" value="([0-9a-f]+)"', page))
    sent = urlencode({"csrf_token": csrf, **form}).encode()
    answer: bytes = browser.open(url, sent).read()
    return answer.decode()


@pytest.mark.slow
def test_somebody_with_a_url_and_a_browser_signs_in_and_publishes(
    site: Site, laptop: Laptop
) -> None:
    running = site.platform.start_elsewhere(
        ["login", site.url, "--no-browser"], laptop.environment(), laptop.folder
    )
    code = _code_shown_by(running)
    browser = _a_browser()
    form = browser.open(f"{site.url}/device?user_code={code}").read().decode()
    asked = _post(
        browser,
        f"{site.url}/sign-in",
        form,
        {"name": "ada", "password": PASSWORD, "next": f"/device?user_code={code}"},
    )
    done = _post(browser, f"{site.url}/device", asked, {"user_code": code, "ruling": "approve"})
    assert "Approved." in done
    assert running.wait() == 0
    token_file = laptop.home / ".config/vskill-platform/tokens.json"
    assert token_file.stat().st_mode & 0o777 == 0o600
    folder = laptop.skill("from-a-laptop")

    published = laptop.run("publish", folder)

    assert published.code == 0, published
    assert published.out.splitlines()[-1] == (
        f"Published as @ada/from-a-laptop: {site.url}/skills/@ada/from-a-laptop"
    )
    assert f"Sending to {site.url} as @ada/from-a-laptop: 1 file" in published.err
    status, found = get_json(site.port, "/api/v1/skills/@ada%2Ffrom-a-laptop")
    assert (status, found["skill"]["currentVersion"]) == (200, "1.0.0")
    out = laptop.run("logout")
    assert out.out == f"Signed out of 127.0.0.1-{site.port}.\n"
    assert out.err == ""
    assert laptop.run("whoami").code == 1


def _code_shown_by(running: Running) -> str:
    line = running.wait_for("enter the code")
    (code,) = re.findall(r"[A-Z]{4}-[A-Z]{4}", line)
    return str(code)


def test_commands_that_need_a_sign_in_fail_without_one(laptop: Laptop) -> None:
    folder = laptop.skill("nowhere")

    for command in (("submit", folder), ("publish", folder, "--no-scan"), ("submissions",)):
        done = laptop.run(*command)
        assert done.code == 1
        assert "vskill-platform login URL" in done.err
        assert done.out == ""

    assert [path.name for path in laptop.folder.iterdir()] == ["nowhere"]


@pytest.mark.slow
def test_a_skill_that_the_registry_would_reject_is_not_sent(site: Site, signed_in: Laptop) -> None:
    folder = signed_in.skill("steals", run_dot_sh=STEALS)

    refused = signed_in.run("publish", folder)
    sent = signed_in.run("publish", folder, "--no-scan")
    (submission_id,) = re.findall(rf"{site.url}/submissions/(sub_\w+)", sent.out)
    retried = signed_in.run("retry", submission_id)
    watched = signed_in.run("status", submission_id, "--watch")

    assert (refused.code, sent.code) == (1, 1)
    assert retried.code == 0, retried
    assert watched.code == 1, watched
    assert "Nothing was sent" in refused.err
    assert "Sending to" not in refused.err
    assert "SKR-RUN-001" in refused.out
    assert "SKR-RUN-001" in sent.out
    assert "Not published (TIER1_FAILED)" in sent.out


@pytest.mark.slow
def test_a_skill_that_needs_review_exits_with_three_and_a_link(
    site: Site, signed_in: Laptop
) -> None:
    folder = signed_in.skill("risky", run_dot_sh=RISKY)
    reviewer = {
        "VSKILL_REGISTRY": site.url,
        "VSKILL_TOKEN": site.token("rae", "read", "review"),
    }

    waiting = signed_in.run("publish", folder)
    (link,) = re.findall(rf"{site.url}/submissions/(sub_\w+)", waiting.out)
    listed = signed_in.run("reviews", **reviewer)
    shown = signed_in.run("reviews", "show", link, **reviewer)
    unasked = signed_in.run("reviews", "approve", link, "--reason", "fine", **reviewer)
    approved = signed_in.run("reviews", "approve", link, "--reason", "fine", "--yes", **reviewer)
    again = signed_in.run("publish", folder)

    assert waiting.code == 3
    assert "It needs review" in waiting.out
    assert [line.split("\t")[:2] for line in listed.out.splitlines()] == [[link, "risky"]]
    assert "run.sh" in shown.out
    assert unasked.code == 2
    assert approved.code == 0, approved
    assert again.code == 0, again


@pytest.mark.slow
def test_a_published_skill_is_looked_at_and_managed_from_afar(
    site: Site, signed_in: Laptop
) -> None:
    folder = signed_in.skill("managed")
    first = signed_in.json("publish", folder)
    (folder / "more.md").write_text("More words about something else entirely.\n")
    second = signed_in.json("publish", folder)
    slug = "@ada/managed"

    states = [one["submissions"][0]["state"] for one in (first, second)]
    assert states == ["PUBLISHED", "PUBLISHED"]
    listed = signed_in.run("versions", slug)
    assert [line.split("\t")[0] for line in listed.out.splitlines()] == ["1.0.1", "1.0.0"]
    assert "+More words" in signed_in.run("diff", slug).out
    yanked = signed_in.run("yank", slug, "1.0.1", "--reason", "oops")
    assert yanked.out == "@ada/managed 1.0.1 is yanked. The latest is 1.0.0.\n"
    assert signed_in.run("unyank", slug, "1.0.1", "--reason", "ok").code == 0
    newest = signed_in.json("submissions", "--limit", "1")["submissions"][0]
    assert newest["publishedSkillName"] == slug
    assert slug in signed_in.run("search", "managed").out
    assert signed_in.run("status", newest["id"]).code == 0
    assert signed_in.run("status", "sub_nothing").code == 1
    watched = signed_in.run("status", newest["id"], "--watch")
    assert watched.code == 0, watched


@pytest.mark.slow
def test_a_private_skill_is_visible_to_its_namespace_only(site: Site, signed_in: Laptop) -> None:
    folder = signed_in.skill("secret-notes")

    published = signed_in.run("publish", folder, "--private")

    assert published.code == 0, published
    assert get_json(site.port, "/api/v1/skills/@ada%2Fsecret-notes")[0] == 404
    assert "@ada/secret-notes" in signed_in.run("search", "secret").out


@pytest.mark.slow
def test_a_reviewer_blocks_and_unblocks_from_afar(site: Site, laptop: Laptop) -> None:
    reviewer = {"VSKILL_REGISTRY": site.url, "VSKILL_TOKEN": site.token("rae", "review")}
    about = ("--source", "https://git.example/bad/repo")

    added = laptop.run("block", "add", *about, "--reason", "bad", **reviewer)
    checked = laptop.run("block", "check", *about, **reviewer)
    listed = laptop.run("block", "list", **reviewer)
    removed = laptop.run("block", "remove", *about, "--reason", "fine", **reviewer)
    after = laptop.run("block", "check", *about, **reviewer)

    assert (added.code, checked.code, removed.code, after.code) == (0, 1, 0, 0)
    assert "https://git.example/bad/repo" in listed.out


@pytest.mark.slow
def test_rights_are_those_of_the_token(site: Site, laptop: Laptop) -> None:
    reader = {"VSKILL_REGISTRY": site.url, "VSKILL_TOKEN": site.token("ada", "read")}
    folder = laptop.skill("not-mine")

    refused = laptop.run("submit", folder, **reader)
    reviews = laptop.run("reviews", **reader)
    wrong = laptop.run("submissions", **{**reader, "VSKILL_TOKEN": "vsk_wrong"})

    assert (refused.code, reviews.code, wrong.code) == (1, 1, 1)
    assert "this token does not allow submitting: it needs the scope submit" in refused.err
    assert "your role (publisher) does not allow reviewing" in reviews.err
    assert "Replace the token in VSKILL_TOKEN." in wrong.err


def test_a_dry_run_sends_nothing_and_needs_no_registry(laptop: Laptop) -> None:
    folder = laptop.skill("looked-at")
    (folder / ".git").mkdir()
    (folder / "__pycache__").mkdir()

    done = laptop.json("publish", folder, "--dry-run")

    assert [file["path"] for file in done["files"]] == ["SKILL.md"]
    assert done["leftOut"] == [".git/", "__pycache__/"]
    assert done["scan"] == "pass"


@pytest.mark.slow
def test_several_registries_are_known_by_name(site: Site, signed_in: Laptop) -> None:
    wrong = signed_in.run("whoami", "--registry", "lba")
    right = signed_in.run("whoami", "--registry", "lab")
    listed = signed_in.run("registries")
    removed = signed_in.run("registries", "remove", "lab")

    assert "there is no registry 'lba' (known: lab)" in wrong.err
    assert right.out.startswith("ada (publisher")
    assert listed.out == f"*\tlab\t{site.url}\tfile\n"
    assert removed.code == 0
    assert signed_in.run("whoami").code == 1


def test_a_skill_is_published_on_one_machine_and_installed_on_another(
    site: Site, signed_in: Laptop, tmp_path: Path
) -> None:
    folder = signed_in.skill("travels")
    assert signed_in.run("publish", folder, "--private").code == 0
    other = Laptop(tmp_path / "other")
    for agent in (".claude", ".codex"):
        (other.home / agent).mkdir()
    member = {"VSKILL_REGISTRY": site.url, "VSKILL_TOKEN": site.token("ada", "read")}
    stranger = other.run("install", "travels", VSKILL_REGISTRY=site.url)
    installed = other.run("install", "travels", **member)
    (folder / "more.md").write_text("More about travelling.\n")
    assert signed_in.run("publish", folder).code == 0
    outdated = other.run("outdated", **member)
    killed = other.run(
        "update", **member,
        harm=["SIGKILL", "after", "vskill_platform.client.replace_folders:_put_in_place", "0"],
    )  # fmt: skip
    verified = other.run("verify", **member)
    updated = other.run("update", **member)

    assert (stranger.code, installed.code) == (1, 0), installed
    assert installed.out == (
        "Installed @ada/travels 1.0.0 into .agents/skills/travels, .claude/skills/travels\n"
    )
    assert outdated.out == "@ada/travels\t1.0.0\t1.0.1\t1.0.1\t\n"
    assert killed.code == -9
    assert verified.code == 0, verified
    assert updated.out.startswith("Updated @ada/travels 1.0.0 → 1.0.1"), updated
    for skills in (".claude/skills", ".agents/skills"):
        assert (other.folder / skills / "travels" / "more.md").exists()
        assert [path.name for path in (other.folder / skills).iterdir()] == ["travels"]
