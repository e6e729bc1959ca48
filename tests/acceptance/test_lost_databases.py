"""A database is lost while a server runs, or is damaged when one starts."""

import os
from pathlib import Path

import pytest

from tests.acceptance.ports import free_port, get
from tests.acceptance.program import Platform
from tests.acceptance.records import submit_folders, wait_until_all_ended
from tests.casts import a_skill_folder


def _delete(platform: Platform, *endings: str) -> None:
    for ending in endings:
        Path(f"{platform.database}{ending}").unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    "endings",
    [
        ("", "-wal", "-shm"),
        pytest.param(("-wal",), marks=pytest.mark.torture),
        pytest.param(("-wal", "-shm"), marks=pytest.mark.torture),
        ("-shm",),
    ],
)
async def test_a_server_whose_files_were_deleted_says_so_and_takes_nothing(
    platform: Platform, tmp_path: Path, endings: tuple[str, ...]
) -> None:
    await submit_folders(platform, a_skill_folder(tmp_path))
    port = free_port()
    server = platform.start("serve", port=str(port))
    server.wait_for("vskill-platform is at")
    await wait_until_all_ended(platform)
    _delete(platform, *endings)
    server.wait_for("database deleted or replaced while in use")

    ready, _ = get(port, "/readyz")
    stats, _ = get(port, "/api/v1/queue/stats")
    alive, _ = get(port, "/healthz")
    listed = platform.run("list")

    assert (ready, alive) == (503, 200)
    assert stats == 503
    assert listed.code == 1
    assert "No submissions" not in listed.out
    assert server.end() == 0


@pytest.mark.slow
async def test_no_server_begins_with_an_empty_database_after_the_old_one_was_deleted(
    platform: Platform, tmp_path: Path
) -> None:
    await submit_folders(platform, a_skill_folder(tmp_path))
    port = str(free_port())
    server = platform.start("serve", port=port)
    server.wait_for("vskill-platform is at")
    assert get(int(port), "/healthz")[0] == 200
    _delete(platform, "", "-wal", "-shm")
    server.kill()

    again = platform.run("serve", port=port)

    assert again.code == 1
    assert "missing or empty, but there was one" in again.err
    assert "There is no admin yet" not in again.err
    assert not platform.database.exists()


@pytest.mark.parametrize("command", [("serve",), ("work", "--drain")])
async def test_a_start_on_damaged_pages_is_refused_and_offers_no_admin_link(
    platform: Platform, tmp_path: Path, command: tuple[str, ...]
) -> None:
    await submit_folders(platform, *(a_skill_folder(tmp_path, f"skill-{n}") for n in range(9)))
    with os.fdopen(os.open(platform.database, os.O_RDWR), "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for page in range(size // 4096 // 4, size // 4096, 4):
            file.seek(page * 4096)
            file.write(os.urandom(4096))

    refused = platform.run(*command, port=str(free_port()))

    assert refused.code == 1
    assert "the file is damaged; restore it from a backup" in refused.err
    assert "admin" not in refused.err
    assert "Traceback" not in refused.err
