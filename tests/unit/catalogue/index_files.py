"""Skills and submissions for a catalogue to find, written as records the way the platform does."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from tests.casts import a_published_skill, a_submission
from tests.clocks import NOON
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import SkillQuery, SkillResults
from vskill_platform.engines.operations import ABSENT, Delete, Operation, Put
from vskill_platform.model.skill import Capabilities, PublishedSkill, SkillVersion, TakenDown
from vskill_platform.model.submission import StateEvent, Submission, SubmissionState
from vskill_platform.model.verdict import Report, Verdict
from vskill_platform.stores.db import bound_env, commit
from vskill_platform.stores.records import encode
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.stores.submission_store import get_submission, write_submission
from vskill_platform.stores.version_store import write_version

TAKEN_DOWN = TakenDown(reason="it steals", by="cyd", at=NOON)


async def committed(operations: Sequence[Operation]) -> int:
    revision = await commit(operations)
    assert revision is not None
    return revision


def a_version(
    skill: PublishedSkill,
    *,
    published_at: datetime | None = None,
    capabilities: Capabilities | None = None,
) -> SkillVersion:
    return SkillVersion(
        slug=skill.slug,
        number=skill.versions,
        version=skill.version or "1.0.0",
        digest=skill.digest,
        files=(),
        archive_sha256="0" * 64,
        commit_sha="a" * 40,
        submission_id=skill.submission_id,
        published_at=published_at or skill.published_at,
        capabilities=capabilities,
    )


def a_report(skill: PublishedSkill, **fields: Any) -> Report:
    values: dict[str, Any] = {
        "submission_id": skill.submission_id,
        "verdict": Verdict.PASS,
        "findings": (),
        "digest": skill.digest,
        "scanner": "test",
        "checked_at": NOON,
        "duration_seconds": 0.1,
    }
    return Report(**{**values, **fields})


async def published(
    slug: str,
    *,
    updated_at: datetime | None = None,
    capabilities: Capabilities | None = None,
    **fields: Any,
) -> int:
    """Publish a skill; the same slug again replaces it."""
    fields.setdefault("submission_id", f"sub_of_{slug.replace('/', '_')}")
    fields.setdefault("publisher", "github.com/" + slug.split("/", maxsplit=1)[0])
    fields.setdefault("repo_url", f"https://github.com/{slug.rpartition('/')[0]}")
    skill = a_published_skill(slug, **fields)
    known = await get_skill(slug)
    operations = [
        write_skill(skill, expected=known.revision if known else ABSENT),
        write_report(a_report(skill)),
    ]
    if known is None:
        version = a_version(skill, published_at=updated_at, capabilities=capabilities)
        operations += write_version(version, b"archive")
    return await committed(operations)


async def changed(slug: str, **fields: Any) -> int:
    """Change some fields of a published skill."""
    stored = await get_skill(slug)
    assert stored
    skill = msgspec.structs.replace(stored.record, **fields)
    return await committed([write_skill(skill, expected=stored.revision)])


async def deleted(slug: str) -> int:
    return await committed([Delete(f"skill:{slug}")])


async def submitted(submission_id: str, **fields: Any) -> int:
    """Store a submission as it is now; the same id again replaces it."""
    known = await get_submission(submission_id)
    submission = a_submission(submission_id=submission_id, **fields)
    return await committed(
        write_submission(submission, [], expected=known.revision if known else ABSENT)
    )


def an_event(
    submission: Submission | str, number: int, to_state: SubmissionState, **fields: Any
) -> Operation:
    values: dict[str, Any] = {
        "submission_id": submission if isinstance(submission, str) else submission.id,
        "number": number,
        "from_state": None,
        "to_state": to_state,
        "trigger": "test",
        "actor": "ada",
        "reason": "because",
        "at": NOON,
    }
    event = StateEvent(**{**values, **fields})
    key = f"hist:{event.submission_id}:{event.number:06}"
    return Put(key, encode(event), expected=ABSENT)


async def current(catalogue: Catalogue) -> Catalogue:
    """Wait until the catalogue has all that was committed until now."""
    assert await catalogue.wait_until(
        await bound_env().engine.revision(), within=timedelta(minutes=1)
    )
    return catalogue


async def found(catalogue: Catalogue, text: str = "", **fields: Any) -> list[str]:
    """Return the slugs that a search finds, with all that was committed until now."""
    return slugs(await results(catalogue, text, **fields))


async def results(catalogue: Catalogue, text: str = "", **fields: Any) -> SkillResults:
    await current(catalogue)
    return await catalogue.search_skills(SkillQuery(text=text, **fields))


def slugs(found: SkillResults) -> list[str]:
    return [hit.slug for hit in found.hits]
