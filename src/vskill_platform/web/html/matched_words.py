"""Mark the words in a text that a search matched."""

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from vskill_platform.base.show_text import show
from vskill_platform.catalogue.words import singular, words_of
from vskill_platform.web.html.safe_markdown import mark_spelled_out

_WORD = re.compile(r"[^\W_]+")
#: Shorter words of a query are marked only as whole words.
_INSIDE = 3


def mark_words(text: str, words: Sequence[str], limit: int = 0) -> Markup:
    """Escape untrusted text like the filter `shown`, and mark the words of a query in it."""
    plain = show(text, limit=limit)
    pieces, at = [], 0
    for found in _WORD.finditer(plain) if words else ():
        if _is_matched(found[0], words):
            pieces += [str(escape(plain[at : found.start()])), _marked(found[0])]
            at = found.end()
    pieces.append(str(escape(plain[at:])))
    return Markup(mark_spelled_out("".join(pieces)))  # noqa: S704 - escaped


def _marked(word: str) -> str:
    return f'<mark class="hit">{escape(word)}</mark>'


def _is_matched(shown: str, words: Sequence[str]) -> bool:
    return any(
        singular(one) == singular(word) or (len(word) >= _INSIDE and word in one)
        for one in words_of(shown)
        for word in words
    )
