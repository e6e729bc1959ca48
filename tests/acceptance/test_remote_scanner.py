"""A remote scanner and the real program: requested over HTTP, killed while waiting, called back."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient

from tests.acceptance.ports import free_port
from tests.acceptance.processes import Running
from tests.acceptance.program import Platform
from tests.acceptance.records import wait_until_all_ended
from tests.casts import a_skill_folder
from tests.scanners import KEY, ScanService, an_answer, scan_service, signed
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.follow_submissions import follow_submission


@pytest.fixture
async def service() -> AsyncIterator[ScanService]:
    async with scan_service() as running:
        yield running


@pytest.fixture
def served(platform: Platform, service: ScanService, tmp_path: Path) -> Platform:
    """Return a platform that requires the service, and knows where it is itself."""
    port = free_port()
    (tmp_path / "key").write_text(KEY.reveal())
    (tmp_path / "scanners.toml").write_text(f'[acme]\nurl = "{service.url}"\nkey_file = "key"\n')
    (tmp_path / "policy.toml").write_text('[[scanners]]\nname = "acme"\nrequired = true\n')
    platform.settings |= {
        "port": str(port),
        "public_url": f"http://127.0.0.1:{port}",
        "scanners": "scanners.toml",
        "policy": "policy.toml",
    }
    return platform


async def serve(platform: Platform) -> Running:
    server = platform.start("serve")
    await asyncio.to_thread(server.wait_for, "vskill-platform is at")
    return server


async def until_it_waits(platform: Platform, submission_id: str) -> None:
    async def follow() -> None:
        async for submission in follow_submission(submission_id):
            if submission.waiting:
                return

    await platform.inside(follow)


async def call_back(dispatch: dict[str, Any], status: str = "pass") -> int:
    body = an_answer(dispatch, status)
    async with AsyncClient() as client:
        answer = await client.post(
            dispatch["callback_url"], content=body, headers=signed(body, datetime.now(UTC))
        )
    return answer.status_code


@pytest.mark.torture
async def test_a_skill_waits_through_a_kill_and_is_published_when_its_scanner_answers(
    served: Platform, service: ScanService, tmp_path: Path
) -> None:
    server = await serve(served)
    submitted = await asyncio.to_thread(served.submit, a_skill_folder(tmp_path))
    await until_it_waits(served, submitted)
    server.kill()
    await serve(served)

    code = await call_back(service.dispatches[0])
    await wait_until_all_ended(served)

    status = await asyncio.to_thread(served.status, submitted)
    assert code == 200
    assert status.submission.state is SubmissionState.PUBLISHED
    assert "external-scan RECEIVED" in status.steps
    assert len(service.requests) == 1
    assert await call_back(service.dispatches[0]) == 409


async def test_the_key_is_nowhere_to_be_seen(served: Platform, service: ScanService) -> None:
    run = partial(asyncio.to_thread, served.run)

    shown = [await run("scanners"), await run("scanners", "--json"), await run("config")]

    assert all(done.code == 0 for done in shown)
    assert service.url in shown[1].out
    assert not any(KEY.reveal() in done.out + done.err for done in shown)
