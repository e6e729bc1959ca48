"""Keep the checked files until a review, so that exactly these files are published."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotFound, RecordMalformed
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.submission import Submission
from vskill_platform.publish.versions.version_files import package_skill, unpacked_version
from vskill_platform.stores.blob_store import keep
from vskill_platform.stores.db import get_now
from vskill_platform.stores.held_store import HeldSkill, get_held, get_held_files, write_held
from vskill_platform.stores.skill_store import get_latest_version
from vskill_platform.stores.version_store import get_archive


async def hold_skill(submission: Submission, snapshot: Snapshot) -> list[Operation]:
    """Return the operations that keep the files for a review."""
    archive = await package_skill(snapshot)
    held = HeldSkill(
        submission_id=submission.id,
        files=snapshot.files,
        digest=snapshot.digest,
        archive_sha256=archive.sha256,
        commit_sha=snapshot.commit_sha,
        tree_sha=snapshot.tree_sha,
        held_at=get_now(),
        is_upload=submission.source.upload_sha256 == archive.sha256,
    )
    return await write_held(held, await keep(archive.sha256, archive.content))


@asynccontextmanager
async def opened_held_skill(submission: Submission) -> AsyncIterator[Snapshot]:
    """Unpack the checked files; raise if they have changed."""
    archive = await _find(submission)
    if archive.content is None:
        raise _not_kept(submission)
    async with unpacked_version(
        archive.content, submission, commit_sha=archive.commit_sha
    ) as snapshot:
        if snapshot.digest != submission.digest:
            raise RecordMalformed(f"the stored archive of {submission.id} is not what was checked")
        yield snapshot


class _Archive(msgspec.Struct, frozen=True):
    #: None if it is no longer stored.
    content: bytes | None
    commit_sha: str | None


async def _find(submission: Submission) -> _Archive:
    """Return the files of a submission: held for a review, or in a published version."""
    stored = await get_held(submission.id)
    if stored and stored.record.digest == submission.digest:
        return _Archive(await get_held_files(stored.record), stored.record.commit_sha)
    latest = await get_latest_version(submission.slug) if submission.slug else None
    if latest is None or latest.digest != submission.digest:
        raise _not_kept(submission)
    return _Archive(await get_archive(latest.archive_sha256), latest.commit_sha)


def _not_kept(submission: Submission) -> NotFound:
    return NotFound(
        f"the checked files of {submission.id} are no longer stored; run the checks "
        f"again: vskill-platform reviews recheck {submission.id}"
    )
