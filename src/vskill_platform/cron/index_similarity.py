"""Cron job: add published skills that are missing in the similarity index.

The pipeline writes the index with every publication. Skills that an older release published are
not in it, so copies of them would not be found.
"""

from pathlib import Path

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.settle import settle
from vskill_platform.base.show_text import count_of
from vskill_platform.base.telemetry import get_logger
from vskill_platform.fetch.archive import unpack
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.scan.check_skill import check_skill
from vskill_platform.stores.db import bound_env, commit
from vskill_platform.stores.similarity_store import (
    SimilarityRecord,
    list_indexed_slugs,
    write_similarity_record,
)
from vskill_platform.stores.skill_store import (
    get_archive,
    get_latest_version,
    get_skill,
    list_skills,
    write_skill,
)
from vskill_platform.stores.submission_store import get_submission

log = get_logger(__name__)

#: How many skills one run adds; the next run continues.
_A_RUN = 1_000


async def index_similar_skills() -> str:
    listed = {skill.slug for skill in await list_skills() if not skill.is_private}
    missing = sorted(listed - set(await list_indexed_slugs()))
    chosen = missing[:_A_RUN]
    outcomes = await settle(_index, chosen, at_once=1)  # submissions need the scan slots
    for slug, outcome in zip(chosen, outcomes, strict=True):
        if isinstance(outcome, Exception):
            log.error("skill not indexed", slug=slug, error=str(outcome))
    indexed = sum(outcome is True for outcome in outcomes)
    return f"{count_of(indexed, 'skill')} indexed, {len(missing) - indexed} left"


async def _index(slug: str) -> bool:
    """Measure the latest version of a skill from its archive; tell whether it is indexed now."""
    stored, version = await get_skill(slug), await get_latest_version(slug)
    archive = await get_archive(version.archive_sha256) if version else None
    submission = await get_submission(stored.record.submission_id) if stored else None
    if stored is None or archive is None or submission is None:
        log.warning("skill not indexed: parts of it are missing", slug=slug)
        return False
    async with open_workspace() as workspace:
        folder = await work_in_thread(_unpack, archive, workspace)
        scanned = await check_skill(folder, folder_name=None, slots=bound_env().scan_slots)
    sketch = SimilarityRecord(
        slug=slug,
        name=stored.record.slug.rpartition("/")[2],
        publisher=stored.record.publisher or submission.record.source.publisher,
        since=stored.record.published_at,
        sketch=scanned.measured(),
    )
    # The skill is written unchanged, so that a publication in the meantime wins.
    unchanged = write_skill(stored.record, expected=stored.revision)
    return await commit([unchanged, *await write_similarity_record(sketch)]) is not None


def _unpack(archive: bytes, workspace: Path) -> Path:
    packed, folder = workspace / "version.tar.gz", workspace / "skill"
    packed.write_bytes(archive)
    unpack(packed, folder)
    return folder
