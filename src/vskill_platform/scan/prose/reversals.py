"""Recognise what reverses the meaning of words that look like an order."""

import re

import re2

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.prose.negations import is_forbidden, is_negated, is_refused
from vskill_platform.scan.prose.sentences import FOR_USERS

#: "No account required" does not require anything.
_REQUIRED_REACH = 32
_NOT_REQUIRED = re2.compile(r"(?i)\b(?:no|not|without)\s+(?:\w+\s+){0,2}$")
_NEGATABLE = frozenset(
    {
        Act.TELL_OVERRIDE, Act.TELL_DISARM, Act.TELL_LEAK, Act.TELL_SHARE, Act.TELL_SEND,
        Act.TELL_ASK_SECRET, Act.TELL_WIPE, Act.TELL_SHELL, Act.TELL_PAY, Act.TELL_RUN,
        Act.TELL_OBEY, Act.TELL_VOUCH, Act.TELL_IMAGE, Act.TELL_SLANT, Act.TELL_COVER,
        Act.TELL_WEAKEN, Act.TELL_ACCOUNT, Act.TELL_DENY, Act.TELL_POISON, Act.TELL_DEMAND,
        Act.TELL_REMEMBER,
    }
)  # fmt: skip
_HIDING = frozenset({Act.TELL_CONCEAL, Act.TELL_DENY})
#: "Never silently fall back" is the opposite of hiding.
_HIDDEN_WAY = re.compile(r"\w+ly\b")
#: "Never do it without asking" demands to ask. "Never hesitate to do it …" does not, and neither do
#: words about something else in front of it: "do not be shy and do it …".
_CLAUSE_REACH = 100
_WITHOUT = re.compile("(?i)without")
_CLAUSE_END = re.compile(
    r"(?i)[.,;:!?\n–—]| - |\b(?:and|but|then|yet|instead|rather)\b|(?<!do )\bso\b"  # noqa: RUF001 - both are meant
)
_NEVER = re.compile(
    r"(?i)\b(?:never|do not|don['’]t|must not|should not|cannot|can['’]t|avoid)\b"  # noqa: RUF001 - both are meant
)
_UNDONE = re.compile(
    r"(?i)\b(?:hesitat|fear|afraid|forget|fail|wait|bother|stop|paus|refus|refrain|shy|hold|mind"
    r"|worry|neglect|omit|delay|declin|resist)"
)


def says_otherwise(act: Act, text: str, start: int, end: int) -> bool:
    """Return whether the context reverses the meaning of the words."""
    if act in _HIDING and FOR_USERS.match(text, end):
        return True
    if act is Act.TELL_REQUIRED:
        before = text[max(start - _REQUIRED_REACH, 0) : start]
        return text[start:end].lower() == "required" and _NOT_REQUIRED.search(before) is not None
    if act is Act.TELL_UNASKED:
        before = text[max(start - _CLAUSE_REACH, 0) : start]
        return _WITHOUT.match(text, start, end) is not None and _forbids(before)
    is_hidden_way = act is Act.TELL_CONCEAL and _HIDDEN_WAY.match(text, start) is not None
    if not is_hidden_way and act not in _NEGATABLE:
        return False
    is_demand = act is Act.TELL_DEMAND and is_forbidden(text, start, end)
    return is_demand or is_negated(text, start, end) or is_refused(text, start)


def _forbids(before: str) -> bool:
    """Return whether the clause in front of "without asking" forbids what it names."""
    clause = _CLAUSE_END.split(before)[-1]
    return len(_NEVER.findall(clause)) == 1 and not _UNDONE.search(clause)
