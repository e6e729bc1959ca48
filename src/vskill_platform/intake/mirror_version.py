"""Fetch one version of a skill from another registry, at the request of a client.

It has its own submission, so that its check does not affect the latest version.
"""

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import MirrorRefused, NotFound, SourceRefused
from vskill_platform.fetch.mirrors.fetch_mirrored import find_there
from vskill_platform.fetch.mirrors.remote_version import RemoteVersion
from vskill_platform.intake.mirror_skill import (
    Wanted,
    check_not_deleted,
    check_takes_more,
    compare,
    find_mirror_target,
    look_up,
    mirror_skill,
    note_seen,
    short_reach,
    why_not,
)
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import submit
from vskill_platform.mirror_settings import MirrorKind
from vskill_platform.model.skill import is_version, parse_version, version_key
from vskill_platform.model.source import pinned_source
from vskill_platform.model.submission import IN_PROGRESS_STATES, Submission, SubmissionState
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import get_now
from vskill_platform.stores.deleted_skill_store import allow_republishing
from vskill_platform.stores.mirror_store import MirroredSkill, PinnedVersion, get_mirrored
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_store import get_source_owner, get_submission

log = get_logger(__name__)

#: For how many versions of a skill the time of the first sight is kept; the oldest is dropped.
_MAX_PINNED = 200


async def fetch_now(slug: str, version: str, *, by: str) -> Submission:
    """Fetch a version of a mirrored skill, or the latest without one, for an operator."""
    if version:
        return await mirror_version(slug, version, by=by, again=True)
    return await mirror_skill(slug, by=by, again=True)


async def mirror_version(slug: str, version: str, *, by: str, again: bool = False) -> Submission:
    """Return the submission of a version of a mirrored skill; create one if there is none.

    A refused version stays refused, except with *again*.
    """
    wanted = find_mirror_target(slug)
    if not again:
        await check_not_deleted(wanted)
    if wanted.mirror.kind is MirrorKind.DISCOVERY:
        raise NotFound(
            f"{slug} {version} is not here, and {wanted.mirror.name} has only the latest version"
        )
    if not is_version(version):
        raise NotFound(f"{slug} has no such version; use a number such as 1.2.0")
    known = await get_mirrored(slug)
    if known and known.record.version == version:
        submission = await mirror_skill(slug, by=by, again=again)
        if submission.source.revision == version:
            return submission
        known = await get_mirrored(slug)
    submitted = await _find_submission(slug, version)
    if submitted and _is_settled(submitted, again=again):
        return submitted
    await check_takes_more(wanted.mirror)
    if known is None or not _is_lower(version, known.record.version):
        seen, latest = await look_up(wanted, known, by=by)
        if latest.version == version:
            return await compare(wanted, known, by=by, again=again)
        if not _is_lower(version, latest.version):
            raise MirrorRefused(
                f"{slug} {version} is not mirrored: the latest version of {wanted.mirror.name} is "
                f"{latest.version}"
            )
        known = await note_seen(known, seen)
    return await _take(wanted, known, version, by=by, again=again)


async def _take(
    wanted: Wanted, known: Stored[MirroredSkill] | None, version: str, *, by: str, again: bool
) -> Submission:
    slug, mirror, name = wanted
    try:
        found = await find_there(mirror, name, short_reach(), revision=version)
    except NotFound as error:
        raise NotFound(f"{slug} has no version {version}: {error}") from error
    except SourceRefused as error:
        raise MirrorRefused(f"{slug} {version} cannot be mirrored: {error}") from error
    pin = await _note(known, found)
    if why := why_not(mirror, found, pin.seen_at, is_taken=False):
        raise MirrorRefused(f"{slug} {version} is not mirrored: {why}")
    source = pinned_source(slug, version)

    async def note() -> list[Operation]:
        returns = await allow_republishing(slug, source.owner_key) if again else []
        return [write_audit("mirror fetch", slug, actor=by, reason="", outcome=version), *returns]

    request = SubmissionRequest(source=source, version=version)
    result = await submit(request, submitter=source.mirror, group=source.mirror, also=note)
    log.info("mirrored version submitted", slug=slug, revision=version, result=result.kind)
    return result.submission


async def _note(known: Stored[MirroredSkill] | None, found: RemoteVersion) -> PinnedVersion:
    """Return when a version was first seen, and its content then; store both if it is new."""
    now = PinnedVersion(version=found.version, content=found.content, seen_at=get_now())
    if known is None:  # another node just deleted or replaced the record
        return now
    record = known.record
    if pin := record.pin_of(found.version):
        return pin
    pinned = (*record.pinned, now)[-_MAX_PINNED:]
    await note_seen(known, msgspec.structs.replace(record, pinned=pinned))
    return now


async def _find_submission(slug: str, version: str) -> Submission | None:
    owner = await get_source_owner(pinned_source(slug, version))
    stored = await get_submission(owner) if owner else None
    return stored.record if stored else None


def _is_settled(submission: Submission, *, again: bool) -> bool:
    """Return whether it is being checked, or was decided and is not requested *again*."""
    if submission.state in IN_PROGRESS_STATES:
        return True
    is_ended = submission.digest is not None or submission.state is SubmissionState.DEQUEUED
    return is_ended and not again


def _is_lower(version: str, latest: str) -> bool:
    """Return whether a version is lower than the latest one, or not comparable with it."""
    return parse_version(latest) is None or version_key(version) < version_key(latest)
