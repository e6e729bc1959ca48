"""Appeals: a publisher asks staff to reconsider a verdict, and staff answer."""

from collections.abc import Callable
from datetime import timedelta

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.errors import InvalidInput, InvalidTransition, NotFound, TooMany
from vskill_platform.model.namespace import namespace_of, namespace_of_skill
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.appeal_store import (
    Appeal,
    AppealMessage,
    AppealState,
    count_open_appeals_by,
    get_appeal,
    get_appeal_against,
    new_appeal_id,
    write_appeal,
    write_new_appeal,
)
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.mail_address_store import mail_to_user
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.rate_limit_store import RateQuota, take_shared
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.stores.submission_store import get_history, get_submission
from vskill_platform.stores.user_store import get_user
from vskill_platform.stores.version_store import get_versions

_S = SubmissionState
_VERDICTS = {
    _S.TIER1_FAILED: "failed the checks",
    _S.REJECTED: "rejected",
    _S.BLOCKED: "blocked",
}
_CHECKS = "the automatic checks"
#: The maximum number of a user's open appeals, and of new ones.
MAX_OPEN = 20
_PER_DAY = RateQuota(20, timedelta(days=1), "appeals a day")
MAX_TEXT = 2000
#: The maximum number of messages in one case.
_MAX_MESSAGES = 100
_RETRY_AFTER = timedelta(hours=1)


class AppealableVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict that can be appealed."""

    #: Identifies this verdict; the next check of the submission makes another one.
    id: str
    subject: str
    name: str
    namespace: str
    is_private: bool
    submitter: str
    words: str
    decided_by: str
    reason: str


async def find_verdict(subject: str) -> AppealableVerdict | None:
    """Return the verdict about a submission, or about a version (`slug version`), if any."""
    slug, _, version = subject.partition(" ")
    return await _yank_of(slug, version) if version else await _verdict_of(subject)


async def _verdict_of(submission_id: str) -> AppealableVerdict | None:
    stored = await get_submission(submission_id)
    if stored is None or stored.record.state not in _VERDICTS:
        return None
    submission = stored.record
    history = await get_history(submission_id)
    last = history[-1] if history else None
    return AppealableVerdict(
        id=f"{submission.id}:{submission.events}",
        subject=submission.id,
        name=submission.skill_name,
        namespace=namespace_of(submission.source),
        is_private=submission.is_private,
        submitter=submission.submitter,
        words=_VERDICTS[submission.state],
        # The name of the node that ran the check means nothing to users.
        decided_by=_CHECKS if submission.state is _S.TIER1_FAILED else last.actor if last else "",
        reason=submission.reason,
    )


async def _yank_of(slug: str, version: str) -> AppealableVerdict | None:
    slug = await resolve_slug(slug)
    stored = await get_skill(slug)
    found = [one for one in await get_versions(slug) if one.version == version] if stored else []
    yank = stored.record.yank_of(found[0].number) if stored and found else None
    if stored is None or yank is None:
        return None
    skill = stored.record
    return AppealableVerdict(
        id=f"{slug} {version}:{int(yank.at.timestamp())}",
        subject=f"{slug} {version}",
        name=f"{skill.name} {version}",
        namespace=namespace_of_skill(skill),
        is_private=skill.is_private,
        submitter="",
        words="yanked",
        decided_by=yank.by,
        reason=yank.reason,
    )


async def may_appeal(visitor: Visitor, verdict: AppealableVerdict) -> bool:
    """Return whether a visitor is the submitter or an owner of the namespace."""
    if visitor.user is None:
        return False
    name = visitor.user.name
    if verdict.words == "yanked" and verdict.decided_by == name:
        return False  # the owner's decision; unyank it instead
    namespace = (await get_namespace(verdict.namespace)).record
    if verdict.is_private:
        return visitor.owns(namespace) and visitor.can_see_namespace(namespace)
    return visitor.owns(namespace) or verdict.submitter == name


async def open_appeal(visitor: Visitor, subject: str, *, text: str) -> Appeal:
    """Open an appeal against a verdict; each verdict can have one."""
    verdict = await find_verdict(subject)
    if verdict is None or not await may_appeal(visitor, verdict):
        raise NotFound(f"there is no verdict about {subject!r} that you can appeal")
    now, name = get_now(), visitor.name
    first = AppealMessage(by=name, at=now, text=_checked(text))
    appeal = Appeal(
        id=new_appeal_id(now),
        subject=verdict.subject,
        name=verdict.name,
        namespace=verdict.namespace,
        is_private=verdict.is_private,
        verdict=verdict.words,
        decided_by=verdict.decided_by,
        reason=verdict.reason,
        by=name,
        at=now,
        messages=(first,),
    )

    async def plan() -> PlannedChange[Appeal]:
        if known := await get_appeal_against(verdict.id):
            raise InvalidTransition(f"this verdict was already appealed: {known}")
        if await count_open_appeals_by(name, limit=MAX_OPEN) >= MAX_OPEN:
            raise TooMany(f"you have {MAX_OPEN} open appeals", retry_after=_RETRY_AFTER)
        audit = write_audit("appeal open", appeal.id, actor=name, reason=first.text[:500])
        return PlannedChange(
            operations=[*write_new_appeal(appeal, verdict.id), audit], result=appeal
        )

    if await get_appeal_against(verdict.id) is None:
        await take_shared("appeal", name, _PER_DAY)
    return await change(f"the appeals of {name}", plan)


async def can_see_appeal(visitor: Visitor, appeal: Appeal) -> bool:
    """Return whether a visitor may read a case: staff, its author, owners of the namespace.

    The case of a private skill is visible only to visitors who can see the skill.
    """
    if visitor.user is None:
        return False
    if visitor.may(Right.REVIEW, get_settings()):
        return True
    namespace = (await get_namespace(appeal.namespace)).record
    if appeal.is_private and not visitor.can_see_namespace(namespace):
        return False
    return appeal.by == visitor.user.name or visitor.owns(namespace)


async def find_appeal(visitor: Visitor, appeal_id: str) -> Appeal:
    stored = await get_appeal(appeal_id)
    if stored is None or not await can_see_appeal(visitor, stored.record):
        raise NotFound(f"there is no appeal {appeal_id!r}")
    return stored.record


async def answer_appeal(visitor: Visitor, appeal_id: str, *, text: str) -> Appeal:
    """Add a message; messages of staff are emailed to the author."""
    await find_appeal(visitor, appeal_id)
    is_staff = visitor.may(Right.REVIEW, get_settings())

    def add(appeal: Appeal) -> Appeal:
        return _with_message(
            appeal, visitor.name, text, is_staff=is_staff and appeal.by != visitor.name
        )

    return await _change(appeal_id, add, action="appeal answer", actor=visitor.name, text=text)


async def decide_appeal(
    visitor: Visitor, appeal_id: str, state: AppealState, *, text: str
) -> Appeal:
    """Grant or reject an appeal, and notify the author. Any reviewer may decide."""
    if state not in {AppealState.GRANTED, AppealState.REJECTED}:
        raise InvalidInput("the decision must be granted or rejected")
    appeal = await find_appeal(visitor, appeal_id)
    if appeal.by == visitor.name:
        raise InvalidInput("another reviewer must decide your own appeal")

    def decide(appeal: Appeal) -> Appeal:
        answered = _with_message(appeal, visitor.name, text, is_staff=True)
        return msgspec.structs.replace(
            answered, state=state, closed_by=visitor.name, closed_at=get_now()
        )

    return await _change(appeal_id, decide, action="appeal decide", actor=visitor.name, text=text)


async def withdraw_appeal(visitor: Visitor, appeal_id: str) -> Appeal:
    """Close one's own appeal without a decision."""
    if (await find_appeal(visitor, appeal_id)).by != visitor.name:
        raise InvalidInput("only its author can withdraw an appeal")

    def withdraw(appeal: Appeal) -> Appeal:
        return msgspec.structs.replace(
            appeal, state=AppealState.WITHDRAWN, closed_by=visitor.name, closed_at=get_now()
        )

    return await _change(appeal_id, withdraw, action="appeal withdraw", actor=visitor.name, text="")


async def _change(
    appeal_id: str, update: Callable[[Appeal], Appeal], *, action: str, actor: str, text: str
) -> Appeal:
    async def plan() -> PlannedChange[Appeal]:
        stored = await get_appeal(appeal_id)
        if stored is None:
            raise NotFound(f"there is no appeal {appeal_id!r}")
        if not stored.record.is_open:
            raise InvalidTransition(f"{stored.record.closed_by} has already closed this appeal")
        changed = update(stored.record)
        audit = write_audit(
            action, appeal_id, actor=actor, reason=text.strip()[:500], outcome=changed.state
        )
        operations = [write_appeal(changed, expected=stored.revision), audit]
        return PlannedChange(operations=[*operations, *await _mail(changed, actor)], result=changed)

    return await change(f"the appeal {appeal_id}", plan)


async def _mail(appeal: Appeal, actor: str) -> list[Operation]:
    """Return the email to the author about someone else's message, if the author may read it."""
    author = await get_user(appeal.by)
    if actor == appeal.by or author is None:
        return []
    if not await can_see_appeal(Visitor(user=author.record, via="session"), appeal):
        return []
    fields = {
        "name": appeal.name,
        "state": appeal.state.value,
        "answer": appeal.messages[-1].text,
        "by": actor,
        "appeal": appeal.id,
    }
    return await mail_to_user("appeal_answer", appeal.by, fields)


def _with_message(appeal: Appeal, by: str, text: str, *, is_staff: bool) -> Appeal:
    if len(appeal.messages) >= _MAX_MESSAGES:
        raise InvalidInput(f"this case has {_MAX_MESSAGES} messages; decide it")
    message = AppealMessage(by=by, at=get_now(), text=_checked(text), is_staff=is_staff)
    return msgspec.structs.replace(appeal, messages=(*appeal.messages, message))


def _checked(text: str) -> str:
    words = text.strip()
    if not words:
        raise InvalidInput("write a message")
    if len(words) > MAX_TEXT:
        raise InvalidInput(f"a message has at most {MAX_TEXT:,} characters")
    return words
