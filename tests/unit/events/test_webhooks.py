"""Webhooks: signed, durable, retried, and never sent to users who may not see the skill."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import msgspec
import pytest
from standardwebhooks import WebhookVerificationError

from tests.clocks import ManualClock
from tests.people import a_user
from tests.unit.events.happenings import a_skill, moved, published, submitted
from tests.webhook_receiver import Receiver, answering
from vskill_platform.access.namespaces import add_owner, remove_owner
from vskill_platform.access.users import disable_user, set_role
from vskill_platform.cron.schedule import JOBS, run_due_jobs
from vskill_platform.errors import InvalidInput, NotFound, TooMany
from vskill_platform.events import post_webhook
from vskill_platform.events.deliver import has_events_to_send, send_events
from vskill_platform.events.manage_webhooks import (
    MAX_ENDPOINTS,
    EndpointChange,
    add_endpoint,
    change_endpoint,
    find_endpoint,
    list_manageable,
    remove_endpoint,
    replay_delivery,
    replay_failed,
    rotate_secret,
    send_test_event,
)
from vskill_platform.events.post_webhook import checked_webhook_url
from vskill_platform.model.block import BlockKind, BlockSubject
from vskill_platform.model.rights import Visitor
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role, User
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.publish.moderation.unblock_skill import unblock
from vskill_platform.publish.moderation.user_reports import report_skill
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import load_settings
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.db import commit
from vskill_platform.stores.event_feed import get_event_cursor, write_event_cursor
from vskill_platform.stores.webhook_store import (
    PayloadShape,
    WebhookDelivery,
    WebhookEndpoint,
    list_deliveries,
)

_S = SubmissionState
NOTHING_CHOSEN = EndpointChange()
VERDICTS = EndpointChange(types=["submission.published", "submission.rejected"])


@pytest.fixture
def clock() -> ManualClock:
    """Start now: the library that verifies signatures refuses old ones."""
    return ManualClock(datetime.now(UTC))


@pytest.fixture
async def ada(calling: WorkerEnv) -> User:
    """Ada owns the namespace ada."""
    ada = await a_user()
    await add_owner("ada", "ada", actor="cyd")
    return ada


def signed_in(user: User) -> Visitor:
    return Visitor(user=user, via="session")


async def an_endpoint(
    receiver: Receiver, owner: User, namespace: str = "ada", chosen: EndpointChange = VERDICTS
) -> WebhookEndpoint:
    made = await add_endpoint(
        receiver.url, namespace=namespace, owner=signed_in(owner), chosen=chosen
    )
    return made.endpoint


async def log_of(endpoint: WebhookEndpoint) -> list[WebhookDelivery]:
    return await list_deliveries(endpoint.id, limit=100)


def types_of(receiver: Receiver) -> list[str]:
    return [one.json["type"] for one in receiver.got]


async def test_a_verdict_reaches_the_endpoint_signed_as_the_standard_says(
    receiver: Receiver, ada: User, clock: ManualClock
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    submission = (await published()).record

    await send_events()

    (got,) = receiver.got
    payload = got.verified(endpoint.secret)
    assert payload["type"] == "submission.published"
    assert datetime.fromisoformat(payload["timestamp"]) == clock.now()
    assert payload["data"] == {
        "namespace": "ada", "name": "tidy-notes", "submission": submission.id,
        "state": "PUBLISHED", "actor": "rae", "reason": "because",
        "url": f"https://skills.example/submissions/{submission.id}",
    }  # fmt: skip
    assert got.headers["webhook-id"].startswith("evt_")
    with pytest.raises(WebhookVerificationError):
        got.verified("whsec_" + "A" * 44)


async def test_events_before_the_first_endpoint_are_not_sent(receiver: Receiver, ada: User) -> None:
    await published()
    idle = await has_events_to_send()
    await an_endpoint(receiver, ada)
    await moved(await submitted(), _S.TIER1_SCANNING, _S.TIER1_FAILED)

    await send_events()

    assert not idle
    assert types_of(receiver) == ["submission.rejected"]


async def test_every_kind_of_event_is_sent(receiver: Receiver, ada: User) -> None:
    cyd = await a_user(Role.ADMIN)
    everything = EndpointChange(with_private=True)
    await an_endpoint(receiver, cyd, "", everything)
    await a_skill()
    await moved(await submitted(), _S.TIER1_SCANNING, _S.NEEDS_REVIEW, _S.REJECTED)
    await moved(await submitted(), _S.DEQUEUED)
    await report_skill("ada/notes/tidy-notes", reason="odd", actor="ben")
    subject = BlockSubject(BlockKind.NAME, "https://git.example/ada/notes#tidy-notes")
    await block(subject, reason="bad", actor="rae")
    await unblock(subject, reason="good", actor="rae")

    await send_events()

    assert sorted(types_of(receiver)) == [
        "block.added", "block.removed", "report.opened", "review.decided", "skill.blocked",
        "submission.needs_review", "submission.received", "submission.received",
        "submission.rejected", "submission.withdrawn",
    ]  # fmt: skip
    blocked = next(one.json for one in receiver.got if one.json["type"] == "skill.blocked")
    assert blocked["data"]["skill"] == "ada/notes/tidy-notes"


async def test_a_crash_between_fan_out_and_delivery_loses_and_doubles_nothing(
    receiver: Receiver, ada: User
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    before = await get_event_cursor()
    assert before
    await published()

    await asyncio.gather(*(send_events() for _ in range(4)))

    assert types_of(receiver) == ["submission.published"]
    assert [one.state for one in await log_of(endpoint)] == ["delivered"]


async def test_an_event_keeps_its_id_when_the_feed_is_read_again(
    receiver: Receiver, ada: User
) -> None:
    await an_endpoint(receiver, ada)
    before = await get_event_cursor()
    assert before
    await published()
    await send_events()
    now = await get_event_cursor()
    assert now
    await commit([write_event_cursor(before.record, expected=now.revision)])

    await send_events()

    assert len(receiver.got) == 2
    assert len({one.headers["webhook-id"] for one in receiver.got}) == 1


async def test_a_restored_database_starts_the_feed_again(
    receiver: Receiver, ada: User, logs: list[Any]
) -> None:
    await an_endpoint(receiver, ada)
    now = await get_event_cursor()
    assert now
    other = msgspec.structs.replace(now.record, checkpoint="of another database")
    await commit([write_event_cursor(other, expected=now.revision)])

    await send_events()
    await published()
    await send_events()

    assert "events may be missing, the feed starts again here" in {one["event"] for one in logs}
    assert types_of(receiver) == ["submission.published"]


async def test_a_failure_is_retried_with_the_same_id_and_then_logged_as_delivered(
    receiver: Receiver, ada: User, clock: ManualClock
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    receiver.answer = answering("500 Oops", "try <later>")
    await published()

    await send_events()
    (waiting,) = await log_of(endpoint)
    receiver.answer = answering("200 OK", "thanks")
    clock.advance(seconds=7)
    await send_events()
    (done,) = await log_of(endpoint)

    assert (waiting.state, waiting.attempts) == ("waiting", 1)
    assert waiting.last
    assert (waiting.last.status, waiting.last.answer) == (500, "try <later>")
    assert (done.state, done.attempts) == ("delivered", 2)
    assert len({one.headers["webhook-id"] for one in receiver.got}) == 1


async def test_after_three_days_a_delivery_has_failed_and_can_be_replayed(
    receiver: Receiver, ada: User, clock: ManualClock
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    receiver.answer = answering("503 Down")
    await published()

    await send_events()
    (found,) = await log_of(endpoint)
    while found.state == "waiting":
        clock.advance(seconds=(found.due_at - clock.now()).total_seconds())
        await send_events()
        (found,) = await log_of(endpoint)
    taken = clock.now() - found.created_at
    receiver.answer = answering("200 OK")
    one = await replay_delivery(endpoint.id, found.id, actor="ada")
    await send_events()

    assert found.attempts == 10
    assert timedelta(days=2.9) < taken < timedelta(days=3.7)
    assert one.state == "waiting"
    assert [each.state for each in await log_of(endpoint)] == ["delivered"]


async def test_all_failed_deliveries_since_a_time_are_replayed(
    receiver: Receiver, ada: User, clock: ManualClock
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    await published()
    await change_endpoint(endpoint.id, EndpointChange(is_enabled=True), actor="ada")
    await send_events()
    for each in await log_of(endpoint):
        await replay_delivery(endpoint.id, each.id, actor="ada")
    await remove_right_and_send(endpoint)
    clock.advance(hours=1)
    later = clock.now()

    too_late = await replay_failed(endpoint.id, since=later, actor="ada")
    every = await replay_failed(endpoint.id, since=None, actor="ada")

    assert (too_late, every) == (0, 1)


async def remove_right_and_send(endpoint: WebhookEndpoint) -> None:
    """Let what waits fail: its owner may no longer see it."""
    await remove_owner("ada", "ada", actor="cyd")
    await send_events()
    assert [one.state for one in await log_of(endpoint)] == ["failed"]
    await add_owner("ada", "ada", actor="cyd")


async def test_other_endpoints_do_not_wait_for_one_that_fails(
    receiver: Receiver, ada: User, calling: WorkerEnv
) -> None:
    nowhere = "http://127.0.0.1:1"
    hosts = f"{receiver.origin},{nowhere}"
    settings = msgspec.structs.replace(calling.settings, webhook_private_hosts=hosts)
    broken, good = await an_endpoint(receiver, ada), await an_endpoint(receiver, ada)

    async def act() -> None:
        await change_endpoint(broken.id, EndpointChange(url=f"{nowhere}/x"), actor="ada")
        await published()
        await send_events()

    await run_with_worker_env(replace(calling, settings=settings), act)

    assert [one.state for one in await log_of(good)] == ["delivered"]
    assert [one.state for one in await log_of(broken)] == ["waiting"]


async def test_after_a_failure_the_rest_of_that_endpoint_waits_without_an_attempt(
    receiver: Receiver, ada: User
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    receiver.answer = answering("500 Oops")
    await published()
    await published()

    await send_events()

    assert sorted(one.attempts for one in await log_of(endpoint)) == [0, 1]
    assert len(receiver.got) == 1


async def test_an_endpoint_that_fails_for_days_is_switched_off(
    receiver: Receiver, ada: User, clock: ManualClock
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    receiver.answer = answering("500 Oops")
    await published()
    await send_events()
    clock.advance(days=5)

    await send_events()
    await published()
    await send_events()

    off = await find_endpoint(endpoint.id, signed_in(ada))
    assert (off.is_enabled, off.problem) == (False, "every delivery has failed for 5 days")
    assert len(await log_of(endpoint)) == 1


async def test_a_receiver_that_is_gone_is_switched_off_at_once(
    receiver: Receiver, ada: User
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    receiver.answer = answering("410 Gone")
    await published()

    await send_events()

    off = await find_endpoint(endpoint.id, signed_in(ada))
    assert (off.is_enabled, off.problem) == (False, "it answered 410 Gone")


@pytest.mark.parametrize("is_date", [False, True])
async def test_a_receiver_may_ask_for_time(
    receiver: Receiver, ada: User, clock: ManualClock, is_date: bool
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    moment = (clock.now() + timedelta(minutes=15)).replace(microsecond=0)
    asked = format_datetime(moment, usegmt=True) if is_date else "900"
    receiver.answer = answering("429 Slow down", "", f"Retry-After: {asked}")
    await published()

    await send_events()

    (waiting,) = await log_of(endpoint)
    assert waiting.due_at == (moment if is_date else clock.now() + timedelta(minutes=15))


async def test_while_a_secret_rotates_both_sign(
    receiver: Receiver, ada: User, clock: ManualClock
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    new = await rotate_secret(endpoint.id, actor="ada")
    await published()
    await send_events()
    clock.advance(days=1)
    await published()
    await send_events()

    first, second = receiver.got
    assert first.verified(endpoint.secret) == first.verified(new.secret)
    assert len(first.headers["webhook-signature"].split(" ")) == 2
    assert len(second.headers["webhook-signature"].split(" ")) == 1


async def test_events_of_private_skills_go_to_the_namespace_and_to_those_who_chose_them(
    receiver: Receiver, ada: User
) -> None:
    cyd = await a_user(Role.ADMIN)
    own = await an_endpoint(receiver, ada)
    public_only = await an_endpoint(receiver, cyd, "")
    everything = await an_endpoint(receiver, cyd, "", EndpointChange(with_private=True))
    await published(is_private=True)

    await send_events()

    assert len(await log_of(own)) == 1
    assert await log_of(public_only) == []
    assert "submission.published" in {one.event.type for one in await log_of(everything)}


async def test_a_namespace_gets_neither_events_of_others_nor_those_of_staff(
    receiver: Receiver, ada: User
) -> None:
    ben = await a_user(Role.READER)
    await add_owner("ben", "ben", actor="cyd")
    others = await an_endpoint(receiver, ben, "ben", NOTHING_CHOSEN)
    own = await an_endpoint(receiver, ada, "ada", NOTHING_CHOSEN)
    await a_skill()
    await report_skill("ada/notes/tidy-notes", reason="odd", actor="ben")
    await published()

    await send_events()

    assert await log_of(others) == []
    types = {one.event.type for one in await log_of(own)}
    assert types == {"submission.received", "submission.published"}


@pytest.mark.parametrize("loss", ["disabled", "no owner"])
async def test_who_loses_the_right_gets_no_event_any_more(
    receiver: Receiver, ada: User, loss: str
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    if loss == "disabled":
        await disable_user("ada", actor="cyd")
    else:
        await remove_owner("ada", "ada", actor="cyd")
    await published()

    await send_events()

    assert await log_of(endpoint) == []


async def test_an_admin_who_is_none_any_more_gets_no_event_of_the_registry(
    receiver: Receiver, ada: User
) -> None:
    cyd = await a_user(Role.ADMIN)
    await a_user(Role.ADMIN, "dee")
    endpoint = await an_endpoint(receiver, cyd, "")
    await set_role("cyd", Role.REVIEWER, actor="dee")
    await published()

    await send_events()

    assert await log_of(endpoint) == []


async def test_only_owners_and_admins_can_add_and_see_endpoints(
    receiver: Receiver, ada: User
) -> None:
    ben, cyd = await a_user(Role.READER), await a_user(Role.ADMIN)
    endpoint = await an_endpoint(receiver, ada)

    for user, namespace in ((ben, "ada"), (ben, ""), (ada, ""), (ada, "@ben")):
        with pytest.raises(NotFound):
            await an_endpoint(receiver, user, namespace)

    assert [one.id for one in await list_manageable(signed_in(ada))] == [endpoint.id]
    assert [one.id for one in await list_manageable(signed_in(cyd))] == [endpoint.id]
    assert await list_manageable(signed_in(ben)) == []
    with pytest.raises(NotFound):
        await find_endpoint(endpoint.id, signed_in(ben))


async def test_a_test_event_is_queued_and_delivered(receiver: Receiver, ada: User) -> None:
    endpoint = await an_endpoint(receiver, ada)
    await send_test_event(endpoint.id, actor="ada")

    await send_events()

    assert receiver.got[0].verified(endpoint.secret)["type"] == "endpoint.test"


async def test_a_removed_endpoint_gets_nothing_that_still_waits(
    receiver: Receiver, ada: User
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    await send_test_event(endpoint.id, actor="ada")
    await remove_endpoint(endpoint.id, actor="ada")

    await send_events()

    assert receiver.got == []


async def test_no_redirect_is_followed(receiver: Receiver, ada: User) -> None:
    endpoint = await an_endpoint(receiver, ada)
    receiver.answer = answering("302 Found", "", f"Location: {receiver.origin}/else")
    await send_test_event(endpoint.id, actor="ada")

    await send_events()

    assert [one.path for one in receiver.got] == ["/hook"]
    assert (await log_of(endpoint))[0].state == "waiting"


async def test_an_endless_answer_is_cut(receiver: Receiver, ada: User) -> None:
    endpoint = await an_endpoint(receiver, ada)
    receiver.answer = answering("200 OK", "x" * 100_000)
    await send_test_event(endpoint.id, actor="ada")

    await send_events()

    (done,) = await log_of(endpoint)
    assert done.last
    assert len(done.last.answer) == 500


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 10\r\n\r\nab",
        b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
)
async def test_the_status_decides_although_the_body_is_broken(
    receiver: Receiver, ada: User, rest: bytes
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    receiver.answer = b"HTTP/1.1 200 OK\r\n" + rest
    await send_test_event(endpoint.id, actor="ada")

    await send_events()

    assert (await log_of(endpoint))[0].state == "delivered"


async def test_the_status_decides_although_the_body_never_ends(
    receiver: Receiver, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post_webhook, "_BODY_SECONDS", 0.05)
    endpoint = await an_endpoint(receiver, ada)
    receiver.answer = b"HTTP/1.1 410 Gone\r\nContent-Length: 10\r\n\r\n"
    receiver.stays_open = asyncio.Event()
    await send_test_event(endpoint.id, actor="ada")

    await send_events()
    receiver.stays_open.set()

    assert (await find_endpoint(endpoint.id, signed_in(ada))).problem == "it answered 410 Gone"


async def test_a_private_address_is_refused_when_it_is_used(
    receiver: Receiver, ada: User, calling: WorkerEnv
) -> None:
    endpoint = await an_endpoint(receiver, ada)
    await send_test_event(endpoint.id, actor="ada")
    settings = msgspec.structs.replace(calling.settings, webhook_private_hosts="")

    await run_with_worker_env(replace(calling, settings=settings), send_events)

    (waiting,) = await log_of(endpoint)
    assert receiver.got == []
    assert waiting.last
    assert waiting.last.status == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/x", "https://127.0.0.1/x", "https://[::1]/x", "https://localhost/x",
        "https://ada:hush@hooks.example/x", "ftp://hooks.example/x", "https://", "hooks.example",
        "https://hooks.example:99999/x", "https://hooks.example/a b", "https://hooks.example/\nx",
        "https://hooks.example/" + "x" * 1000, "https://ä.example/",
    ],
)  # fmt: skip
def test_an_address_that_is_not_a_public_https_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        checked_webhook_url(url, load_settings({}))


async def test_an_unknown_event_type_is_refused(receiver: Receiver, ada: User) -> None:
    for wrong in ("submission.eaten", "report.opened", "endpoint.test"):
        with pytest.raises(InvalidInput, match="is not an event type"):
            await an_endpoint(receiver, ada, chosen=EndpointChange(types=[wrong]))


async def test_slack_and_teams_get_their_own_shapes_without_markup_of_strangers(
    receiver: Receiver, ada: User
) -> None:
    for shape in (PayloadShape.SLACK, PayloadShape.TEAMS):
        chosen = EndpointChange(shape=shape, types=["submission.rejected"])
        await an_endpoint(receiver, ada, chosen=chosen)
    await moved(
        await submitted(), _S.TIER1_SCANNING, _S.TIER1_FAILED, reason="<!channel> [x](http://e)"
    )

    await send_events()

    slack = next(one.json for one in receiver.got if "text" in one.json)
    teams = next(one.json for one in receiver.got if one.json.get("type") == "message")
    assert slack["text"] == "tidy-notes was rejected"
    assert "&lt;!channel&gt;" in slack["blocks"][0]["text"]["text"]
    assert slack["blocks"][0]["text"]["verbatim"] is True
    card = teams["attachments"][0]
    assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
    facts = {fact["title"]: fact["value"] for fact in card["content"]["body"][1]["facts"]}
    assert facts["Reason"] == r"<!channel> \[x\]\(http://e\)"


async def test_no_text_of_strangers_notifies_a_channel(receiver: Receiver, ada: User) -> None:
    # Mattermost, which reads the shape of Slack, has mentions without brackets.
    chosen = EndpointChange(shape=PayloadShape.SLACK, types=["submission.rejected"])
    await an_endpoint(receiver, ada, chosen=chosen)
    why = "@channel @Here @all look, not @acme/notes or ada@all.example"
    await moved(await submitted(), _S.TIER1_SCANNING, _S.TIER1_FAILED, reason=why)

    await send_events()

    (slack,) = (one.json for one in receiver.got)
    said = slack["blocks"][0]["text"]["text"]
    assert "Reason: @\u200bchannel @\u200bHere @\u200ball look, not @acme/notes or ada@" in said


async def test_the_audit_log_has_the_host_of_an_endpoint_and_none_of_its_secrets(
    receiver: Receiver, ada: User
) -> None:
    paths = ("/T0/SECRET", "?token=SECRET", "/x?token=SECRET#SECRET")
    urls = [f"https://hooks.example{path}" for path in paths]

    for url in urls:
        await add_endpoint(url, namespace="ada", owner=signed_in(ada), chosen=NOTHING_CHOSEN)

    said = [one.outcome for one in (await list_audit()).records if one.action == "webhook add"]
    assert said == ["ada: https://hooks.example"] * len(urls)


async def test_the_job_runs_as_soon_as_something_happens(
    receiver: Receiver, ada: User, calling: WorkerEnv, clock: ManualClock
) -> None:
    jobs = [job for job in JOBS if job.name == "send-events"]
    await an_endpoint(receiver, ada)
    await run_due_jobs(calling, jobs=jobs)
    clock.advance(seconds=5)
    idle = await run_due_jobs(calling, jobs=jobs)
    await published()

    (run,) = await run_due_jobs(calling, jobs=jobs)

    assert idle == []
    assert run.outcome == "2 events, 1 delivered, 0 will be retried"


async def test_endpoints_that_are_added_at_once_stay_within_the_limit(
    receiver: Receiver, ada: User
) -> None:
    for _ in range(MAX_ENDPOINTS - 1):
        await an_endpoint(receiver, ada)

    added = await asyncio.gather(
        *(an_endpoint(receiver, ada) for _ in range(4)), return_exceptions=True
    )

    assert len([one for one in added if isinstance(one, TooMany)]) == 3
    assert len(await list_manageable(signed_in(ada))) == MAX_ENDPOINTS
