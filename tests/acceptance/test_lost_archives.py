"""The folder with the archives disappears while a server runs, and returns."""

from pathlib import Path

import pytest

from tests.acceptance.ports import free_port, get, get_bytes
from tests.acceptance.program import Platform
from tests.acceptance.records import submit_folders, wait_until_all_ended
from tests.casts import a_skill_folder


@pytest.mark.slow
async def test_a_server_waits_for_its_archives_and_goes_on_by_itself(
    platform: Platform, tmp_path: Path
) -> None:
    store = tmp_path / "blobs"
    port = free_port()
    await submit_folders(platform, a_skill_folder(tmp_path))

    server = platform.start("serve", port=str(port), blobs_url=f"file://{store}", retry_delay="1s")
    server.wait_for("archive storage unavailable")
    alive, _ = get(port, "/healthz")
    store.mkdir()
    await wait_until_all_ended(platform)
    here, archive = get_bytes(port, "/skills/@local/tidy-notes/download")
    away = store.rename(tmp_path / "away")
    gone, problem = get(port, "/api/v1/skills/@local%2Ftidy-notes/download")
    away.rename(store)
    again, same = get_bytes(port, "/skills/@local/tidy-notes/download")

    assert (alive, here, gone, again) == (200, 200, 503, 200)
    assert archive == same
    assert "archives_unavailable" in problem
    assert server.end() == 0
