"""`serve` continues, responds and stops as usual while its log cannot be written."""

import asyncio
import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO
from urllib.error import URLError

import pytest

from tests.acceptance.ports import free_port, get
from tests.acceptance.processes import PATIENCE_SECONDS, Finished, Running
from tests.acceptance.program import Platform
from tests.acceptance.records import wait_until_all_ended
from tests.casts import a_skill_folder


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, int]]:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as reading:
        yield reading, writer


async def wait_for(port: int, server: Running) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while server.is_alive:
            with suppress(URLError, ConnectionError):
                if get(port, "/")[0] == 200:
                    return
            await asyncio.sleep(0.05)
    raise AssertionError("it has ended")


async def publish(platform: Platform, server: Running) -> tuple[str, int]:
    """Return how a good skill ended, and how the server did when it was stopped."""
    submitted = platform.submit(a_skill_folder(platform.folder))
    await wait_until_all_ended(platform)
    return platform.status(submitted).submission.state, server.end()


@pytest.mark.slow
async def test_it_goes_on_when_the_reader_of_its_log_has_gone(
    platform: Platform, port: int, pipe: tuple[BinaryIO, int]
) -> None:
    reader, writer = pipe
    server = platform.start_logging_to(writer, "serve", port=str(port))
    await wait_for(port, server)
    reader.close()

    assert await publish(platform, server) == ("PUBLISHED", 0)


@pytest.mark.torture
async def test_it_starts_and_goes_on_when_nobody_reads_its_log(
    platform: Platform, port: int, pipe: tuple[BinaryIO, int]
) -> None:
    _, writer = pipe
    size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"x" * size)
    server = platform.start_logging_to(writer, "serve", port=str(port))
    await wait_for(port, server)

    assert await publish(platform, server) == ("PUBLISHED", 0)


@pytest.mark.slow
async def test_it_goes_on_when_the_disk_of_its_log_is_full(platform: Platform, port: int) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    server = platform.start_logging_to(full, "serve", port=str(port))
    await wait_for(port, server)

    assert await publish(platform, server) == ("PUBLISHED", 0)


def test_a_command_that_cannot_say_what_is_wrong_still_fails(platform: Platform) -> None:
    full = os.open("/dev/full", os.O_WRONLY)

    missing = platform.start_logging_to(full, "status", "sub_unknown")

    assert missing.wait() == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("list", 1),
        pytest.param("list --json", 1, marks=pytest.mark.torture),
        pytest.param("config", 1, marks=pytest.mark.torture),
        ("scan skill", 3),
        pytest.param("scan skill --format json", 3, marks=pytest.mark.torture),
        pytest.param("scan skill --output /dev/full", 3, marks=pytest.mark.torture),
    ],
)
def test_output_to_a_full_disk_is_one_sentence_and_a_failure(
    platform: Platform, arguments: str, code: int
) -> None:
    platform.submit(a_skill_folder(platform.folder, "skill"))
    to_full_disk = ("sh", "-c", 'exec "$@" >/dev/full', "sh")

    failed = platform.run_unprivileged(*arguments.split(), prefix=to_full_disk)

    assert failed == Finished(
        code, "", "vskill-platform: the output could not be written: No space left on device\n"
    )


@pytest.mark.parametrize("closed", ["<&- >&-", "0<&- 1>&- 2>&-"])
def test_commands_work_without_standard_streams(platform: Platform, closed: str) -> None:
    a_skill_folder(platform.folder, "skill")
    without = ("sh", "-c", f'exec "$@" {closed}', "sh")

    scanned = platform.run_unprivileged("scan", "skill", prefix=without)
    asked = platform.run_unprivileged(
        "reviews", "approve", "sub_unknown", "--reason", "x", prefix=without
    )

    assert scanned == Finished(0, "", "")
    assert asked.code in {1, 2}
    assert "Traceback" not in asked.err


def test_a_character_that_the_terminal_lacks_does_not_end_a_command(platform: Platform) -> None:
    a_skill_folder(platform.folder, "skill")
    ascii_only = ("env", "PYTHONIOENCODING=ascii")

    done = platform.run_unprivileged("publish", "skill", "--dry-run", prefix=ascii_only)

    assert (done.code, "PASS" in done.out) == (0, True), done


@pytest.mark.parametrize(
    ("command", "code"), [("scan .", 3), ("verify", 1), ("publish --dry-run", 1)]
)
def test_a_current_folder_that_was_deleted_is_named(
    platform: Platform, command: str, code: int
) -> None:
    deleted = ("sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh")

    failed = platform.run_unprivileged(*command.split(), prefix=deleted)

    assert failed.code == code, failed
    assert failed.err.endswith("the current folder no longer exists; change to another one\n")
