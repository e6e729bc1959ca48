"""Make events from the history and the audit log: what happened, to which skill, who may see it."""

from hashlib import sha256

from vskill_platform.model.event import Event, EventData, EventType
from vskill_platform.model.namespace import namespace_in, namespace_of, namespace_of_skill
from vskill_platform.model.registry_url import base_url
from vskill_platform.model.submission import (
    TERMINAL_STATES,
    StateEvent,
    Submission,
    SubmissionState,
)
from vskill_platform.stores.appeal_store import get_appeal
from vskill_platform.stores.audit_store import AuditRecord
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.event_feed import FeedEntry
from vskill_platform.stores.skill_store import get_skill
from vskill_platform.stores.submission_store import get_submission

_S, _E = SubmissionState, EventType
_STATES = {
    _S.NEEDS_REVIEW: _E.SUBMISSION_NEEDS_REVIEW,
    _S.PUBLISHED: _E.SUBMISSION_PUBLISHED,
    _S.TIER1_FAILED: _E.SUBMISSION_REJECTED,
    _S.REJECTED: _E.SUBMISSION_REJECTED,
    _S.BLOCKED: _E.SUBMISSION_BLOCKED,
    _S.DEQUEUED: _E.SUBMISSION_WITHDRAWN,
}
_ABOUT_SKILL = {
    "yank": _E.VERSION_YANKED,
    "unyank": _E.VERSION_UNYANKED,
    "deprecate": _E.SKILL_DEPRECATED,
    "undeprecate": _E.SKILL_UNDEPRECATED,
    "visibility": _E.SKILL_VISIBILITY_CHANGED,
}
_ABOUT_REPORT = {
    "report": _E.REPORT_OPENED,
    "report problem": _E.REPORT_OPENED,
    "report close": _E.REPORT_CLOSED,
}
_ABOUT_APPEAL = {
    "appeal open": _E.APPEAL_OPENED,
    "appeal answer": _E.APPEAL_ANSWERED,
    "appeal decide": _E.APPEAL_DECIDED,
}
#: Events of the block itself, and of each skill that it took down or brought back.
_ABOUT_BLOCK = {
    "block add": (_E.BLOCK_ADDED, _E.SKILL_BLOCKED),
    "block remove": (_E.BLOCK_REMOVED, _E.SKILL_UNBLOCKED),
}


async def collect_events(key: str, happening: FeedEntry) -> list[Event]:
    """Return the events of one record; most records of the audit log cause none."""
    if isinstance(happening, StateEvent):
        stored = await get_submission(happening.submission_id)
        return _of_submission(key, happening, stored.record) if stored else []
    if happening.action in _ABOUT_SKILL:
        slug, _, version = happening.subject.partition(" ")
        event = _ABOUT_SKILL[happening.action]
        return [await _of_skill(key, event, happening, slug=slug, version=version)]
    if happening.action in _ABOUT_REPORT:
        return [_of_report(key, happening)]
    if happening.action in _ABOUT_APPEAL:
        return await _of_appeal(key, happening)
    if happening.action in _ABOUT_BLOCK:
        about_block, about_skill = _ABOUT_BLOCK[happening.action]
        skills = [
            await _of_skill(f"{key} {slug}", about_skill, happening, slug=slug)
            for slug in happening.skills
        ]
        return [_of_block(key, about_block, happening), *skills]
    return []


def _of_submission(key: str, happened: StateEvent, submission: Submission) -> list[Event]:
    types = []
    if happened.to_state in _STATES:
        types.append(_STATES[happened.to_state])
    elif happened.to_state is _S.RECEIVED and (
        happened.from_state is None or happened.from_state in TERMINAL_STATES
    ):
        types.append(_E.SUBMISSION_RECEIVED)
    if happened.from_state is _S.NEEDS_REVIEW and happened.to_state in {_S.PUBLISHED, _S.REJECTED}:
        types.append(_E.REVIEW_DECIDED)
    namespace = namespace_of(submission.source)
    data = EventData(
        namespace=namespace,
        skill=submission.slug or "",
        name=submission.skill_name,
        submission=submission.id,
        state=happened.to_state,
        actor=happened.actor,
        reason=happened.reason,
        url=f"{base_url(get_settings())}/submissions/{submission.id}",
    )
    return [
        Event(
            id=_event_id(f"{key} {item}"),
            type=item,
            at=happened.at,
            namespace=namespace,
            is_private=submission.is_private,
            data=data,
        )
        for item in types
    ]


async def _of_skill(
    key: str, event: EventType, audit: AuditRecord, *, slug: str, version: str = ""
) -> Event:
    stored = await get_skill(slug)
    skill = stored.record if stored else None
    namespace = namespace_of_skill(skill) if skill else namespace_in(slug)
    data = EventData(
        namespace=namespace,
        skill=slug,
        name=skill.name if skill else "",
        version=version,
        outcome=audit.outcome,
        actor=audit.actor,
        reason=audit.reason,
        url=f"{base_url(get_settings())}/skills/{slug}",
    )
    # A deleted skill may have been private.
    is_private = skill is None or skill.is_private
    return Event(
        id=_event_id(key),
        type=event,
        at=audit.at,
        namespace=namespace,
        is_private=is_private,
        data=data,
    )


def _of_report(key: str, audit: AuditRecord) -> Event:
    is_closed = audit.action == "report close"
    slug, _, version = audit.subject.partition(" ") if audit.action == "report" else ("", "", "")
    data = EventData(
        report=audit.subject if is_closed else audit.outcome,
        skill=slug,
        version=version,
        actor=audit.actor,
        reason=audit.reason,
        url=f"{base_url(get_settings())}/admin/reports",
    )
    event = _ABOUT_REPORT[audit.action]
    # A report may be about a private skill, and contains the name of its author.
    return Event(id=_event_id(key), type=event, at=audit.at, is_private=True, data=data)


async def _of_appeal(key: str, audit: AuditRecord) -> list[Event]:
    stored = await get_appeal(audit.subject)
    if stored is None:
        return []
    appeal = stored.record
    data = EventData(
        namespace=appeal.namespace,
        name=appeal.name,
        submission=appeal.submission,
        appeal=appeal.id,
        outcome=audit.outcome,
        actor=audit.actor,
        reason=audit.reason,
        url=f"{base_url(get_settings())}/appeals/{appeal.id}",
    )
    event = Event(
        id=_event_id(key),
        type=_ABOUT_APPEAL[audit.action],
        at=audit.at,
        namespace=appeal.namespace,
        # What publishers and staff write to each other is not public.
        is_private=True,
        data=data,
    )
    return [event]


def _of_block(key: str, event: EventType, audit: AuditRecord) -> Event:
    data = EventData(
        subject=audit.subject,
        outcome=audit.outcome,
        actor=audit.actor,
        reason=audit.reason,
        url=f"{base_url(get_settings())}/admin/blocklist",
    )
    # It may be about a private skill.
    return Event(id=_event_id(key), type=event, at=audit.at, is_private=True, data=data)


def _event_id(key: str) -> str:
    """Return an id that is the same each time this record is read, on every node."""
    return f"evt_{sha256(key.encode()).hexdigest()[:32]}"
