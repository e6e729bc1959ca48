"""Leave out the terms of common licences: long texts that are always the same.

One skill in seven of the development corpus has them. Only the exact words are recognised, and
whatever an author adds or changes is read.
"""

import hashlib
import re

_TITLE = re.compile(r"(?:Apache|GNU (?:LESSER )?GENERAL PUBLIC) (?:License|LICENSE)\s+Version \d")
_END = "END OF TERMS AND CONDITIONS"
#: SHA-256 of the terms from the title to the line that ends them, with single spaces.
_KNOWN = frozenset(
    {
        # Apache 2.0, as published and as choosealicense.com has it
        "59d8f0ba87ad9a2f1a431123c8d16646e5b89ba53653e818f16d136d77263c99",
        "a14c5bd2f88659c252bbac195ceb4c19e26f829132b552ffbddd26cb8b41a7d8",
        # GPL 2 and 3, LGPL 2.1
        "5bfd8f37ffefd4e7b151c068431fdd765d2a59d6aa4e86201de6e52a01321a74",
        "bbb427d11e7d5c0092c4154276e7120df2205d13aecfa3f265ef0bc7216fe890",
        "5584c4f0fdf2bf25301fb1987be068d208f02fd4cc2e2161b674a072ec361225",
    }
)  # fmt: skip


def without_license_terms(text: str) -> str:
    """Return a text with the lines of known terms emptied; lines stay lines."""
    end = text.find(_END)
    title = _TITLE.search(text, 0, end) if end >= 0 else None
    if title is None:
        return text
    end += len(_END)
    terms = text[title.start() : end]
    digest = hashlib.sha256(" ".join(terms.split()).encode(errors="replace")).hexdigest()
    if digest not in _KNOWN:
        return text
    return text[: title.start()] + "\n" * terms.count("\n") + text[end:]
