"""`users`, `tokens` and `namespaces` on the command line, and the first admin of a new server."""

import re
import stat
import subprocess
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import msgspec
import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.program import PROGRAM, Platform

PASSWORD = "correct horse battery staple"


@pytest.mark.slow
def test_a_user_is_invited_disabled_and_enabled(platform: Platform) -> None:
    added = platform.run("users", "add", "Ada", "--role", "reviewer")
    steps = [
        platform.run("users", "set-role", "ada", "publisher", "--reason", "less is enough"),
        platform.run("users", "disable", "ada", "--reason", "left"),
        platform.run("users", "enable", "ada"),
    ]
    listed = msgspec.json.decode(platform.run("users", "list", "--json").out)
    audit = msgspec.json.decode(platform.run("audit", "--json").out)["records"]
    filtered = platform.run("audit", "--action", "user", "--target", "ADA", "--to", "2001-01-01")
    page = platform.run("audit", "--action", "user", "--from", "2001-01-01", "--limit", "1")

    assert re.search(r"http://127\.0\.0\.1:8000/welcome\?key=[\w-]{43}", added.out)
    assert [step.out for step in steps] == [
        "ada has the role publisher.\n",
        "ada has the role publisher, disabled.\n",
        "ada has the role publisher.\n",
    ]
    assert [(user["name"], user["role"], user["is_disabled"]) for user in listed] == [
        ("ada", "publisher", False)
    ]
    assert [record["action"] for record in reversed(audit)] == [
        "user add", "user invite", "user set-role", "user disable", "user enable",
    ]  # fmt: skip
    assert filtered.out == "No entries match.\n"
    assert "audit --action user --from 2001-01-01 --limit 1 --after audit:" in page.out


@pytest.mark.slow
def test_a_password_is_read_from_standard_input(platform: Platform) -> None:
    platform.run("users", "add", "ada")

    weak, good = (_set_password(platform, text) for text in ("short\n", f"{PASSWORD}\n"))

    assert weak.returncode == 1
    assert "12 to 1000 characters" in weak.stderr
    assert good.returncode == 0
    assert PASSWORD not in good.stdout + good.stderr


def _set_password(platform: Platform, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "users", "set-password", "ada"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env=platform._environment({}),
        cwd=platform.folder,
        timeout=platform.patience,
    )


@pytest.mark.slow
def test_a_token_is_printed_once_listed_and_revoked(platform: Platform) -> None:
    platform.run("users", "add", "ada")
    made = platform.run("tokens", "add", "ada", "--label", "the build", "--scope", "submit")
    beyond = platform.run("tokens", "add", "ada", "--label", "x", "--scope", "admin")
    (listed,) = msgspec.json.decode(platform.run("tokens", "list", "--json").out)

    revoked = platform.run("tokens", "revoke", listed["id"], "--reason", "lost")
    again = platform.run("tokens", "revoke", listed["id"])

    assert re.fullmatch(r"vsk_[0-9A-Za-z]{40}\n", made.out)
    assert (listed["label"], listed["scopes"]) == ("the build", ["submit"])
    assert made.out.strip() not in platform.run("audit", "--json").out
    assert (beyond.code, revoked.code, again.code) == (1, 0, 1)
    assert "the role publisher does not allow the scope admin" in beyond.err


@pytest.mark.slow
def test_a_namespace_gets_owners_and_members(platform: Platform) -> None:
    for name in ("ada", "ben"):
        platform.run("users", "add", name)

    platform.run("namespaces", "add-owner", "github.com/Team", "ada")
    platform.run("namespaces", "add-member", "team", "ben")
    platform.run("namespaces", "add-owner", "team", "ben")
    last = platform.run("namespaces", "remove-owner", "team", "ada")
    (listed,) = msgspec.json.decode(platform.run("namespaces", "list", "--json").out)
    unknown = platform.run("namespaces", "add-owner", "team", "zoe")
    platform.run("namespaces", "add-owner", "@local", "ada")
    left = platform.run("namespaces", "remove-owner", "@local", "ada")
    platform.run("namespaces", "add-owner", "@ada", "ben")
    own = platform.run("namespaces", "remove-owner", "@ada", "ben")
    platform.run("delete", "team", "--namespace", "--reason", "we moved", "--yes")
    gone = platform.run("namespaces", "add-member", "team", "ben")

    assert last.out == "team: owned by ben; members: ben.\n"
    assert (listed["name"], listed["owners"], listed["members"]) == ("team", ["ben"], ["ben"])
    assert left.out == "@local: no owners; members: none.\n"
    assert own.out == "@ada: owned by its user only; members: none.\n"
    assert gone.out == "team: deleted; add an owner to open it again; members: ben.\n"
    assert "team (deleted)" in platform.run("namespaces", "list").out
    assert unknown.code == 1
    assert "there is no user 'zoe'" in unknown.err


@pytest.mark.slow
@pytest.mark.timeout(90)
def test_the_first_start_prints_a_link_that_makes_an_admin_once(platform: Platform) -> None:
    port = free_port()
    server = platform.start("serve", port=str(port))
    server.wait_for(f"http://127.0.0.1:{port}/welcome?key=")
    server.wait_for("vskill-platform is at")
    file = Path(f"{platform.database}.admin-link")
    url = file.read_text().strip()
    browser = build_opener(HTTPCookieProcessor())

    page = browser.open(url).read().decode()
    account = _send(browser, url, page)

    assert url.startswith(f"http://127.0.0.1:{port}/welcome?key=")
    assert "Welcome! You are signed in." in account
    assert not file.exists()
    assert server.end() == 0
    second = platform.start("serve", port=str(port))
    second.wait_for("vskill-platform is at")
    assert not file.exists()


@pytest.mark.slow
def test_the_link_is_for_its_owners_eyes_alone(platform: Platform) -> None:
    server = platform.start("serve", port=str(free_port()))
    server.wait_for("vskill-platform is at")

    mode = Path(f"{platform.database}.admin-link").stat().st_mode

    assert stat.S_IMODE(mode) == 0o600


def _send(browser: OpenerDirector, url: str, page: str) -> str:
    (token,) = set(re.findall(r'name="csrf_token" value="([0-9a-f]+)"', page))
    form = {
        "csrf_token": token,
        "key": url.partition("key=")[2],
        "name": "cyd",
        "password": PASSWORD,
        "password_again": PASSWORD,
    }
    target = url.partition("?")[0]
    request = Request(target, urlencode(form).encode(), {"Accept": "text/html"})  # noqa: S310 - only loopback
    answer: bytes = browser.open(request).read()
    return answer.decode()
