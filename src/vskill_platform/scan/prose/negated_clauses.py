"""Whether the clause around a single word is negated, in any language.

Patterns that match a whole sentence use negations.py: for them, a negation this far away may belong
to something else.
"""

import re
from functools import cache
from typing import Any, NamedTuple

import re2

from vskill_platform.scan.facts.data_files import load_data

#: How far before and after the word its clause is read.
_BEFORE, _BEHIND = 60, 40
_CLAUSE_END = re.compile(r"[.,;:!?\n。，、；：！？]|\s[–—-]\s")  # noqa: RUF001 - other scripts


def is_in_negated_clause(text: str, start: int, end: int) -> bool:
    """Return whether a negation in the clause of the word from *start* to *end* applies to it.

    "Do not forget to …" and "not only" are not negations.
    """
    patterns = _patterns()
    before = _CLAUSE_END.split(text[max(start - _BEFORE, 0) : start])[-1]
    if patterns.undone.search(before):
        return False
    if patterns.before.search(before) or patterns.ending.match(text[end : end + _BEHIND]):
        return True
    behind = _CLAUSE_END.split(text[end : end + _BEHIND])[0]
    return any(map(patterns.behind.match, (behind, text[start:end])))


class _Patterns(NamedTuple):
    before: Any
    #: The ending of the word itself.
    ending: Any
    behind: Any
    #: Verbs that make an order of a negation: "never omit".
    undone: Any


@cache
def _patterns() -> _Patterns:
    negation = load_data("concepts.toml")["negation"]
    return _Patterns(
        before=re2.compile(f"(?i){negation['before']}"),
        ending=re.compile(f"(?i){negation['ending']}"),
        behind=re.compile(f"(?i){negation['behind']}"),
        undone=re2.compile(f"(?i){negation['undone']}"),
    )
