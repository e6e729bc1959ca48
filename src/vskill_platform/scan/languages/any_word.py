"""Check in one pass whether a text contains any of many words, and so has to be parsed."""

import re
from collections.abc import Iterable

import re2


class AnyWord:
    def __init__(self, *words: str, patterns: Iterable[str] = ()) -> None:
        self._pattern = re2.compile("|".join([*map(re.escape, words), *patterns]).encode())

    def is_in(self, text: str) -> bool:
        raw = text.encode(errors="replace")  # strings in code may contain lone surrogates
        return self._pattern.search(raw) is not None
