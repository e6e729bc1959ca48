"""The callback of a remote scanner: only for its scan, in time, and once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response

from tests.apps import an_app
from tests.clocks import NOON, ManualClock
from tests.scanners import KEY, a_finding, an_answer, signed, used
from vskill_platform.model.scanner import ExternalScanStatus, RemoteScanner
from vskill_platform.model.verdict import Severity
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.scan.external.signature import WINDOW, sign_dispatch
from vskill_platform.secret_settings import Secret
from vskill_platform.stores.external_scan_dispatch import (
    begin_external_scan,
    release_dead_external_scans,
)
from vskill_platform.stores.external_scan_store import (
    ExternalScan,
    get_external_scan,
    put_external_scan,
)

S = ExternalScanStatus
ACME = RemoteScanner(name="acme", url="http://127.0.0.1/scan", key=KEY)
OTHER = RemoteScanner(name="other", url="http://127.0.0.1/scan", key=Secret("the-key-of-another"))


@pytest.fixture
async def client(env: WorkerEnv) -> AsyncIterator[AsyncClient]:
    known = replace(env, scanners=(used(ACME), used(OTHER)))
    token = worker_env_storage.set(known)
    transport = ASGITransport(cast("Any", an_app(known)))
    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        yield client
    worker_env_storage.reset(token)


@pytest.fixture
async def scan(client: AsyncClient) -> ExternalScan:
    return await begin_external_scan("sub_1", "acme", digest="d1", lease=timedelta(minutes=20))


async def call(
    client: AsyncClient, scan_id: str, body: bytes, headers: dict[str, str] | None = None
) -> Response:
    path = f"/api/v1/external-scans/{scan_id}/callback"
    given = signed(body, NOON) if headers is None else headers
    return await client.post(path, content=body, headers=given)


def answer(scan: ExternalScan, status: str = "pass", **changes: Any) -> bytes:
    return an_answer({"scan": scan.scan_id, "digest": scan.digest}, status, **changes)


async def status_of(provider: str = "acme") -> ExternalScanStatus:
    stored = await get_external_scan("sub_1", provider)
    assert stored
    return stored.record.status


async def test_an_answer_that_is_signed_ends_the_scan(
    client: AsyncClient, scan: ExternalScan
) -> None:
    body = answer(scan, "fail", findings=[a_finding(), a_finding(Severity.LOW, file="/etc/passwd")])

    response = await call(client, scan.scan_id, body)

    assert (response.status_code, response.json()) == (200, {"status": "taken"})
    stored = await get_external_scan("sub_1", "acme")
    assert stored
    assert (stored.record.status, stored.record.note) == (S.FAIL, "2 findings")
    first, second = stored.record.findings
    assert (first.rule, first.kind, first.file, first.line) == (
        "acme/V1", "external", "SKILL.md", 2,
    )  # fmt: skip
    assert (second.file, second.line) == (None, None)


async def test_an_error_of_the_scanner_is_no_pass(client: AsyncClient, scan: ExternalScan) -> None:
    body = answer(scan, "error", message="out of memory")

    assert (await call(client, scan.scan_id, body)).status_code == 200
    assert await status_of() is S.ERROR


@pytest.mark.parametrize(
    "wrong",
    [
        "no headers", "other key", "key of another scanner", "other body", "other moment",
        "no moment", "dispatch sent back", "odd characters",
    ],
)  # fmt: skip
async def test_a_result_without_the_signature_of_the_scanner_is_refused(
    client: AsyncClient, scan: ExternalScan, wrong: str
) -> None:
    body = answer(scan)
    good = signed(body, NOON)
    headers = {
        "no headers": {},
        "other key": signed(body, NOON, Secret("another-key-of-nobody")),
        "key of another scanner": signed(body, NOON, OTHER.key),
        "other body": signed(body + b" ", NOON),
        "other moment": {**good, "X-Vskill-Timestamp": str(int(NOON.timestamp()) + 1)},
        "no moment": {"X-Vskill-Signature": good["X-Vskill-Signature"]},
        "dispatch sent back": sign_dispatch(body, key=KEY, now=NOON),
        "odd characters": {**good, "X-Vskill-Timestamp": "-1e3", "X-Vskill-Signature": "sha256="},
    }[wrong]

    response = await call(client, scan.scan_id, body, headers)

    assert response.status_code == 403
    assert response.headers["content-type"].startswith("application/problem+json")
    assert await status_of() is S.PENDING


@pytest.mark.parametrize("away", [WINDOW + timedelta(seconds=1), -WINDOW - timedelta(seconds=1)])
async def test_a_signature_from_the_past_or_future_is_refused(
    client: AsyncClient, scan: ExternalScan, away: timedelta
) -> None:
    body = answer(scan)

    late = await call(client, scan.scan_id, body, signed(body, NOON - away))
    just = await call(client, scan.scan_id, body, signed(body, NOON - away * 0.9))

    assert (late.status_code, just.status_code) == (403, 200)
    assert "timestamp" in late.json()["detail"]


async def test_the_same_answer_is_taken_once_even_twice_at_once(
    client: AsyncClient, scan: ExternalScan
) -> None:
    body = answer(scan)

    both = await asyncio.gather(*(call(client, scan.scan_id, body) for _ in range(4)))
    again = await call(client, scan.scan_id, body)

    assert sorted(response.status_code for response in both) == [200, 409, 409, 409]
    assert again.status_code == 409


async def test_two_different_answers_at_once_make_one_result(
    client: AsyncClient, scan: ExternalScan
) -> None:
    answers = [answer(scan, "pass"), answer(scan, "fail")]

    both = await asyncio.gather(*(call(client, scan.scan_id, body) for body in answers))

    assert sorted(response.status_code for response in both) == [200, 409]
    expected = S.PASS if both[0].status_code == 200 else S.FAIL
    assert await status_of() is expected


async def test_a_replay_is_refused_even_if_the_scan_were_open_again(
    client: AsyncClient, scan: ExternalScan, bound: WorkerEnv
) -> None:
    """Nothing opens a scan again; if something ever did, an old answer must not close it."""
    body = answer(scan)
    stored = await get_external_scan("sub_1", "acme")
    assert (await call(client, scan.scan_id, body)).status_code == 200
    ended = await get_external_scan("sub_1", "acme")
    assert stored
    assert ended
    assert await put_external_scan(stored.record, expected=ended.revision)

    replayed = await call(client, scan.scan_id, body)
    fresh = await call(client, scan.scan_id, answer(scan, "fail"))

    assert (replayed.status_code, fresh.status_code) == (409, 200)


async def test_a_result_is_remembered_until_its_signature_expires(
    client: AsyncClient, scan: ExternalScan, env: WorkerEnv, clock: ManualClock
) -> None:
    await call(client, scan.scan_id, answer(scan))

    heard = (await env.engine.kv.list_keys("extscan-heard:")).keys
    clock.advance(seconds=WINDOW.total_seconds() + 1)

    assert len(heard) == 1
    assert (await env.engine.kv.list_keys("extscan-heard:")).keys == []


async def test_an_answer_after_the_end_changes_nothing(
    client: AsyncClient, scan: ExternalScan, clock: ManualClock
) -> None:
    clock.advance(minutes=21)
    assert await release_dead_external_scans() == 1
    body = answer(scan)

    response = await call(client, scan.scan_id, body, signed(body, clock.now()))

    assert response.status_code == 409
    assert await status_of() is S.TIMED_OUT


async def test_an_answer_to_nothing_is_not_found(client: AsyncClient, scan: ExternalScan) -> None:
    unknown = f"sub_1.acme.{'0' * 32}"
    strange = ("nonsense", "sub_1.nobody.00", "..", f"sub_2.acme.{'0' * 32}")
    later = await begin_external_scan("sub_1", "acme", digest="d2", lease=timedelta(minutes=20))

    answers = {
        scan_id: await call(client, scan_id, an_answer({"scan": scan_id, "digest": "d1"}))
        for scan_id in (unknown, *strange, scan.scan_id)
    }

    assert {response.status_code for response in answers.values()} == {404}
    assert later.scan_id != scan.scan_id
    assert await status_of() is S.PENDING


async def test_an_answer_fits_its_own_scan_and_content_only(
    client: AsyncClient, scan: ExternalScan
) -> None:
    other = await begin_external_scan("sub_2", "acme", digest="d1", lease=timedelta(minutes=20))

    moved = await call(client, scan.scan_id, answer(other))
    clean_version = await call(
        client, scan.scan_id, an_answer({"scan": scan.scan_id, "digest": "d0"})
    )

    assert (moved.status_code, clean_version.status_code) == (400, 400)
    assert "different content" in clean_version.json()["detail"]
    assert await status_of() is S.PENDING


@pytest.mark.parametrize(
    "body",
    [
        b"", b"nonsense", b"[]", b"{}", b"\xff", b"[" * 100_000,
        b'{"scan": "x", "digest": "d1", "status": "published"}',
        b'{"scan": "x", "digest": "d1", "status": "pass", "extra": 1}',
        msgspec.json.encode({"scan": "x", "digest": "d", "status": "fail",
                             "findings": [a_finding(line=0)]}),
    ],
    ids=range(9),
)  # fmt: skip
async def test_an_answer_that_cannot_be_read_changes_nothing(
    client: AsyncClient, scan: ExternalScan, body: bytes
) -> None:
    response = await call(client, scan.scan_id, body)

    assert response.status_code == 400
    assert await status_of() is S.PENDING


async def test_an_answer_that_is_too_long_is_refused(
    client: AsyncClient, scan: ExternalScan
) -> None:
    response = await call(client, scan.scan_id, b" " * (1024 * 1024 + 1))

    assert response.status_code == 413
