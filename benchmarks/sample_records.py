"""Generated submissions and skills, as large as real ones, and the env to read them in."""

from datetime import UTC, datetime, timedelta

from anyio import CapacityLimiter

from vskill_platform.base.clock import SystemClock
from vskill_platform.engines.ports import Engine
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import STUCK_THRESHOLD, Submission, SubmissionState
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.settings import Settings

NOW = datetime.now(UTC)
LONG_AGO = NOW - 3 * STUCK_THRESHOLD
_SKILLS_A_REPO = 20
_DESCRIPTION = (
    "Reads a folder of invoices and writes one table of what is due, to whom and when. "
    "Use it when somebody asks what must be paid this week, or for a reminder of it."
)
_DIGEST = "sha256:" + "5f" * 32


def worker_env(engine: Engine) -> WorkerEnv:
    return WorkerEnv(
        engine=engine, settings=Settings(), clock=SystemClock(), scan_slots=CapacityLimiter(1)
    )


def a_submission(
    number: int, *, state: SubmissionState = SubmissionState.RECEIVED, updated_at: datetime = NOW
) -> Submission:
    source = git_source(_repo_url(number), _skill_path(number))
    created_at = NOW - timedelta(days=30) + timedelta(milliseconds=number)
    return Submission(
        id=f"sub_{int(created_at.timestamp() * 1000):011x}{number:016x}",
        source=source,
        repo_url=source.url,
        skill_name=f"skill-{number}",
        skill_path=source.path,
        state=state,
        submitter="ada",
        created_at=created_at,
        updated_at=updated_at,
        events=5,
        attempts=1,
        reason="no rule objects",
        digest=_DIGEST,
        timings={"fetch": 0.412, "check": 0.018, "publish": 0.003},
    )


def a_skill(number: int) -> PublishedSkill:
    repo_url, path = _repo_url(number), _skill_path(number)
    return PublishedSkill(
        slug=f"owner-{number // _SKILLS_A_REPO:06}/skills/skill-{number}",
        name=f"skill-{number}",
        description=_DESCRIPTION,
        repo_url=repo_url,
        skill_path=path,
        source_key=f"{repo_url}#{path}",
        submission_id=f"sub_{number:027x}",
        version="1.0.3",
        versions=4,
        digest=_DIGEST,
        published_at=NOW,
        checked_at=NOW,
        license="MIT",
    )


def _repo_url(number: int) -> str:
    return f"https://github.com/owner-{number // _SKILLS_A_REPO:06}/skills"


def _skill_path(number: int) -> str:
    return f"skills/skill-{number}"
