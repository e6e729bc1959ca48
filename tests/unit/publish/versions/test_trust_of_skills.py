"""The trust of many skills, computed together, equals that of each alone."""

from typing import Any

import msgspec

from tests.casts import a_published_skill, a_submission
from tests.clocks import NOON
from tests.probes import ProbingEngine
from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.model.skill import SkillVersion
from vskill_platform.model.submission import (
    Cause,
    StateEvent,
    SubmissionState,
    move,
    open_submission,
)
from vskill_platform.model.verdict import Report, Verdict
from vskill_platform.publish.versions.trust_of_skill import (
    find_reviewer,
    trust_of_skill,
    trust_of_skills,
)
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.submission_store import write_beginning, write_submission
from vskill_platform.stores.version_store import read_version_marks, write_version

CAUSE = Cause(trigger="test", actor="ada", reason="because")
_S = SubmissionState


def records(number: int, verdict: Verdict, *way: SubmissionState) -> list[Operation]:
    submission, first = open_submission(a_submission(submission_id=f"sub_{number}"), CAUSE)
    events = []
    for state in way:
        submission, event = move(submission, state, CAUSE, now=NOON)
        events.append(event)
    version = SkillVersion(
        slug=f"a/b/{number}", number=1, version="1.0.0", digest="0" * 64, files=(),
        archive_sha256="0" * 64, commit_sha="a" * 40 if number % 2 else None,
        submission_id=submission.id, published_at=NOON,
    )  # fmt: skip
    report = Report(
        submission_id=submission.id, verdict=verdict, findings=(), digest="0" * 64,
        scanner="test", checked_at=NOON, duration_seconds=0,
    )  # fmt: skip
    return [
        *write_beginning(submission, first),
        *write_submission(submission, events, expected=ABSENT),
        *write_version(version, b""),
        write_report(report),
    ]


async def test_it_is_that_of_each_and_read_at_once(bound: WorkerEnv) -> None:
    reviewed = (_S.TIER1_SCANNING, _S.NEEDS_REVIEW, _S.PUBLISHED)
    passed = (_S.TIER1_SCANNING, _S.AUTO_APPROVED, _S.PUBLISHED)
    for number, (verdict, way) in enumerate(
        [(Verdict.PASS, passed), (Verdict.REVIEW, reviewed), (Verdict.BLOCK, passed)]
    ):
        assert await bound.engine.commit(records(number, verdict, *way)) is not None
    skills = [
        a_published_skill(f"a/b/{number}", submission_id=f"sub_{number}") for number in range(4)
    ]
    latest = await read_version_marks({skill.slug: 1 for skill in skills})
    probe = ProbingEngine(bound.engine)
    probed = WorkerEnv(
        engine=probe, settings=bound.settings, clock=bound.clock, scan_slots=bound.scan_slots
    )

    trusts = await run_with_worker_env(probed, lambda: trust_of_skills(skills, latest))

    assert trusts == {skill.slug: await trust_of_skill(skill) for skill in skills}
    assert probe.kv.most_at_once >= len(skills)
    assert len({trust.score for trust in trusts.values()}) == 3


async def test_an_unreadable_record_is_the_only_one_left_out(
    bound: WorkerEnv, logs: list[Any]
) -> None:
    good = a_published_skill("a/b/good")
    odd = a_published_skill("a/b/odd", published_at=NOON.replace(tzinfo=None))

    assert list(await trust_of_skills([odd, good], {})) == ["a/b/good"]
    assert [event["slug"] for event in logs] == ["a/b/odd"]


_VERSION = SkillVersion(
    slug="a/b/c", number=1, version="1.0.0", digest="0" * 64, files=(), archive_sha256="0" * 64,
    commit_sha=None, submission_id="sub_1", published_at=NOON,
)  # fmt: skip


def an_event(
    number: int, before: SubmissionState, after: SubmissionState, **more: Any
) -> StateEvent:
    given = {"trigger": "review", "actor": "rae", "reason": "fine", "digest": "0" * 64} | more
    return StateEvent(
        submission_id="sub_1", number=number, from_state=before, to_state=after, at=NOON, **given
    )


def test_the_reviewer_of_a_version_is_the_one_who_approved_its_content() -> None:
    approval = an_event(3, _S.NEEDS_REVIEW, _S.PUBLISHED)
    of_other_content = an_event(3, _S.NEEDS_REVIEW, _S.PUBLISHED, digest="1" * 64)

    assert find_reviewer([approval], _VERSION) == "rae"
    assert find_reviewer([of_other_content], _VERSION) is None


def test_an_approval_that_an_older_release_recorded_names_its_reviewer() -> None:
    approval = an_event(3, _S.NEEDS_REVIEW, _S.AUTO_APPROVED)
    publication = an_event(
        4, _S.AUTO_APPROVED, _S.PUBLISHED, trigger="publish", reason="published as a/b/c 1.0.0"
    )

    without_digests = [
        msgspec.structs.replace(event, digest=None) for event in (approval, publication)
    ]

    assert find_reviewer([approval, publication], _VERSION) == "rae"
    assert find_reviewer(without_digests, _VERSION) == "rae"


def test_a_later_rejection_of_the_same_content_takes_the_approval_back() -> None:
    events = [
        an_event(3, _S.NEEDS_REVIEW, _S.PUBLISHED),
        an_event(4, _S.PUBLISHED, _S.NEEDS_REVIEW, trigger="rescan", digest=None),
        an_event(5, _S.NEEDS_REVIEW, _S.REJECTED, actor="cyd"),
    ]

    assert find_reviewer(events, _VERSION) is None


def test_a_machine_that_approves_is_no_reviewer() -> None:
    events = [
        an_event(2, _S.TIER1_SCANNING, _S.AUTO_APPROVED, trigger="check", actor="node-1"),
        an_event(3, _S.AUTO_APPROVED, _S.PUBLISHED, trigger="publish", actor="node-1"),
    ]

    assert find_reviewer(events, _VERSION) is None
    assert [event.approved_by for event in events] == [None, None]
