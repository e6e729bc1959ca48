"""Events for live pages: hello, changes, keepalives, and the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import msgspec
import pytest

from tests.apps import an_app
from tests.unit.web.api_cast import Registry, browser_of, delay_index, open_registry
from tests.unit.web.pages_cast import put_submission
from vskill_platform.access.namespaces import add_owner
from vskill_platform.access.users import disable_user
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import submit
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http import search_index
from vskill_platform.web.live import events
from vskill_platform.web.live.broadcast import MAX_OF_ONE

REPO = "https://github.com/ada/notes"
_PATIENCE_SECONDS = 60
_HELLO = ": listening\r\nretry: 5000\r\n\r\n"


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


class Stream:
    """One open page, event by event as the server sends them."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Any] = asyncio.Queue()
        self.to_read: asyncio.Queue[Any] = asyncio.Queue()
        self.to_read.put_nowait({"type": "http.request", "body": b"", "more_body": False})

    async def head(self) -> Any:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            return await self.sent.get()

    async def next_event(self) -> str:
        """Return the next event; empty at the end."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            message = await self.sent.get()
        return cast("str", message["body"].decode())

    def hang_up(self) -> None:
        self.to_read.put_nowait({"type": "http.disconnect"})


@asynccontextmanager
async def listening(
    registry: Registry, path: str, headers: dict[str, str] | None = None
) -> AsyncIterator[Stream]:
    stream = Stream()
    sent = {"host": "registry", **(headers or {})}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": b"", "client": ("127.0.0.1", 1),
        "server": ("registry", 80),
        "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
    }  # fmt: skip
    app = cast("Any", registry.app)
    task = asyncio.create_task(app(scope, stream.to_read.get, stream.sent.put))
    try:
        yield stream
    finally:
        stream.hang_up()
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await task


async def sent_in(path: str = "tidy") -> Submission:
    return (await submit(git_source(REPO, path), submitter="ada")).submission


async def test_a_page_receives_hello_changes_and_the_end(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MIN_PACE_SECONDS", 0.0)
    submission = await sent_in()

    async with listening(registry, f"/live/submissions/{submission.id}") as page:
        head = await page.head()
        hello = await page.next_event()
        await sent_in("another")  # the queue has moved, so its place may have
        changed = await page.next_event()
        await withdraw(submission.id, actor="ada", reason="wrong")
        while (end := await page.next_event()) == changed:  # the feed may be behind
            pass
        closed = await page.next_event()

    headers = dict(head["headers"])
    assert head["status"] == 200
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert headers[b"cache-control"] == b"no-store"
    assert headers[b"x-accel-buffering"] == b"no"
    assert hello == _HELLO
    assert changed == "event: changed\r\ndata: \r\n\r\n"
    assert end == "event: end\r\ndata: \r\n\r\n"
    assert closed == ""
    assert registry.broadcast.count == 0


async def test_the_page_of_a_final_submission_gets_the_end_at_once(registry: Registry) -> None:
    submission = await put_submission(registry.env, SubmissionState.REJECTED)

    async with listening(registry, f"/live/submissions/{submission.id}") as page:
        await page.head()
        heard = [await page.next_event() for _ in range(3)]

    assert heard == [_HELLO, "event: end\r\ndata: \r\n\r\n", ""]


async def test_the_queue_page_is_notified_of_changes_that_its_visitor_can_see(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MIN_PACE_SECONDS", 0.0)
    ada, ben = await browser_of(Role.PUBLISHER), await browser_of(Role.READER)
    rae = await browser_of(Role.REVIEWER)
    await add_owner("ada", "ada", actor="test")

    async def event_for(headers: dict[str, str], *, is_private: bool) -> str:
        async with listening(registry, "/live/queue", headers) as page:
            await page.head()
            await page.next_event()
            await put_submission(registry.env, SubmissionState.REJECTED, is_private=is_private)
            heard = await page.next_event()
            await registry.catalogue.wait_until(
                await registry.env.engine.revision(), within=timedelta(minutes=1)
            )
            return heard

    changed = "event: changed\r\ndata: \r\n\r\n"
    assert [await event_for(who, is_private=False) for who in ({}, ben, ada, rae)] == [changed] * 4
    assert [await event_for(who, is_private=True) for who in (ada, rae)] == [changed] * 2
    monkeypatch.setattr(events, "KEEPALIVE_SECONDS", 0.5)
    assert changed not in [await event_for(who, is_private=True) for who in ({}, ben)]


async def test_a_page_is_notified_of_a_change_when_the_lists_show_it(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    delay_index(registry, monkeypatch)

    async with listening(registry, "/live/queue") as page:
        await page.head()
        await page.next_event()
        await put_submission(registry.env, SubmissionState.REJECTED)
        committed = await registry.env.engine.revision()
        changed = await page.next_event()
        indexed = registry.catalogue.revision

    assert changed == "event: changed\r\ndata: \r\n\r\n"
    assert indexed >= committed


async def test_a_page_is_notified_again_of_a_change_that_the_lists_did_not_show(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MIN_PACE_SECONDS", 0.0)
    monkeypatch.setattr(search_index, "_MAX_WAIT", timedelta(0))
    delay_index(registry, monkeypatch)

    async with listening(registry, "/live/queue") as page:
        await page.head()
        await page.next_event()
        await put_submission(registry.env, SubmissionState.REJECTED)
        committed = await registry.env.engine.revision()
        while (heard := await page.next_event()) and registry.catalogue.revision < committed:
            pass

    assert heard == "event: changed\r\ndata: \r\n\r\n"


async def test_a_page_ends_when_it_is_no_longer_for_its_visitor(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MIN_PACE_SECONDS", 0.0)
    ada = await browser_of(Role.PUBLISHER)
    await add_owner("ada", "ada", actor="test")
    source = git_source(REPO, "tidy")
    hidden = await submit(SubmissionRequest(source=source, is_private=True), submitter="ada")

    async with listening(registry, f"/live/submissions/{hidden.submission.id}", ada) as page:
        await page.head()
        hello = await page.next_event()
        await disable_user("ada", actor="test")
        await sent_in("another")
        await withdraw(hidden.submission.id, actor="ada", reason="wrong")
        closed = await page.next_event()

    assert (hello, closed) == (_HELLO, "")


async def test_a_quiet_page_receives_heartbeats(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "KEEPALIVE_SECONDS", 0.01)

    async with listening(registry, "/live/queue") as page:
        await page.head()
        await page.next_event()
        signs = [await page.next_event() for _ in range(2)]

    assert signs == [": still here\r\n\r\n"] * 2


async def test_a_page_that_left_is_forgotten(registry: Registry) -> None:
    async with listening(registry, "/live/queue") as page:
        await page.head()
        await page.next_event()
        assert registry.broadcast.count == 1

    assert registry.broadcast.count == 0


async def test_a_server_that_stops_ends_every_page(registry: Registry) -> None:
    async with listening(registry, "/live/queue") as page:
        await page.head()
        await page.next_event()

        registry.broadcast.close()

        assert await page.next_event() == ""


async def test_a_missing_or_hidden_submission_has_no_live_updates(registry: Registry) -> None:
    ben = await browser_of(Role.READER)
    await browser_of(Role.PUBLISHER)
    await add_owner("ada", "ada", actor="test")
    hidden = await put_submission(registry.env, SubmissionState.RECEIVED, is_private=True)

    answers = [
        await registry.get(f"/live/submissions/{submission_id}", headers=headers)
        for submission_id in (hidden.id, "sub_0")
        for headers in ({}, ben)
    ]

    assert {answer.status_code for answer in answers} == {404}


async def test_one_visitor_has_so_many_pages_open_and_no_more(registry: Registry) -> None:
    ben = await browser_of(Role.READER)
    async with AsyncExitStack() as opened:
        pages = [
            await opened.enter_async_context(listening(registry, "/live/queue"))
            for _ in range(MAX_OF_ONE + 1)
        ]
        heads = [await page.head() for page in pages]
        another = asyncio.create_task(registry.get("/live/queue", headers=ben))
        while registry.broadcast.count <= MAX_OF_ONE:
            await asyncio.sleep(0)
        registry.broadcast.close()
        statuses = sorted(head["status"] for head in heads)

    assert statuses == [200] * MAX_OF_ONE + [429]
    assert (await another).status_code == 200
    assert registry.broadcast.slots.count == 0


async def test_a_page_that_closes_before_the_first_event_releases_its_slot(
    registry: Registry,
) -> None:
    async with listening(registry, "/live/queue") as page:
        page.hang_up()

    assert registry.broadcast.slots.count == 0


async def test_opening_a_page_that_listens_is_counted_as_reading(bound: WorkerEnv) -> None:
    settings = msgspec.structs.replace(bound.settings, reads_per_minute=2)
    async with open_registry(replace(bound, settings=settings)) as registry:
        statuses = [(await registry.get("/live/submissions/sub_0")).status_code for _ in range(3)]

    assert statuses == [404, 404, 429]


async def test_pages_poll_without_a_free_slot_or_a_feed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry.broadcast.slots, "in_all", 0)
    full = await registry.get("/live/queue")
    silent = Registry(
        registry.env, registry.catalogue, registry.broadcast, an_app(registry.env),
        registry.client,
    )  # fmt: skip
    async with listening(silent, "/live/queue") as page:
        head = await page.head()

    assert (full.status_code, full.headers["retry-after"]) == (429, "30")
    assert head["status"] == 503
