"""Collect the evidence for the trust score of a skill."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from vskill_platform.base.telemetry import get_logger
from vskill_platform.model.judgement import Opinion
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.model.submission import StateEvent, SubmissionState
from vskill_platform.model.trust import Evidence, TrustScore, derive_trust
from vskill_platform.model.verdict import Report
from vskill_platform.stores.db import get_now
from vskill_platform.stores.scan_store import ReportMark, get_report_on, read_report_marks_on
from vskill_platform.stores.submission_store import get_histories, get_history
from vskill_platform.stores.version_store import VersionMark, get_version

log = get_logger(__name__)

_REJECTION = (SubmissionState.NEEDS_REVIEW, SubmissionState.REJECTED)


async def trust_of_skill(skill: PublishedSkill) -> TrustScore:
    """Compute the trust score of the latest version from current data."""
    latest = await get_version(skill.slug, skill.latest_number) if skill.latest_number else None
    report = await get_report_on(skill.submission_id, latest.digest) if latest else None
    history = await get_history(skill.submission_id)
    return derive_trust(_evidence(skill, latest, report, history))


async def evidence_of_version(
    skill: PublishedSkill, version: SkillVersion, report: Report | None
) -> Evidence:
    """Return the evidence about one version, which may not be the latest."""
    history = await get_history(version.submission_id)
    return _evidence(skill, version, report, history)


async def trust_of_skills(
    skills: Sequence[PublishedSkill], latest: Mapping[str, VersionMark]
) -> dict[str, TrustScore]:
    """Compute the trust scores of many skills, by slug; *latest* contains the version of each.

    A skill whose records cannot be read is skipped and logged, so that it does not affect the
    others.
    """
    submission_ids = list({skill.submission_id for skill in skills})
    offered = {
        skill.slug: (skill.submission_id, latest[skill.slug].digest)
        for skill in skills
        if skill.slug in latest
    }
    reports = await read_report_marks_on(set(offered.values()))
    histories = await get_histories(submission_ids)
    trusts = {}
    for skill in skills:
        report = reports.get(offered[skill.slug]) if skill.slug in offered else None
        history = histories[skill.submission_id]
        try:
            trusts[skill.slug] = derive_trust(
                _evidence(skill, latest.get(skill.slug), report, history)
            )
        except (ArithmeticError, TypeError, ValueError) as error:
            log.warning("trust not computed", slug=skill.slug, error=str(error))
    return trusts


def find_reviewer(history: Sequence[StateEvent], version: SkillVersion | VersionMark) -> str | None:
    """Return who approved exactly this content; None if no one did, or it was rejected since.

    The order of the events decides, not their times, because clocks differ and jump.
    """
    events = sorted(history, key=lambda event: event.number)
    following = [*events[1:], None]
    for event, after in reversed(list(zip(events, following, strict=False))):
        is_rejection = (event.from_state, event.to_state) == _REJECTION
        if (event.approved_by or is_rejection) and _is_about(event, after, version):
            return event.approved_by
    return None


def _is_about(
    event: StateEvent, after: StateEvent | None, version: SkillVersion | VersionMark
) -> bool:
    """Return whether a decision is about this content.

    Older releases did not store the digest of the content; for them, the next publication has the
    version.
    """
    if event.digest is not None:
        return event.digest == version.digest
    if after is None or after.to_state is not SubmissionState.PUBLISHED:
        return False
    return after.reason.removesuffix(" (yanked)").endswith(f" {version.version}")


def _evidence(
    skill: PublishedSkill,
    latest: SkillVersion | VersionMark | None,
    report: Report | ReportMark | None,
    history: Sequence[StateEvent],
) -> Evidence:
    judgement = report.judgement if report else None
    return Evidence(
        is_down=skill.down is not None,
        verdict=report.verdict if report else None,
        agreement=judgement.confidence
        if judgement and judgement.opinion is Opinion.PUBLISH
        else 0.0,
        approved_by=find_reviewer(history, latest) if report and latest else None,
        has_provenance=bool(latest and latest.commit_sha),
        published_for=max(get_now() - skill.published_at, timedelta(0)),
        yanked=len(skill.yanked),
    )
