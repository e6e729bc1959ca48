"""Describe a policy as text, one sentence per line."""

from datetime import date

from vskill_platform.model.policy import (
    KindThresholds,
    Level,
    NamespacePolicy,
    Policy,
    PolicyLimits,
    Suppression,
    Thresholds,
    Trust,
)
from vskill_platform.model.scanner import OnFail, ScannerRule
from vskill_platform.model.verdict import FindingKind

_LIMITS = {
    "submissions_per_day": "submissions per publisher and day",
    "max_files": "files per skill",
    "max_file_bytes": "bytes per file",
    "max_total_bytes": "bytes per skill",
}


def describe_policy(found: Policy, today: date) -> list[str]:
    """Describe a policy, one sentence per line."""
    lines = _decisions(found)
    lines += [_scanner_sentence(rule) for rule in found.scanners]
    for namespace in found.namespaces:
        lines += ["", *_namespace(namespace, found)]
    lines += [] if found.suppressions else ["There are no suppressions."]
    return lines + [line for item in found.suppressions for line in ("", *_sentences(item, today))]


def _decisions(found: Policy) -> list[str]:
    own = "may" if found.review.own else "may not"
    return [
        *_thresholds(found.thresholds),
        _trust(found.trust),
        *_limits(found.limits),
        f"A reviewer {own} approve their own submissions.",
    ]


def _namespace(namespace: NamespacePolicy, everywhere: Policy) -> list[str]:
    first = namespace.match.partition("/")[0]
    is_plain = not first.startswith("@") and not any(mark in first for mark in (".", ":", "**"))
    where = " (on github.com)" if is_plain else ""
    usual = set(_decisions(everywhere))
    other = [line for line in _decisions(namespace.policy) if line not in usual]
    head = (
        f"Different rules for {namespace.match}{where}:"
        if other
        else (f"No different rules for {namespace.match}{where}.")
    )
    return [head, *(f"  {line}" for line in other)]


def _thresholds(thresholds: Thresholds) -> list[str]:
    lines = [f"Findings: {_levels(thresholds.review_at, thresholds.reject_at)}."]
    if thresholds.two_grave_reject:
        lines.append("Two high-severity malicious findings from different rules cause a rejection.")
    else:
        lines.append("Two high-severity malicious findings do not cause a rejection.")
    for kind in FindingKind:
        own = getattr(thresholds, kind, None)
        if isinstance(own, KindThresholds) and own != KindThresholds():
            levels = thresholds.levels(kind)
            lines.append(
                f"{kind.capitalize()} findings: {_levels(levels.review_at, levels.reject_at)}."
            )
    return lines


def _levels(review_at: Level, reject_at: Level) -> str:
    review = (
        "no finding requires review"
        if review_at is Level.NEVER
        else f"{review_at} and above require review"
    )
    reject = (
        "no finding causes a rejection"
        if reject_at is Level.NEVER
        else f"{reject_at} and above cause a rejection"
    )
    return f"{review}; {reject}"


def _trust(trust: Trust) -> str:
    if not trust.publishers:
        return "No publisher is exempt from review."
    kinds = " or ".join(trust.kinds)
    ignored = (
        f"Their {kinds} findings up to {trust.up_to} do not require a review. " if kinds else ""
    )
    return (
        f"Publishers exempt from review: {', '.join(trust.publishers)}. "
        f"{ignored}All their skills are still checked."
    )


def _limits(limits: PolicyLimits) -> list[str]:
    return [
        f"At most {getattr(limits, name):,} {what}."
        for name, what in _LIMITS.items()
        if getattr(limits, name) is not None
    ]


def _scanner_sentence(rule: ScannerRule) -> str:
    if not rule.required:
        return f"The scanner {rule.name} is informational only."
    then = "is rejected" if rule.on_fail is OnFail.REJECT else "needs review"
    return f"The scanner {rule.name} must pass before publication; a skill that fails it {then}."


def _sentences(item: Suppression, today: date) -> list[str]:
    where = f"{item.rule} in {item.path} of {_whose(item)}"
    if item.is_expired(today):
        head = f"EXPIRED: the suppression of {where} expired on {item.expires}."
    else:
        days = (item.expires - today).days
        left = "today is the last day" if not days else f"{days} more days"
        head = f"{where} is suppressed until {item.expires} ({left})."
    return [head, f"  Reason: {item.reason}"]


def _whose(item: Suppression) -> str:
    return "every skill" if item.skill == "**" else f"skills that match {item.skill}"
