"""Read modelines: comments with settings that an editor applies when it opens the file.

Some settings are expressions, and an expression can run a command.
"""

import re
from collections.abc import Iterator

import msgspec

from vskill_platform.scan.any_language.read_any_text import read_any_text
from vskill_platform.scan.facts.facts import Fact

#: Editors look for modelines in a few lines at both ends of a file.
_LINES = 60
_MARKS = ("vim:", "vi:", "ex:", "-*-", "Local Variables:", "eval:")
_MODELINE = re.compile(
    r"(?:^|\s)(?:vim?|ex):\s{0,4}(?P<vim>\S[^\n]{0,1000})"
    r"|-\*-(?P<emacs>[^\n]{0,1000}?)-\*-"
    r"|^\W{0,8}eval:\s{0,4}(?P<variable>\([^\n]{0,1000})"
)
#: Commands of vim that run a command of the shell.
_SHELL_ESCAPE = re.compile(r"\b(?:execute|call|silent)\b\W{0,4}!\s?")
_ESCAPED = re.compile(r"\\([ :|\\])")


def modeline_facts(text: str) -> Iterator[Fact]:
    """Yield what the modelines of a text run."""
    head = text.split("\n", _LINES)
    tail = head.pop().rsplit("\n", _LINES) if len(head) > _LINES else []
    ends = "\n".join([*head, *tail[-_LINES:]])
    if not any(mark in ends for mark in _MARKS):
        return
    lines = text.split("\n")
    numbers = sorted({*range(len(lines))[:_LINES], *range(len(lines))[-_LINES:]})
    for number in numbers:
        found = _MODELINE.search(lines[number])
        if found and "(" in found[0]:
            setting = next(part for part in found.groups() if part is not None)
            code = _SHELL_ESCAPE.sub('system("', _ESCAPED.sub(r"\1", setting))
            for fact in read_any_text(code, is_code=True):
                yield msgspec.structs.replace(fact, line=number + 1)
