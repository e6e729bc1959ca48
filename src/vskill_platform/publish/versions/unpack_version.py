"""Pack the files of a version into its archive, and unpack them again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.fetch.archive import unpack
from vskill_platform.fetch.pack import Packed, pack
from vskill_platform.fetch.snapshot import Snapshot, take_snapshot
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.submission import Submission


@asynccontextmanager
async def unpacked_version(
    archive: bytes, submission: Submission, *, commit_sha: str | None
) -> AsyncIterator[Snapshot]:
    """Unpack the files as they were fetched; the caller must compare the digest.

    The digest is computed from the unpacked files, never taken from a record.
    """
    async with open_workspace() as workspace:
        yield await work_in_thread(_lay_out, archive, workspace, submission, commit_sha)


def _lay_out(
    archive: bytes, workspace: Path, submission: Submission, commit_sha: str | None
) -> Snapshot:
    packed, tree = workspace / "packed.tar.gz", workspace / "tree"
    packed.write_bytes(archive)
    unpack(packed, tree)
    return take_snapshot(
        tree,
        workspace / "skill",
        folder_name=submission.source.folder_name,
        commit_sha=commit_sha,
        tree_sha=submission.tree_sha,
    )


async def package_skill(snapshot: Snapshot) -> Packed:
    """Pack a snapshot with SKILL.md at the root; the same files give the same bytes."""
    if snapshot.packed:
        return snapshot.packed
    return await work_in_thread(pack, snapshot.folder, snapshot.files)
