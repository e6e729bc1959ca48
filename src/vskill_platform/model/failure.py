"""Failures that kept a check from a result, as opposed to findings."""

from collections.abc import Iterable

from vskill_platform.model.verdict import BLOCKING, Finding, FindingKind, Report, Severity, score

#: The scanner's name in a report without a verdict.
NO_SCANNER = "none"
#: Events of the submission, kept in its report for programs; pages show its state instead.
BLOCKED, WITHDRAWN, REVIEWED = "RUN-BLOCKED", "RUN-WITHDRAWN", "RUN-REVIEW"
_NOTES = frozenset({BLOCKED, WITHDRAWN, REVIEWED})
_TITLES = {
    "RUN-SOURCE": "The source could not be fetched",
    "RUN-TIMEOUT": "The check took too long",
    "RUN-SCANNER": "The scanner failed",
    "RUN-JUDGE": "The judge gave no answer",
    "RUN-EXTERNAL": "A third-party scanner gave no result",
    "RUN-BUDGET": "The judge's daily budget is spent",
    "RUN-DATABASE": "The database failed",
    "RUN-NAME": "The name is already taken",
    "RUN-STUCK": "The check never finished",
    "RUN-INTERNAL": "Internal error",
}
_INVALID = frozenset({FindingKind.UNVERIFIED, FindingKind.QUALITY})
_TITLES_OF_FORM = {"MAN": "SKILL.md is not valid", "LIM": "The skill exceeds a limit"}


def is_failure(finding: Finding) -> bool:
    """Tell whether it means that a check could not be made or finished, or had no input.

    An unusable manifest is one of these: the rest of the skill has no meaning without it.
    """
    if finding.rule in _NOTES:
        return False
    if finding.rule.startswith("RUN-"):
        return finding.severity is not Severity.INFO
    return finding.severity in BLOCKING and finding.kind in _INVALID


def failures_in(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if is_failure(finding))


def results_in(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings about the files of the skill."""
    return tuple(
        finding for finding in findings if not is_failure(finding) and finding.rule not in _NOTES
    )


def failure_title(finding: Finding) -> str:
    prefix = finding.rule.partition("-")[0]
    return _TITLES.get(finding.rule) or _TITLES_OF_FORM.get(prefix) or "The check failed"


def score_of(findings: tuple[Finding, ...]) -> int | None:
    """Return the score of the findings; None if a failure kept the check from a result."""
    return None if failures_in(findings) else score(findings)


def score_in(report: Report) -> int | None:
    """Return the score; None if a failure means that there is none.

    Older releases wrote 0 for a check that was never made.
    """
    was_checked = report.scanner != NO_SCANNER and not failures_in(report.findings)
    return report.score if was_checked else None
