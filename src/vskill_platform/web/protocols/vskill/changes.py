"""The changes of submissions and skills that streams send to the original vskill client."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import msgspec
from litestar.response import ServerSentEventMessage

from vskill_platform.access.visibility import find_visible_skill
from vskill_platform.catalogue.query import SubmissionQuery, SubmissionRow, SubmissionSort
from vskill_platform.errors import FeedTrimmed, NotFound
from vskill_platform.model.rights import Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.versions.find_version import VersionStatus
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_store import submission_of_key
from vskill_platform.stores.version_store import list_versions_since
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.shapes import VersionItem
from vskill_platform.web.skills.slugs import SKILL_ID
from vskill_platform.web.skills.versions import versions_of

Message = ServerSentEventMessage
_MAX_ROWS = 100
#: How many missed versions of a skill are sent.
_MAX_VERSIONS = 20
#: How many pages of the change feed are read for a client that reconnects.
_MAX_PAGES = 20
_S = SubmissionState
_FINISHED = frozenset({_S.PUBLISHED, _S.BLOCKED, _S.REJECTED, _S.TIER1_FAILED})
_DECIDED = _FINISHED | {_S.NEEDS_REVIEW}
_AVAILABLE = frozenset({VersionStatus.LATEST, VersionStatus.AVAILABLE})
_POSITION = re.compile(r"([0-9a-f]{1,16})-([0-9]{1,18})")
#: The state of a watched skill that the client knows; None if it is not available.
RecordsBySlug = dict[str, Stored[PublishedSkill] | None]


class Position(NamedTuple):
    """The position in the change feed up to which a client knows everything."""

    #: The beginning of the id of the database's history, which a restore changes.
    history: str
    revision: int

    @classmethod
    def parse(cls, text: str) -> "Position | None":
        found = _POSITION.fullmatch(text.strip())
        return cls(found[1], int(found[2])) if found else None


class StreamEvent(NamedTuple):
    kind: str
    data: dict[str, Any]

    def message(self, at: Position) -> Message:
        data = msgspec.json.encode(self.data).decode()
        return Message(event=self.kind, data=data, id=f"{at.history}-{at.revision}")


class Changes(Protocol):
    async def begin(self) -> None:
        """Remember the current state."""
        ...

    async def read(self) -> list[StreamEvent]:
        """Return the changes since the last call."""
        ...

    async def since(self, revision: int) -> list[StreamEvent] | None:
        """Return the changes since a revision; None if they are unknown."""
        ...


async def read_position() -> Position:
    engine = bound_env().engine
    history = (await engine.history_id()).encode().hex()[:16]
    return Position(history, await engine.revision())


class SubmissionStream:
    def __init__(
        self, request: WebRequest, submitter: str, *, decisions_only: bool = False
    ) -> None:
        self._request, self._submitter = request, submitter
        self._decisions_only = decisions_only
        self._known: list[SubmissionRow] = []

    async def begin(self) -> None:
        self._known = await self._latest()

    async def read(self) -> list[StreamEvent]:
        rows = await self._latest()
        changed = _new(rows, self._known)
        self._known = rows or self._known
        return self._events(changed)

    async def since(self, revision: int) -> list[StreamEvent] | None:
        ids = await _changed_submissions(revision)
        if ids is None:
            return None
        return self._events(row for row in reversed(self._known) if row.id in ids)

    def _events(self, rows: Iterable[SubmissionRow]) -> list[StreamEvent]:
        if self._decisions_only:
            return [_decision(row) for row in rows if row.state in _DECIDED]
        return [_submission_event(row) for row in rows]

    async def _latest(self) -> list[SubmissionRow]:
        """Return one page of the submissions that changed last; clients also reload."""
        catalogue = catalogue_of(self._request)
        await catalogue.wait_until(await bound_env().engine.revision())
        query = SubmissionQuery(
            submitter=self._submitter,
            sort=SubmissionSort.UPDATED,
            limit=_MAX_ROWS,
            visible=await visible_to(visitor_of(self._request)),
        )
        return (await catalogue.list_submissions(query)).rows


class SkillStream:
    def __init__(self, request: WebRequest, slugs: Iterable[str]) -> None:
        self._request = request
        self._known: RecordsBySlug = dict.fromkeys(slugs)

    async def begin(self) -> None:
        self._known = await self._latest()

    async def read(self) -> list[StreamEvent]:
        now = await self._latest()
        changed = [slug for slug, skill in now.items() if _differs(self._known[slug], skill)]
        self._known = now
        return [await _latest_event(slug, now[slug]) for slug in changed]

    async def since(self, revision: int) -> list[StreamEvent] | None:
        """Return new versions in order; every skill that is not available counts as gone.

        This includes skills that never existed: otherwise the response would reveal private skills.
        """
        found: list[StreamEvent] = []
        for slug, stored in self._known.items():
            if stored is None:
                found.append(_gone(slug))
            elif stored.revision > revision:
                found += await _versions_since(slug, stored.record, revision)
        return found

    async def _latest(self) -> RecordsBySlug:
        visitor = visitor_of(self._request)
        return {slug: await _find(visitor, slug) for slug in self._known}


async def _changed_submissions(revision: int) -> set[str] | None:
    """Return the ids of submissions that changed since; None if too many, or no longer recorded."""
    ids: set[str] = set()
    for _ in range(_MAX_PAGES):
        try:
            page = await bound_env().engine.read_changes(after=revision)
        except FeedTrimmed:
            return None
        keys = (key for change in page.changes for key in change.keys)
        ids |= {found for key in keys if (found := submission_of_key(key))}
        if len(ids) > _MAX_ROWS:
            return None
        if page.is_last:
            return ids
        revision = page.through
    return None


def _new(rows: list[SubmissionRow], known: list[SubmissionRow]) -> list[SubmissionRow]:
    """Return the changes, oldest first."""
    marks = {(row.id, row.state, row.updated_at) for row in known}
    return [
        row
        for row in reversed(rows)
        if (row.id, row.state, row.updated_at) not in marks
        and (not known or row.updated_at >= known[0].updated_at)
    ]


def _submission_event(row: SubmissionRow) -> StreamEvent:
    is_new = row.state is SubmissionState.RECEIVED and row.created_at == row.updated_at
    kind = "submission_created" if is_new else "state_changed"
    return StreamEvent("scan_complete" if row.state in _FINISHED else kind, _submission_data(row))


def _decision(row: SubmissionRow) -> StreamEvent:
    data = {"eventId": f"{row.id}@{row.updated_at.isoformat()}", **_submission_data(row)}
    return StreamEvent("submission_decision", data)


def _submission_data(row: SubmissionRow) -> dict[str, Any]:
    return {
        "submissionId": row.id,
        "skillName": row.skill_name,
        "state": row.state,
        "score": row.score,
        "message": row.reason,
        "timestamp": row.updated_at,
    }


async def _find(visitor: Visitor, slug: str) -> Stored[PublishedSkill] | None:
    try:
        stored = await find_visible_skill(visitor, slug)
    except NotFound:
        return None
    return None if stored.record.down else stored


def _differs(before: Stored[PublishedSkill] | None, now: Stored[PublishedSkill] | None) -> bool:
    if before is None or now is None:
        return before is not now
    old, new = before.record, now.record
    return (old.version, old.digest) != (new.version, new.digest)


async def _latest_event(slug: str, stored: Stored[PublishedSkill] | None) -> StreamEvent:
    if stored is None:
        return _gone(slug)
    (latest,) = (await versions_of(stored.record.slug, limit=1)).versions
    return _updated(slug, stored.record, latest)


async def _versions_since(slug: str, skill: PublishedSkill, revision: int) -> list[StreamEvent]:
    new = {version.version for version in await list_versions_since(skill.slug, revision)}
    listed = (await versions_of(skill.slug, limit=_MAX_VERSIONS)).versions
    return [
        _updated(slug, skill, item)
        for item in reversed(listed)
        if item.version in new and item.standing in _AVAILABLE
    ]


def _updated(slug: str, skill: PublishedSkill, item: VersionItem) -> StreamEvent:
    data = {
        "eventId": f"{skill.slug}@{item.version}",
        "skillId": f"{SKILL_ID}{slug}",
        "skillSlug": skill.slug,
        "version": item.version,
        "gitSha": item.git_sha,
        "diffSummary": item.diff_summary,
        "publishedAt": item.created_at,
    }
    return StreamEvent("skill.updated", data)


def _gone(slug: str) -> StreamEvent:
    return StreamEvent(
        "gone", {"skillId": f"{SKILL_ID}{slug}", "reason": "it is no longer available"}
    )


def reload_all(reason: str) -> StreamEvent:
    """Return the event that makes clients request everything again."""
    return StreamEvent("gone", {"reason": f"{reason}; ask for the current state"})
