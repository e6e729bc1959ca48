"""Find all submissions of a skill's source: each ref of a repo has its own submission."""

import asyncio

from vskill_platform.model.namespace import namespace_of, namespace_of_skill
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.model.submission import (
    TERMINAL_STATES,
    StateEvent,
    Submission,
    SubmissionState,
)
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, get_all, list_all_keys
from vskill_platform.stores.skill_store import find_skill, resolve_slug
from vskill_platform.stores.submission_store import HISTORY, SOURCE_PREFIX, get_submission


async def list_submissions_of(url: str, path: str) -> list[Stored[Submission]]:
    """Return the submissions of this folder of this source, with any ref."""
    keys = [f"{SOURCE_PREFIX}{url}#{path}"]
    prefix = f"{SOURCE_PREFIX}{url}?ref="
    # No ref contains a `#`, so the path begins after the first one.
    keys += [
        key for key in await list_all_keys(prefix) if key[len(prefix) :].partition("#")[2] == path
    ]
    owners = await get_all(keys, str)
    found = await asyncio.gather(*(get_submission(owner.record) for owner in owners if owner))
    return [stored for stored in found if stored]


async def list_undecided_of(skill: PublishedSkill) -> list[Stored[Submission]]:
    """Return the undecided submissions of a skill, from every source that publishes it."""
    homes = [(skill.repo_url, skill.skill_path)]
    homes += [
        (home.repo_url, home.skill_path)
        for home in skill.moved_from
        if home.publisher == skill.publisher
    ]
    found = {
        one.record.id: one for url, path in homes for one in await list_submissions_of(url, path)
    }
    undecided = [
        one
        for one in found.values()
        if one.record.state not in TERMINAL_STATES and await _is_of(skill, one.record)
    ]
    latest = await get_submission(skill.submission_id)
    if latest and latest.record.id not in found and is_review_of(skill, latest.record):
        undecided.append(latest)
    return undecided


def is_review_of(skill: PublishedSkill, submission: Submission) -> bool:
    """Return whether this submission is the review of a skill that was taken down.

    If the skill was transferred, its source may be one that no longer publishes it.
    """
    return (
        skill.down is not None
        and submission.state is SubmissionState.NEEDS_REVIEW
        and (submission.id, submission.digest) == (skill.submission_id, skill.digest)
    )


async def get_namespace_of(submission: Submission) -> str:
    """Return the namespace in which a submission would be published."""
    if submission.slug and submission.state is SubmissionState.NEEDS_REVIEW:
        _, stored = await find_skill(submission.slug)
        if stored and is_review_of(stored.record, submission):
            return namespace_of_skill(stored.record)
    return namespace_of(submission.source)


async def _is_of(skill: PublishedSkill, submission: Submission) -> bool:
    """Return False for a submission whose ref contains the skill under another name."""
    return submission.slug is None or await resolve_slug(submission.slug) == skill.slug


async def list_submission_ids_of(url: str, *, limit: int) -> list[str]:
    """Return the ids of some submissions from this source, with any folder and ref."""
    keys: list[str] = []
    for mark in ("#", "?ref="):
        keys += (await get_kv().list_keys(f"{SOURCE_PREFIX}{url}{mark}", limit=limit)).keys
    return [owner.record for owner in await get_all(keys[:limit], str) if owner]


async def list_skills_of(url: str, path: str) -> list[Stored[PublishedSkill]]:
    """Return the skills that were published from this source: one, unless it was renamed."""
    submissions = await list_submissions_of(url, path)
    slugs = sorted({stored.record.slug for stored in submissions if stored.record.slug})
    found = await asyncio.gather(*map(find_skill, slugs))
    skills = {slug: stored for slug, stored in found if stored}
    return [stored for stored in skills.values() if stored.record.accepts(f"{url}#{path}")]


async def describe_other_ref(source: Source) -> str:
    """Describe the ref of the latest version if it is not the ref of this source; "" otherwise."""
    if source.kind is not SourceKind.GIT:
        return ""
    stored = await list_submissions_of(source.url, source.path)
    published = [one.record for one in stored if one.record.slug]
    latest = {skill.record.submission_id for skill in await list_skills_of(source.url, source.path)}
    ordered = sorted(published, key=lambda one: one.id in latest, reverse=True)
    if not ordered or ordered[0].source.ref == source.ref:
        return ""
    ref = ordered[0].source.ref
    return f"the branch or tag {ref!r}" if ref else "the default branch"


async def get_last_submit(submission: Submission) -> Stored[StateEvent] | None:
    """Return the event of the last submit or retry; its revision shows when that was."""
    events = await get_all(await list_all_keys(f"{HISTORY}{submission.id}:"), StateEvent)
    return next((one for one in reversed(events) if one and one.record.is_submit), None)
