"""Addresses that a text gives a name, and uses by that name in another paragraph.

"The collector is at https://…" and, later, "hand them to the collector": no sentence and no passage
contains both parts. Such a text is read a second time with the address in place of its name.
"""

import re
from collections.abc import Iterator
from itertools import islice

import re2

from vskill_platform.scan.facts.addresses import doubtful_addresses

_OPENED = r"[*_`\"'“<(\[]{0,4}"
_IS = "is|lives|sits|runs|listens|resides|answers"
#: Words around an address that may give it a name.
_MAY_NAME = re2.compile(
    rf"(?i)(?:\b(?:{_IS}|found|reached)(?: (?:at|on|under|behind))?:?|[:=：→])"  # noqa: RUF001 - Chinese
    rf"[*_]{{0,2}} ?{_OPENED}(?:[a-z]{{2,6}}://|[\w.+-]+@|[\w-]+\.[\w-])"
    r"|\.[^\s.]{2,60} (?:is (?:the|our) |\((?:the|our|called) |, (?:called|named) )"
)
_NAME = r"(?P<name>[^\W\d_][\w-]{1,30}(?: [^\W\d_][\w-]{1,30}){0,2})"
#: "The collector is at", "Collector:", and the same in Chinese.
_SENTENCE_BEFORE = re.compile(
    rf"(?i)\b(?:the|our|its|my|this) {_NAME} (?:{_IS}|can be found|is found|is reached)"
    rf"(?: (?:at|on|under|behind))?:? ?{_OPENED}$"
)
_LABEL_BEFORE = re.compile(
    rf"^[\s>#*_+\d.|-]*[*_\"'“`]*{_NAME}[*_\"'”`]*\s?[:=：→]\s?{_OPENED}$"  # noqa: RUF001 - Chinese
)
_BEHIND = re.compile(
    rf"(?i)\S*?[)>\]`\"']*(?: is (?:the|our)| \((?:the|our|called)|, (?:called|named)(?: the)?)"
    rf" [\"'“]?{_NAME}"
)
#: Usual labels for the addresses of any project.
_ORDINARY_WORDS = """
    docs documentation homepage website repository repo repository source author license licence
    issues support readme reference references see example examples url link api download version
    note more info blog discord twitter wiki changelog guide tutorial demo email contact mail http
    https package company maintainer schema namespace
"""
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_DETERMINERS = (
    r"(?:the|our|that|this|its|said|an?|al|el|la|los|den|dem|die|der|das|zum|zur|o|ao|au|à|le|il"
    r"|alla|na|do|к|в|на|w)"
)
_THERE = re.compile(
    r"(?i)\b(?P<verb>(?:look|check|read|fetch|ask|post|send|upload|put|deliver|forward|submit|go"
    r"|report|hand)\b[^.!?\n]{0,60}?)\bthere\b"
)
_MAX_LINE, _MAX_NAMES, _MOST = 600, 12, 3
_SHORT = 4


def with_named_addresses(text: str) -> str:
    """Return a text with addresses in place of their names, and with the same line numbers."""
    if not _MAY_NAME.search(text.encode(errors="replace")):
        return text
    lines = text.split("\n")
    named = dict(islice(_named(lines), _MAX_NAMES))
    for name, (address, number) in named.items():
        use = _use_of(name)
        for place, line in enumerate(lines):
            if place != number and len(line) <= _MAX_LINE:
                lines[place] = use.sub(f"{address} ", line)
    if len(named) == 1:
        ((address, number),) = named.values()
        for place, line in enumerate(lines):
            if place != number and len(line) <= _MAX_LINE:
                lines[place] = _THERE.sub(rf"\g<verb>at {address}", line)
    return "\n".join(lines)


def _named(lines: list[str]) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield each name with its address and the line that says so."""
    for number, line in enumerate(lines):
        if len(line) > _MAX_LINE or not _MAY_NAME.search(line.encode(errors="replace")):
            continue
        for start, end, _ in islice(doubtful_addresses(line), _MOST):
            before = line[:start]
            found = (
                _SENTENCE_BEFORE.search(before)
                or _LABEL_BEFORE.match(before)
                or _BEHIND.match(line, end)
            )
            name = found["name"].casefold() if found else ""
            if name and not _ORDINARY.intersection(name.split()):
                yield name, (line[start:end], number)


def _use_of(name: str) -> re.Pattern[str]:
    words = re.escape(name)
    if not name.isascii() and len(name) <= _SHORT * 2 and " " not in name:
        return re.compile(rf"{words}")
    return re.compile(rf"(?i)(?<=\s){_DETERMINERS} {words}\b ?")
