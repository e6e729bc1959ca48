"""Add one published skill to the similarity index, from its archive."""

from pathlib import Path

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import RecordMalformed
from vskill_platform.fetch.archive import unpack
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.scan.check_skill import check_skill
from vskill_platform.stores.similarity_store import (
    SimilarityRecord,
    get_similarity_record,
    write_similarity_record,
)
from vskill_platform.stores.skill_store import get_latest_version, get_skill, write_skill
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.stores.version_store import get_archive


async def plan_similarity(slug: str) -> list[Operation]:
    """Measure the latest version of a skill; return the operations. The caller holds a scan slot.

    If the skill is already in the index, or no longer listed, there are none.
    """
    stored = await get_skill(slug)
    if stored is None or stored.record.down or stored.record.is_private:
        return []
    if await get_similarity_record(slug):
        return []
    version = await get_latest_version(slug)
    archive = await get_archive(version.archive_sha256) if version else None
    submission = await get_submission(stored.record.submission_id)
    if archive is None or submission is None:
        raise RecordMalformed(f"{slug} cannot be indexed: its archive or submission is missing")
    async with open_workspace() as workspace:
        folder = await work_in_thread(_unpack, archive, workspace)
        scanned = await check_skill(folder, folder_name=None, slots=None)
    sketch = SimilarityRecord(
        slug=slug,
        name=stored.record.slug.rpartition("/")[2],
        publisher=stored.record.publisher or submission.record.source.publisher,
        since=stored.record.published_at,
        sketch=scanned.measured(),
    )
    # Write the skill unchanged, so that this commit fails if a publication came first.
    unchanged = write_skill(stored.record, expected=stored.revision)
    return [unchanged, *await write_similarity_record(sketch)]


def _unpack(archive: bytes, workspace: Path) -> Path:
    packed, folder = workspace / "version.tar.gz", workspace / "skill"
    packed.write_bytes(archive)
    unpack(packed, folder)
    return folder
