"""A policy said in words, so that whoever wrote it sees what it means."""

from datetime import date

from vskill_platform.model.policy import (
    KindThresholds,
    Level,
    Limits,
    Namespace,
    Policy,
    Suppression,
    Thresholds,
    Trust,
)
from vskill_platform.model.scanner import OnFail, ScannerRule
from vskill_platform.model.verdict import FindingKind

_LIMITS = {
    "submissions_per_day": "skills a publisher may send in on a day",
    "max_files": "files in a skill",
    "max_file_bytes": "bytes in a file",
    "max_total_bytes": "bytes in a skill",
}


def describe_policy(found: Policy, today: date) -> list[str]:
    """Return what a policy means, one sentence a line."""
    lines = _decisions(found)
    lines += [_scanner_sentence(rule) for rule in found.scanners]
    for namespace in found.namespaces:
        lines += ["", *_namespace(namespace, found)]
    lines += [] if found.suppressions else ["It suppresses nothing."]
    return lines + [line for item in found.suppressions for line in ("", *_sentences(item, today))]


def _decisions(found: Policy) -> list[str]:
    own = "may" if found.review.own else "may not"
    return [
        *_thresholds(found.thresholds),
        _trust(found.trust),
        *_limits(found.limits),
        f"A reviewer {own} approve what they have submitted themselves.",
    ]


def _namespace(namespace: Namespace, everywhere: Policy) -> list[str]:
    first = namespace.match.partition("/")[0]
    is_plain = not first.startswith("@") and not any(mark in first for mark in (".", ":", "**"))
    where = " (on github.com)" if is_plain else ""
    usual = set(_decisions(everywhere))
    other = [line for line in _decisions(namespace.policy) if line not in usual]
    head = (
        f"For {namespace.match}{where} it is otherwise:"
        if other
        else (f"For {namespace.match}{where} nothing is otherwise.")
    )
    return [head, *(f"  {line}" for line in other)]


def _thresholds(thresholds: Thresholds) -> list[str]:
    lines = [f"Findings: {_levels(thresholds.review_at, thresholds.reject_at)}."]
    if thresholds.two_grave_reject:
        lines.append("Two malicious findings of different rules that are high reject together.")
    else:
        lines.append("Two malicious findings that are high do not reject together.")
    for kind in FindingKind:
        own = getattr(thresholds, kind, None)
        if isinstance(own, KindThresholds) and own != KindThresholds():
            levels = thresholds.levels(kind)
            lines.append(
                f"Findings that are {kind}: {_levels(levels.review_at, levels.reject_at)}."
            )
    return lines


def _levels(review_at: Level, reject_at: Level) -> str:
    review = (
        "none waits for a person"
        if review_at is Level.NEVER
        else (f"from {review_at} on a person decides")
    )
    reject = "none rejects" if reject_at is Level.NEVER else f"from {reject_at} on it is rejected"
    return f"{review}, {reject}"


def _trust(trust: Trust) -> str:
    if not trust.publishers:
        return "Nobody is trusted."
    kinds = " or ".join(trust.kinds) or "nothing"
    return (
        f"Trusted: {', '.join(trust.publishers)}. Of theirs, findings that are {kinds} up to "
        f"{trust.up_to} only inform; every skill is still checked."
    )


def _limits(limits: Limits) -> list[str]:
    return [
        f"At most {getattr(limits, name):,} {what}."
        for name, what in _LIMITS.items()
        if getattr(limits, name) is not None
    ]


def _scanner_sentence(rule: ScannerRule) -> str:
    if not rule.required:
        return f"The scanner {rule.name} is asked and only informs."
    then = "is rejected" if rule.on_fail is OnFail.REJECT else "waits for a person"
    return f"The scanner {rule.name} must pass before publication; a skill that it fails {then}."


def _sentences(item: Suppression, today: date) -> list[str]:
    where = f"{item.rule} in {item.path} of {_whose(item)}"
    if item.is_expired(today):
        head = f"EXPIRED: {where} counts again, since {item.expires} has passed."
    else:
        days = (item.expires - today).days
        left = "today is the last day" if not days else f"{days} more days"
        head = f"{where} is shown but does not count, until {item.expires} ({left})."
    return [head, f"  Reason: {item.reason}"]


def _whose(item: Suppression) -> str:
    return "every skill" if item.skill == "**" else f"skills that match {item.skill}"
