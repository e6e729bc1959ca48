"""Fetch a skill from another registry as a submission, which is checked like any other."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.errors import (
    Busy,
    MirrorRefused,
    NotFound,
    Overtaken,
    SkillDeleted,
    SourceError,
    SourceRefused,
)
from vskill_platform.fetch.allowed_sources import Reach, reach_of
from vskill_platform.fetch.mirrors.fetch_mirrored import find_there, get_mirror, is_offline
from vskill_platform.fetch.mirrors.remote_version import RemoteVersion
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import submit
from vskill_platform.mirror_settings import Mirror
from vskill_platform.model.mirror import name_at_mirror, parse_mirrored
from vskill_platform.model.record import cut_reason
from vskill_platform.model.source import MIRROR_PREFIX, mirror_source
from vskill_platform.model.submission import IN_PROGRESS_STATES, Submission, SubmissionState
from vskill_platform.setting_values import format_duration
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import check_free_space, commit, get_now, get_queue, get_settings
from vskill_platform.stores.deleted_skill_store import allow_republishing, get_deleted_skill
from vskill_platform.stores.mirror_store import (
    MirroredSkill,
    get_mirrored,
    list_mirrored,
    write_mirrored,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_store import get_source_owner, get_submission

log = get_logger(__name__)

#: The timeout of a request to another registry; a visitor may be waiting.
_SECONDS_TO_LOOK = 10.0
#: How long the metadata of a skill is reused for further visitors.
_ASK_AGAIN = timedelta(minutes=5)
#: The wait after the first failure; it doubles with each further one.
_FIRST_BACK_OFF, _MAX_BACK_OFF = timedelta(minutes=15), timedelta(hours=24)
#: Each wait is shortened by up to this fraction, so that skills are not compared in bursts.
_JITTER = 0.1


class Wanted(NamedTuple):
    slug: str
    mirror: Mirror
    #: The skill's name at the mirror.
    name: str


def find_mirror_target(slug: str) -> Wanted:
    """Return the origin of a mirrored slug; raise if it has none, or if the operator refuses it."""
    named = parse_mirrored(slug)
    mirror = get_mirror(named.mirror) if named else None
    if named is None or mirror is None:
        raise NotFound(f"there is no published skill {slug!r}")
    name = name_at_mirror(mirror, named)
    if not mirror.takes(name):
        raise MirrorRefused(f"the operator does not mirror {name} of {mirror.name}")
    if is_offline(mirror):
        raise MirrorRefused(
            f"{slug} is not here, and {mirror.name} is offline: only skills that were fetched "
            "before are served"
        )
    return Wanted(slug, mirror, name)


async def mirror_skill(slug: str, *, by: str, again: bool = False) -> Submission:
    """Return the submission of a mirrored skill, a new one if the other registry has a new version.

    Except with *again*, metadata is reused for a few minutes, and a refused version is not fetched
    again until it changes.
    """
    wanted = find_mirror_target(slug)
    if not again:
        await check_not_deleted(wanted)
    known, submission = await get_mirrored(slug), await _find_submission(slug)
    if submission and submission.state in IN_PROGRESS_STATES:
        return submission
    if known and submission and not again and _is_recent(known.record):
        return submission
    await check_takes_more(wanted.mirror)
    return await compare(wanted, known, by=by, again=again)


async def check_not_deleted(wanted: Wanted) -> None:
    """Refuse a skill that an admin has deleted here: a request must not bring it back."""
    slug = wanted.slug
    gone = await get_deleted_skill(slug)
    if gone and not gone.record.may_republish(mirror_source(slug, "").owner_key):
        raise SkillDeleted(
            f"{slug} was deleted: {gone.record.reason}; it returns from {wanted.mirror.name} only "
            "if an operator fetches it again"
        )


async def compare(
    wanted: Wanted, known: Stored[MirroredSkill] | None, *, by: str, again: bool = False
) -> Submission:
    """Ask the other registry for the latest version, and submit it if it is new.

    *again* also submits a version that was refused, and a skill that an admin has deleted.
    """
    slug, mirror = wanted.slug, wanted.mirror
    if not again:
        await check_not_deleted(wanted)
    seen, found = await look_up(wanted, known, by=by)
    if why := why_not(mirror, found, seen.seen_at, is_taken=seen.taken == found.revision):
        await _write(known, msgspec.structs.replace(seen, problem=cut_reason(why)))
        raise MirrorRefused(f"{slug} is not mirrored: {why}")
    submission = await _find_submission(slug)
    if submission and not again and _is_settled(submission, found):
        await _write(known, msgspec.structs.replace(seen, taken=found.revision))
        return submission
    return await _submit(known, seen, found, by=by, again=again)


async def look_up(
    wanted: Wanted, known: Stored[MirroredSkill] | None, *, by: str
) -> tuple[MirroredSkill, RemoteVersion]:
    """Ask the other registry for the latest version; return it with the updated record."""
    slug, mirror, name = wanted
    try:
        found = await find_there(mirror, name, short_reach())
    except NotFound as error:
        await _note_failure(known, f"it is no longer there: {error}", is_missing=True)
        if known:
            raise
        raise NotFound(f"there is no published skill {slug!r}: {error}") from error
    except SourceError as error:
        await _note_failure(known, str(error))
        if isinstance(error, SourceRefused):
            raise MirrorRefused(f"{slug} cannot be mirrored: {error}") from error
        raise
    return _seen(wanted, known.record if known else None, found, by=by), found


async def note_seen(
    known: Stored[MirroredSkill] | None, seen: MirroredSkill
) -> Stored[MirroredSkill] | None:
    """Store an updated record; return the record that is stored now."""
    await _write(known, seen)
    return await get_mirrored(seen.slug)


async def compare_soon(mirror: str, *, actor: str) -> int:
    """Make all skills of a mirror due for a comparison; return how many."""
    count, after = 0, None
    while True:
        page = await list_mirrored(after=after)
        for skill in page.skills:
            known = await get_mirrored(skill.slug) if skill.mirror == mirror else None
            if known:
                put = write_mirrored(known.record, due=get_now(), expected=known.revision)
                count += await commit([put]) is not None
        if page.cursor is None:
            break
        after = page.cursor
    await commit([write_audit("mirror compare", mirror, actor=actor, reason="")])
    return count


async def find_submissions(slugs: Sequence[str]) -> dict[str, Submission]:
    """Return the submissions of mirrored skills by slug."""
    found = [await _find_submission(slug) for slug in slugs]
    return {slug: one for slug, one in zip(slugs, found, strict=True) if one}


async def postpone(known: Stored[MirroredSkill], why: str) -> None:
    """Postpone the comparison of a skill, and record why."""
    await _write(known, msgspec.structs.replace(known.record, problem=cut_reason(why)))


async def check_takes_more(mirror: Mirror) -> None:
    """Raise if nothing more can be submitted now, before the other registry is asked."""
    if not await has_room(mirror):
        raise Busy(f"too many skills of {mirror.name} are waiting for their check")
    await check_free_space()


async def has_room(mirror: Mirror) -> bool:
    """Return whether more skills of a mirror may be queued."""
    pending = await get_queue().count_group(f"{MIRROR_PREFIX}{mirror.name}")
    return pending < get_settings().mirror_pending


async def _submit(
    known: Stored[MirroredSkill] | None,
    seen: MirroredSkill,
    found: RemoteVersion,
    *,
    by: str,
    again: bool,
) -> Submission:
    slug, taken = seen.slug, msgspec.structs.replace(seen, taken=found.revision)
    source = mirror_source(slug, found.revision)

    async def note() -> list[Operation]:
        now = await get_mirrored(slug)
        if (now.revision if now else ABSENT) != (known.revision if known else ABSENT):
            raise Overtaken(f"another node has compared {slug}")
        audit = write_audit("mirror fetch", slug, actor=by, reason="", outcome=found.revision)
        returns = await allow_republishing(slug, source.owner_key) if again else []
        return [_put(known, taken), audit, *returns]

    try:
        request = SubmissionRequest(source=source, version=found.version)
        result = await submit(request, submitter=source.mirror, group=source.mirror, also=note)
    except Overtaken:
        if submission := await _find_submission(slug):
            return submission
        raise
    log.info("mirrored skill submitted", slug=slug, revision=found.revision, result=result.kind)
    if result.kind not in {"created", "requeued"}:  # it stored nothing
        await _write(known, taken)
    return result.submission


def _seen(
    wanted: Wanted, known: MirroredSkill | None, found: RemoteVersion, *, by: str
) -> MirroredSkill:
    """Return the updated record; it keeps the time when a version was first seen."""
    now = get_now()
    begun = known or MirroredSkill(
        slug=wanted.slug,
        mirror=wanted.mirror.name,
        name=wanted.name,
        by=by,
        at=now,
        revision=found.revision,
        content=found.content,
        seen_at=now,
    )
    is_same = begun.revision == found.revision and begun.content in {"", found.content}
    return msgspec.structs.replace(
        begun,
        revision=found.revision,
        content=found.content,
        version=found.version,
        seen_at=begun.seen_at if is_same else now,
        # Replaced content was never accepted, although its version is the same.
        taken=begun.taken if is_same or begun.taken != found.revision else "",
        checked_at=now,
        failures=0,
        problem="",
        missing_since=None,
        withdrawn_since=(begun.withdrawn_since or now) if found.withdrawn else None,
    )


def why_not(mirror: Mirror, found: RemoteVersion, seen_at: datetime, *, is_taken: bool) -> str:
    """Return why a version must not be mirrored now; empty if it may be."""
    if found.withdrawn:
        return f"{mirror.name} has withdrawn it: {found.withdrawn}"
    # Not the date in the other registry's metadata, which could be anything.
    ready_at = seen_at + mirror.min_age
    left = ready_at - get_now()
    if left > timedelta(0) and not is_taken:
        shown = found.version or "its latest version"
        return (
            f"{shown} is too new: this registry waits {format_duration(mirror.min_age)} before it "
            f"fetches a version of {mirror.name}, until {ready_at:%Y-%m-%d %H:%M} UTC"
        )
    return ""


def _is_settled(submission: Submission, found: RemoteVersion) -> bool:
    """Return whether this version was fetched and decided, or withdrawn by staff."""
    is_ended = submission.digest is not None or submission.state is SubmissionState.DEQUEUED
    return submission.source.ref == found.revision and is_ended


def _is_recent(known: MirroredSkill) -> bool:
    return known.checked_at is not None and get_now() - known.checked_at < _ASK_AGAIN


async def _find_submission(slug: str) -> Submission | None:
    owner = await get_source_owner(mirror_source(slug, ""))
    stored = await get_submission(owner) if owner else None
    return stored.record if stored else None


async def _note_failure(
    known: Stored[MirroredSkill] | None, problem: str, *, is_missing: bool = False
) -> None:
    """Record a failed comparison, but not for a skill that was never seen."""
    if known is None:
        return
    record, now = known.record, get_now()
    log.info("mirrored skill not compared", slug=record.slug, error=problem)
    failed = msgspec.structs.replace(
        record,
        checked_at=now,
        failures=record.failures + 1,
        problem=cut_reason(problem),
        missing_since=(record.missing_since or now) if is_missing else record.missing_since,
    )
    await _write(known, failed)


async def _write(known: Stored[MirroredSkill] | None, changed: MirroredSkill) -> None:
    """Store the result of a comparison; if the record has changed since, that change wins."""
    await commit([_put(known, changed)])


def _put(known: Stored[MirroredSkill] | None, changed: MirroredSkill) -> Operation:
    return write_mirrored(changed, due=_due(changed), expected=known.revision if known else ABSENT)


def _due(changed: MirroredSkill) -> datetime:
    wait = get_settings().mirror_every
    if changed.failures:
        wait = back_off(changed.failures)
    return get_now() + wait * random.uniform(1 - _JITTER, 1)  # noqa: S311 - not a secret


def back_off(failures: int) -> timedelta:
    """Return the wait after this many failures in a row, without jitter."""
    doublings = min(failures - 1, 10)  # more would only repeat the maximum
    return min(_FIRST_BACK_OFF * (1 << doublings), _MAX_BACK_OFF)


def short_reach() -> Reach:
    """Return the limits for requests to other registries while a visitor waits."""
    reach = reach_of(get_settings())
    return msgspec.structs.replace(reach, seconds=min(reach.seconds, _SECONDS_TO_LOOK))
