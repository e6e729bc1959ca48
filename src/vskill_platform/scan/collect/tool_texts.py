"""Read descriptions of tools that a program offers to an agent, as instructions.

An agent sees the description of each tool, so its words count as much as those in SKILL.md.
"""

import re
from collections.abc import Iterator
from itertools import islice

_MAX_TOOLS = 200
_MAX_TEXT = 20_000
_OFFER = re.compile(r"^[ \t]{0,40}@[\w.]{0,60}\b(?:tool|prompt|resource)\b", re.MULTILINE)
_DESCRIPTION = re.compile(
    r"[^\n]{0,300}\n(?:[ \t]{0,40}@[^\n]{0,300}\n){0,8}"
    r"[ \t]{0,40}(?:async[ \t]+)?def[ \t]+\w{1,200}\([^\n]{0,500}(?:\n[^\n]{0,300}){0,30}?"
    r":[ \t]{0,9}\n\s{0,200}[rRuU]?(\"\"\"|''')"
)


def tool_texts(code: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each tool description in Python code."""
    if "@" not in code:
        return
    for offer in islice(_OFFER.finditer(code), _MAX_TOOLS):
        found = _DESCRIPTION.match(code, offer.end())
        if found:
            start = found.end()
            end = code.find(found[1], start, start + _MAX_TEXT)
            text = code[start : end if end >= 0 else start + _MAX_TEXT]
            yield code.count("\n", 0, start) + 1, text
