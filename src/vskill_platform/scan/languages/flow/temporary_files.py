"""Whether a file of the agent is only there while a `try` statement runs.

Programs that try a command in a fresh session write such a file. Whoever writes the program also
writes the removal, so this is only the case if nothing else can happen to the file: its variable is
assigned once, everything that is done with it is known, and the write cannot run later.
"""

import re

_REMOVED = re.compile(r"(?P<indent>\s+)(?P<name>[^\W\d]\w*)\.unlink\((?:missing_ok=True)?\)\s*$")
_FINALLY = re.compile(r"(?P<indent>\s*)finally:\s*$")
_TRY = re.compile(r"\s*try:\s*$")
_HANDLER = re.compile(r"\s*(?:except\b.*|else):\s*$")
#: Code that runs later or never, and strings in which lines only look like code.
_LATER = re.compile(
    r"\b(?:def|lambda|class|yield|async|await)\b|_exit|\bexec[lv]|\babort\b|(?<![\w.])kill\b|\bos\.kill"
    r"|\"\"\"|'''"
)
_NONE = range(0)


def lines_before_removal(code: str, removed: int) -> range:
    """Return the lines at which a file may be written that is always removed at line *removed*."""
    lines = code.splitlines()
    found = _REMOVED.match(_line(lines, removed))
    if not found:
        return _NONE
    name = found["name"]
    end = removed - 1
    if _line(lines, end).strip() == f"if {name}.exists():":
        end -= 1
    final = _FINALLY.match(_line(lines, end))
    if not final or len(found["indent"]) <= len(final["indent"]):
        return _NONE
    start = _start_of_try(lines, end, len(final["indent"]))
    if not start or _LATER.search("\n".join(lines[start - 1 : end])):
        return _NONE
    return range(start + 1, end) if _is_only_used_as_file(code, name) else _NONE


def _start_of_try(lines: list[str], end: int, indent: int) -> int:
    """Return the line of the `try:` that a `finally:` belongs to; 0 if that is not clear."""
    for number in range(end - 1, 0, -1):
        line = _line(lines, number)
        if not line.strip() or len(line) - len(line.lstrip()) > indent:
            continue
        if _TRY.match(line):
            return number
        if not _HANDLER.match(line):
            return 0
    return 0


def _is_only_used_as_file(code: str, name: str) -> bool:
    """Return whether a variable is assigned once, and its file only written and removed."""
    known = re.compile(
        rf"(?m)^\s*{name} = |\b{name}\.(?:write_text|write_bytes|exists|unlink)\("
        rf"|\b{name}\.(?:name|stem)\b"
    )
    assigned = re.findall(rf"(?m)^\s*{name} = ", code)
    return len(assigned) == 1 and len(known.findall(code)) == len(re.findall(rf"\b{name}\b", code))


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""
