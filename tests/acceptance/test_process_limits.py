"""The program under limits of the operating system that it cannot raise."""

import asyncio
import socket
from contextlib import ExitStack

import pytest

from tests.acceptance.ports import free_port, get
from tests.acceptance.processes import PATIENCE_SECONDS
from tests.acceptance.program import Platform
from tests.casts import a_skill_folder

MIB = 1024 * 1024


@pytest.mark.torture
def test_a_good_skill_passes_below_a_hard_memory_limit(platform: Platform) -> None:
    skill = a_skill_folder(platform.folder / "good-skill")
    submission_id = platform.submit(skill)
    limit = 4000 * MIB

    worked = platform.run_unprivileged(
        "work", "--drain", prefix=["prlimit", f"--as={limit}:{limit}"]
    )
    scanned = platform.run_unprivileged("scan", skill, prefix=["prlimit", f"--as={limit}:{limit}"])

    assert (worked.code, scanned.code) == (0, 0)
    assert platform.status(submission_id).submission.state == "PUBLISHED"


@pytest.mark.slow
def test_a_memory_limit_that_fails_every_check_stops_the_start(platform: Platform) -> None:
    skill = a_skill_folder(platform.folder / "good-skill")
    submission_id = platform.submit(skill)
    little = ["prlimit", f"--as={200 * MIB}:{200 * MIB}"]

    worked = platform.run_unprivileged("work", "--drain", prefix=little)
    scanned = platform.run_unprivileged("scan", skill, prefix=little)

    assert (worked.code, scanned.code) == (1, 3)
    assert "raise it to at least 256 MiB" in worked.err
    assert "raise it to at least 256 MiB" in scanned.err
    assert platform.status(submission_id).submission.state == "RECEIVED"


@pytest.mark.slow
async def test_more_connections_than_open_files_leave_room_for_others(platform: Platform) -> None:
    port = free_port()
    server = platform.start_anew("serve", port=str(port), prefix=["prlimit", "--nofile=96:96"])
    server.wait_for("few connections possible: raise the limit on open files")
    server.wait_for(f"vskill-platform is at http://127.0.0.1:{port}")

    with ExitStack() as held:
        for _ in range(150):
            held.enter_context(socket.create_connection(("127.0.0.1", port)))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (answer := get(port, "/healthz")[0]) == 503:
                await asyncio.sleep(0.05)

    assert answer == 200
    assert server.end() == 0
