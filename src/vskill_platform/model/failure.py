"""Failures that prevented a check from completing, as opposed to findings."""

from collections.abc import Iterable

from vskill_platform.model.verdict import BLOCKING, Finding, FindingKind, Report, Severity, score

#: The scanner's name in a report without a verdict.
NO_SCANNER = "none"
#: Findings that explain the submission's state to programs; pages show the state instead.
BLOCKED, WITHDRAWN, REVIEWED = "RUN-BLOCKED", "RUN-WITHDRAWN", "RUN-REVIEW"
_NOTES = frozenset({BLOCKED, WITHDRAWN, REVIEWED})
_TITLES = {
    "RUN-SOURCE": "The source could not be fetched",
    "RUN-TIMEOUT": "The check took too long",
    "RUN-SCANNER": "The scanner failed",
    "RUN-JUDGE": "The judge did not respond",
    "RUN-EXTERNAL": "A third-party scanner returned no result",
    "RUN-BUDGET": "The judge's daily budget is used up",
    "RUN-DATABASE": "The database failed",
    "RUN-NAME": "The name is already taken",
    "RUN-NAMESPACE": "The namespace was deleted",
    "RUN-STUCK": "The check never finished",
    "RUN-INTERNAL": "Internal error",
}
_INVALID = frozenset({FindingKind.UNVERIFIED, FindingKind.QUALITY})
_TITLES_OF_FORM = {"MAN": "SKILL.md is not valid", "LIM": "The skill exceeds a limit"}


def is_failure(finding: Finding) -> bool:
    """Return whether a check could not run, did not finish, or had no input.

    An invalid manifest counts as one: without it, the rest of the skill has no meaning.
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
    """Return the score of the findings; None if a failure prevented the check from completing."""
    return None if failures_in(findings) else score(findings)


def score_in(report: Report) -> int | None:
    """Return the score of a report; None if a failure prevented it.

    Older releases stored 0 for a check that never ran.
    """
    was_checked = report.scanner != NO_SCANNER and not failures_in(report.findings)
    return report.score if was_checked else None
