"""Live pages and a server that stops do not wait for each other."""

import time

import httpx
import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.program import Platform
from tests.casts import a_skill_folder

#: A server that waited for its pages would be killed after much longer.
_SECONDS_TO_STOP = 10


@pytest.mark.slow
def test_a_page_is_notified_of_a_submission_and_a_server_stops_though_pages_are_open(
    platform: Platform,
) -> None:
    port = free_port()
    server = platform.start("serve", port=str(port))
    server.wait_for(f"vskill-platform is at http://127.0.0.1:{port}")

    with (
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as browser,
        browser.stream("GET", "/live/queue") as page,
    ):
        events = page.iter_lines()
        hello = next(events)
        platform.submit(a_skill_folder(platform.folder))
        heard = next(line for line in events if line.startswith("event:"))
        before = time.monotonic()
        code = server.end()
        took = time.monotonic() - before
        rest = list(events)

    assert hello == ": listening"
    assert heard == "event: changed"
    assert (code, took < _SECONDS_TO_STOP) == (0, True)
    assert not any(line.startswith("event: end") for line in rest)
