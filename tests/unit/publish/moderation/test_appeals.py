"""Appeals against verdicts: who may open, read and decide them, and who is notified."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.people import a_user
from tests.unit.events.happenings import moved, published, submitted
from vskill_platform.access.namespaces import add_owner, remove_owner
from vskill_platform.errors import InvalidInput, InvalidTransition, NotFound, TooMany
from vskill_platform.events.deliver import send_events
from vskill_platform.model.rights import Visitor
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role, Scope
from vskill_platform.publish.moderation.appeals import (
    MAX_OPEN,
    MAX_TEXT,
    answer_appeal,
    decide_appeal,
    find_appeal,
    open_appeal,
    withdraw_appeal,
)
from vskill_platform.publish.moderation.user_reports import close_report, report_skill
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.appeal_store import AppealState, list_appeals_about, list_open_appeals
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.event_feed import begin_feed
from vskill_platform.stores.mail_address_store import MailAddress, write_mail_address
from vskill_platform.stores.mail_store import list_mails

_S = SubmissionState


@pytest.fixture(autouse=True)
async def mailing(env: WorkerEnv) -> AsyncIterator[WorkerEnv]:
    settings = msgspec.structs.replace(
        env.settings, smtp_url="smtps://mail.example", mail_from="skills@registry.example"
    )
    mailing = replace(env, settings=settings)
    token = worker_env_storage.set(mailing)
    yield mailing
    worker_env_storage.reset(token)


async def a_visitor(role: Role, name: str = "") -> Visitor:
    """Somebody in a browser, with a confirmed email address."""
    user = await a_user(role, name)
    address = MailAddress(
        user=user.name, address=f"{user.name}@example.org", is_confirmed=True, changed_at=get_now()
    )
    await commit([write_mail_address(address, expected=0)])
    return Visitor(user=user, via="session")


@pytest.fixture
async def ada() -> Visitor:
    return await a_visitor(Role.PUBLISHER)


@pytest.fixture
async def rae() -> Visitor:
    return await a_visitor(Role.REVIEWER)


async def a_rejection() -> str:
    """Return a submission of ada that rae has rejected."""
    stored = await moved(
        await submitted(), _S.TIER1_SCANNING, _S.NEEDS_REVIEW, _S.REJECTED, reason="too odd"
    )
    return stored.record.id


async def test_a_submitter_appeals_and_gets_the_decision_by_email(
    ada: Visitor, rae: Visitor
) -> None:
    cyd = await a_visitor(Role.ADMIN)
    subject = await a_rejection()

    opened = await open_appeal(ada, subject, text=" It is a test file. ")
    await answer_appeal(rae, opened.id, text="Which one?")
    await answer_appeal(ada, opened.id, text="run.sh")
    decided = await decide_appeal(cyd, opened.id, AppealState.GRANTED, text="Right. Retried.")

    assert (opened.verdict, opened.decided_by, opened.reason) == ("rejected", "rae", "too odd")
    assert [(one.by, one.is_staff, one.text) for one in decided.messages] == [
        ("ada", False, "It is a test file."),
        ("rae", True, "Which one?"),
        ("ada", False, "run.sh"),
        ("cyd", True, "Right. Retried."),
    ]
    assert (decided.state, decided.closed_by) == (AppealState.GRANTED, "cyd")
    assert await list_open_appeals(limit=10) == []
    mails = (await list_mails(dead=False)).mails
    assert sorted((one.kind, one.to, one.fields["state"]) for one in mails) == [
        ("appeal_answer", "ada@example.org", "granted"),
        ("appeal_answer", "ada@example.org", "open"),
    ]


@pytest.mark.parametrize("state", [_S.TIER1_FAILED, _S.BLOCKED])
async def test_failed_checks_and_blocks_can_be_appealed(ada: Visitor, state: _S) -> None:
    stored = await moved(await submitted(), _S.TIER1_SCANNING, state)

    appeal = await open_appeal(ada, stored.record.id, text="please")

    assert appeal.decided_by == ("rae" if state is _S.BLOCKED else "the automatic checks")


async def test_what_is_published_or_unknown_cannot_be_appealed(ada: Visitor) -> None:
    good = (await published()).record.id

    for subject in (good, "sub_unknown", "ada/notes/x 1.0.0", ""):
        with pytest.raises(NotFound):
            await open_appeal(ada, subject, text="please")


async def test_only_the_submitter_and_owners_can_appeal_and_read(
    ada: Visitor, rae: Visitor
) -> None:
    ben, dee = await a_visitor(Role.READER), await a_visitor(Role.PUBLISHER, "dee")
    subject = await a_rejection()
    with pytest.raises(NotFound):
        await open_appeal(ben, subject, text="please")
    await add_owner("ada", "dee", actor="cyd")

    appeal = await open_appeal(dee, subject, text="please")

    assert (await find_appeal(rae, appeal.id)).by == "dee"
    assert (await find_appeal(dee, appeal.id)).by == "dee"
    for visitor in (ben, ada, Visitor()):
        with pytest.raises(NotFound):
            await find_appeal(visitor, appeal.id)


async def test_a_verdict_is_appealed_once_and_the_next_one_again(
    ada: Visitor, rae: Visitor
) -> None:
    subject = await a_rejection()
    first = await open_appeal(ada, subject, text="please")
    await decide_appeal(rae, first.id, AppealState.REJECTED, text="no")

    with pytest.raises(InvalidTransition, match=first.id):
        await open_appeal(ada, subject, text="please!")

    assert [one.id for one in await list_appeals_about(subject, limit=10)] == [first.id]


async def test_of_two_appeals_at_once_one_is_opened(ada: Visitor) -> None:
    subject = await a_rejection()

    done = await asyncio.gather(
        *(open_appeal(ada, subject, text="please") for _ in range(4)), return_exceptions=True
    )

    assert sum(not isinstance(one, Exception) for one in done) == 1
    assert len(await list_open_appeals(limit=10)) == 1


async def test_a_closed_appeal_takes_no_message_and_no_second_decision(
    ada: Visitor, rae: Visitor
) -> None:
    appeal = await open_appeal(ada, await a_rejection(), text="please")
    await withdraw_appeal(ada, appeal.id)

    with pytest.raises(InvalidTransition):
        await answer_appeal(ada, appeal.id, text="but")
    with pytest.raises(InvalidTransition):
        await decide_appeal(rae, appeal.id, AppealState.GRANTED, text="yes")


async def test_nobody_decides_their_own_appeal_or_withdraws_that_of_others(rae: Visitor) -> None:
    cyd = await a_visitor(Role.ADMIN)
    stored = await moved(await submitted(submitter="rae"), _S.TIER1_SCANNING, _S.TIER1_FAILED)
    appeal = await open_appeal(rae, stored.record.id, text="please")

    with pytest.raises(InvalidInput, match="another reviewer"):
        await decide_appeal(rae, appeal.id, AppealState.GRANTED, text="yes")
    with pytest.raises(InvalidInput, match="only its author"):
        await withdraw_appeal(cyd, appeal.id)


@pytest.mark.parametrize("text", ["", "  \n ", "x" * (MAX_TEXT + 1)])
async def test_a_message_has_some_text_and_not_too_much(ada: Visitor, text: str) -> None:
    subject = await a_rejection()

    with pytest.raises(InvalidInput):
        await open_appeal(ada, subject, text=text)


async def test_a_user_has_a_limited_number_of_appeals(ada: Visitor, clock: ManualClock) -> None:
    for _ in range(MAX_OPEN):
        await open_appeal(ada, await a_rejection(), text="please")
    one_more = await a_rejection()

    with pytest.raises(TooMany):
        await open_appeal(ada, one_more, text="please")
    clock.advance(days=2)
    with pytest.raises(TooMany, match="open appeals"):
        await open_appeal(ada, one_more, text="please")


async def test_the_author_of_a_report_gets_the_answer_by_mail(ada: Visitor) -> None:
    report = await report_skill("ada/notes/x", reason="odd", actor="ada")

    await close_report(report.id, answer="We have looked.", actor="rae")

    (mail,) = (await list_mails(dead=False)).mails
    assert (mail.kind, mail.to) == ("report_answer", "ada@example.org")
    assert mail.fields["answer"] == "We have looked."


async def test_appeals_are_events(ada: Visitor, rae: Visitor) -> None:
    await commit(await begin_feed())
    appeal = await open_appeal(ada, await a_rejection(), text="please")
    await decide_appeal(rae, appeal.id, AppealState.REJECTED, text="no")

    done = await send_events()

    # received, needs review, rejected, review decided, appeal opened, appeal decided
    assert done.startswith("6 events")


async def test_the_case_of_a_private_skill_is_only_for_those_who_still_see_the_skill(
    ada: Visitor, rae: Visitor
) -> None:
    await add_owner("ada", "ada", actor="test")
    stored = await moved(
        await submitted(is_private=True), _S.TIER1_SCANNING, _S.NEEDS_REVIEW, _S.REJECTED
    )
    subject = stored.record.id
    without_read = msgspec.structs.replace(ada, via="token", scopes=frozenset({Scope.MANAGE}))
    with pytest.raises(NotFound):
        await open_appeal(without_read, subject, text="why?")
    appeal = await open_appeal(ada, subject, text="why?")
    with pytest.raises(NotFound):
        await find_appeal(without_read, appeal.id)

    await remove_owner("ada", "ada", actor="test")
    await answer_appeal(rae, appeal.id, text="Because of its private part.")

    with pytest.raises(NotFound):
        await find_appeal(ada, appeal.id)
    assert (await find_appeal(rae, appeal.id)).id == appeal.id
    assert [mail.kind for mail in (await list_mails(dead=False)).mails] == []
