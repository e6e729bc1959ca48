"""Read the records that the search index needs: map changed keys to skills and submissions."""

from collections.abc import Collection, Iterable

import msgspec

from vskill_platform.catalogue.query import DownSkill
from vskill_platform.catalogue.write_skills import SkillChanges, SkillFacts
from vskill_platform.catalogue.write_submissions import SubmissionChanges, SubmissionFacts
from vskill_platform.model.failure import NO_SCANNER
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill, TakenDown
from vskill_platform.publish.versions.trust_of_skill import trust_of_skills
from vskill_platform.stores.install_store import read_installs, slug_of_installs_key
from vskill_platform.stores.scan_store import (
    ReportMark,
    read_report_marks,
    submission_of_report_key,
)
from vskill_platform.stores.skill_store import read_skills, read_version_marks, slug_of_key
from vskill_platform.stores.submission_store import (
    event_of_key,
    read_events,
    read_submissions,
    submission_of_key,
)


class Concerned(msgspec.Struct, frozen=True):
    """The skills, submissions and events that changed keys belong to."""

    slugs: set[str] = msgspec.field(default_factory=set)
    submission_ids: set[str] = msgspec.field(default_factory=set)
    events: set[tuple[str, int]] = msgspec.field(default_factory=set)
    #: Submissions with new scan results, which may change the trust score of a skill.
    evidence: set[str] = msgspec.field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.slugs or self.submission_ids or self.events or self.evidence)


def sort_out(keys: Iterable[str]) -> Concerned:
    """Map changed keys to what they belong to; most keys are not indexed."""
    found = Concerned()
    for key in keys:
        if (slug := slug_of_key(key) or slug_of_installs_key(key)) is not None:
            found.slugs.add(slug)
        elif (submission_id := submission_of_key(key)) is not None:
            found.submission_ids.add(submission_id)
        elif (event := event_of_key(key)) is not None:
            found.events.add(event)
            found.evidence.add(event[0])
        elif (submission_id := submission_of_report_key(key)) is not None:
            found.submission_ids.add(submission_id)
            found.evidence.add(submission_id)
    return found


async def read_skill_changes(slugs: Collection[str]) -> SkillChanges:
    """Read these skills with their installs, reports and other evidence, all at once."""
    found = await read_skills(list(slugs))
    # By key, so that a damaged record cannot replace another.
    skills = [msgspec.structs.replace(skill, slug=slug) for slug, skill in found.items()]
    listed = [skill for skill in skills if skill.down is None]
    numbers = {skill.slug: skill.offered for skill in listed}
    latest = await read_version_marks({slug: n for slug, n in numbers.items() if n is not None})
    trusts = await trust_of_skills(listed, latest)
    installs = await read_installs([skill.slug for skill in listed])
    down = {skill.slug: _down(skill, skill.down) for skill in skills if skill.down}
    return SkillChanges(
        listed=[
            SkillFacts(
                skill=skill,
                trust=trusts[skill.slug],
                updated_at=latest[skill.slug].published_at
                if skill.slug in latest
                else skill.published_at,
                installs=installs[skill.slug].total if skill.slug in installs else 0,
            )
            for skill in listed
            if skill.slug in trusts
        ],
        down=list(down.values()),
        gone=[slug for slug in slugs if slug not in trusts and slug not in down],
    )


async def read_submission_changes(
    submission_ids: Collection[str], events: Collection[tuple[str, int]]
) -> SubmissionChanges:
    submissions = await read_submissions(list(submission_ids))
    reports = await read_report_marks(list(submissions))
    found = await read_events(list(events))
    return SubmissionChanges(
        submissions=[
            SubmissionFacts(
                msgspec.structs.replace(submission, id=submission_id),
                _score(reports.get(submission_id)),
            )
            for submission_id, submission in submissions.items()
        ],
        events=[
            msgspec.structs.replace(event, submission_id=submission_id, number=number)
            for (submission_id, number), event in found.items()
        ],
        gone_events=[event for event in events if event not in found],
        gone=[known for known in submission_ids if known not in submissions],
    )


def _score(report: ReportMark | None) -> int | None:
    return None if report is None or report.scanner == NO_SCANNER else report.score


def _down(skill: PublishedSkill, down: TakenDown) -> DownSkill:
    return DownSkill(
        slug=skill.slug,
        name=skill.name,
        namespace=namespace_of_skill(skill),
        reason=down.reason,
        at=down.at,
        is_private=skill.is_private,
    )
