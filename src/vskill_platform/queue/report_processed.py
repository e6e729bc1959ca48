"""Report a processed submission to metrics, traces and the log."""

from vskill_platform.base.metrics import count_submission, observe_stage
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.base.telemetry import get_logger
from vskill_platform.base.tracing import record_span
from vskill_platform.model.submission import Submission

log = get_logger(__name__)


def start_stopwatch(submission_id: str) -> Stopwatch:
    """Return a stopwatch whose laps are the stages of this submission."""

    def end_stage(stage: str, seconds: float) -> None:
        observe_stage(stage, seconds)
        record_span(submission_id, stage, seconds)

    return Stopwatch(end_stage)


def report_processed(submission: Submission, stopwatch: Stopwatch) -> None:
    """Report a submission whose new state is stored."""
    state, why = submission.state, submission.reason
    count_submission(state)
    record_span(submission.id, "process", stopwatch.total_seconds, state=state)
    log.info(
        "submission processed", submission=submission.id, state=state, why=why, **stopwatch.laps
    )
