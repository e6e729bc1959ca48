"""Extract the words in code that an agent reads: comments, docstrings, printed strings.

An agent opens the scripts of a skill and sees their output, so it reads an instruction in them like
one in SKILL.md. Strings that are only compared or searched for are left out.
"""

import re
from collections.abc import Iterator

import re2

from vskill_platform.scan.facts.pattern_set import loosened, without_lookaround

#: How many kinds of pieces may be unclosed; beyond that, everything after them counts as words.
_MAX_OPEN = 200
#: Calls that show a string to the user, and names of texts for readers.
_SHOWN = (
    r"(?:\b(?:print\w{0,9}|puts|echo|say|die|exit|abort|warn\w{0,6}|write\w{0,9}|send\w{0,9}|fail|"
    r"raise\s{1,4}\w{1,40}|throw\s{1,4}new\s{1,4}\w{1,40}|Write-(?:Host|Output|Warning|Error)|"
    r"console\.\w{1,9}|log\w{0,9}(?:\.\w{1,12})?|fmt\.\w{1,12}|click\.\w{1,12}|Console\.\w{1,12}|"
    r"System\.out\.\w{1,12}|display\s(?:dialog|notification|alert))\s{0,4}!?\s{0,4}\(?\s{0,40}"
    r"|(?:prompt|instruction|description|message|help|epilog|usage|notice|note|banner|system|"
    r"content|text|task|step)s?[\"']?\s{0,4}[:=]{1,2}>?\s{0,4}\(?\s{0,40})"
)
_OPENING = re.compile(
    r"(?P<triple>\"\"\"|''')|(?P<block>/\*)|^=(?P<pod>begin|pod)\b"
    r"|<<[-~]?[ \t]{0,4}[\"']?(?P<mark>[A-Z_]{2,20})[\"']?[^\n]{0,200}\n"
    rf"|{_SHOWN}[fFrRbBuU$@]{{0,2}}(?P<quote>[\"'`])(?![\"'`])"
    r"|(?:^|(?<=\s))(?:#+!?|//+!?|--|;+|%+|REM\b|rem\b)(?P<line>[ \t]+[^\n]{8,4000})",
    re.MULTILINE,
)
#: Matches wherever the pattern above may match, in a quarter of the time.
#: It is applied to bytes in which `?` replaces every character that is not ASCII.
_MAY_OPEN = re2.compile(
    "(?m)"
    + re.sub(r"\(\?P<\w+>", "(?:", loosened(without_lookaround(_OPENING.pattern)))
    .replace("{8,4000}", "{8}")
    .replace(r"\w", r"[\w?]")
    .replace(r"\s", r"[\s\v\x1c-\x1f?]")
)
_STRINGS = {
    quote: re.compile(rf"((?:[^{quote}\\\n]|\\.){{12,4000}}){quote}") for quote in ('"', "'", "`")
}
#: Prefixes of a line in a block comment.
_STAR = re.compile(r"^[ \t]*\*+(?!\w)[ \t]?", re.MULTILINE)
_ESCAPED_END = re.compile(r"\\[nrt]")


def words_in_code(code: str) -> str:
    """Return the words in *code*, each on its own line of the code; all other lines are empty."""
    lines = [""] * (code.count("\n") + 1)
    at, number = 0, 0
    for start, words in _pieces(code):
        number += code.count("\n", at, start)
        at = start
        for shift, line in enumerate(words.split("\n")):
            lines[number + shift] += f" {line}" if lines[number + shift] else line
    return "\n".join(lines)


def _pieces(code: str) -> Iterator[tuple[int, str]]:
    """Yield the start of each piece of words, and the words."""
    at, unclosed = 0, set[str]()
    raw = code.encode("ascii", errors="replace")
    while candidate := _MAY_OPEN.search(raw, at):
        found = _OPENING.match(code, candidate.start())
        if not found:
            at = candidate.start() + 1
            continue
        at = found.end()
        if found["line"]:
            yield found.start("line"), found["line"]
        elif found["quote"]:
            if string := _STRINGS[found["quote"]].match(code, at):
                at = string.end()
                yield string.start(), _ESCAPED_END.sub(" ", string[1])
        elif (closing := _closing(found)) not in unclosed:
            end = code.find(closing, at)
            if end >= 0:
                yield at, _STAR.sub("", code[at:end])
                at = end + len(closing)
            elif len(unclosed) < _MAX_OPEN:
                unclosed.add(closing)  # each closing mark is searched only once
            else:
                yield at, code[at:]
                return


def _closing(opening: re.Match[str]) -> str:
    if opening["triple"]:
        return opening["triple"]
    if opening["block"]:
        return "*/"
    return f"\n{opening['mark']}" if opening["mark"] else "\n="
