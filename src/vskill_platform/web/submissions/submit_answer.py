"""What came of handing in several skills at once, in a few sentences."""

from collections import Counter

from vskill_platform.intake.submit import SubmitKind
from vskill_platform.intake.submit_set import SubmittedSet
from vskill_platform.web.html.flash import DONE, PROBLEM

_K = SubmitKind
#: So many of those that were not taken are told why.
_MAX_REFUSED = 5
_TAKEN = frozenset({_K.CREATED, _K.REQUEUED})
#: What is said of those that there is nothing new to check of: of one, and of several.
_SKIPPED: dict[SubmitKind, tuple[str, str]] = {
    _K.PENDING: ("was on its way already", "were on their way already"),
    _K.ALREADY_VERIFIED: ("is published as it is", "are published as they are"),
    _K.BLOCKED: ("is on the blocklist", "are on the blocklist"),
}


def refused(submitted: SubmittedSet) -> str:
    """Say why those that were not taken were not; empty if all were."""
    reasons = [
        f"{member.skill.path or member.skill.name}: {member.error}"
        for member in submitted.members
        if member.result is None
    ]
    more = len(reasons) - _MAX_REFUSED
    return "; ".join(reasons[:_MAX_REFUSED]) + (f"; and {more} more" if more > 0 else "")


def what_was_taken(submitted: SubmittedSet) -> tuple[str, str]:
    """Say how many were taken and what was skipped; return the kind of news and the words."""
    kinds = Counter(member.result.kind for member in submitted.members if member.result)
    taken = sum(kinds[kind] for kind in _TAKEN)
    skipped = [
        f"{kinds[kind]} {one if kinds[kind] == 1 else several}"
        for kind, (one, several) in _SKIPPED.items()
        if kinds[kind]
    ]
    of_all = f"of {len(submitted.members)} skills"
    news = f"{taken} {of_all} {'was' if taken == 1 else 'were'} taken and will be checked."
    sentences = [news if taken else f"None {of_all} was taken anew."]
    if skipped:
        sentences.append(f"{', '.join(skipped)}.")
    not_taken = refused(submitted)
    if not_taken:
        sentences.append(f"Not taken: {not_taken}")
    return PROBLEM if not_taken or kinds[_K.BLOCKED] else DONE, " ".join(sentences)
