"""Read the rows of a table with their headings: "send to" above an address is an order.

Only rows are read in which a cell starts with an order, and tables with a heading of something that
is sent or done. Most tables have neither.
"""

import re

import re2

_ORDER = (
    r"(?:send|upload|post|forward|write|add|append|put|copy|remove|delete|wipe|drop|install|disable"
    r"|register|replace|always|push|publish|set|off|none)"
)
_HEADING = (
    r"(?:send|sent|goes|upload|uploaded|forward|deliver|delivered|post|posted|copied|copy|report)"
    r"(?:ed|s)? (?:to|at|via)|destination|recipient|bcc|where to|receiver|autostart|used for"
)
_MAY_HAVE = re2.compile(
    rf"(?im)^[ \t]*\|[^\n]*\|\s*[*_`]*{_ORDER}\b[^\n]*\||^[ \t]*\|[^\n]*\b(?:{_HEADING})\b"
)
_IS_ORDER = re.compile(rf"(?i)^\s*[*_`]*{_ORDER}\b")
_IS_HEADING = re.compile(rf"(?i)^\s*[*_`]*(?:[\w ]{{0,20}} )?(?:{_HEADING})\b")
_SEPARATOR = re.compile(r"^\s*\|[\s:|-]+$")
_BAR = re.compile(r"(?<!\\)\|")
_MAX_ROWS, _MAX_LINE = 60, 600


def labelled_rows(text: str) -> str:
    """Return such rows, each as a sentence on its line; other lines are empty."""
    if "|" not in text or not _MAY_HAVE.search(text.encode(errors="replace")):
        return ""
    lines = text.split("\n")
    rows: dict[int, str] = {}
    head: list[str] = []
    is_wanted = False
    for number, line in enumerate(lines):
        if not line.lstrip().startswith("|") or len(line) > _MAX_LINE:
            head = []
        elif _SEPARATOR.match(line):
            head = _cells(lines[number - 1]) if number else []
            is_wanted = any(map(_IS_HEADING.match, head))
        elif head and len(rows) < _MAX_ROWS:
            cells = _cells(line)
            if is_wanted or any(map(_IS_ORDER.match, cells[1:])):
                pairs = zip(head, cells, strict=False)
                rows[number] = ", ".join(f"{label}: {cell}" for label, cell in pairs) + "."
    if not rows:
        return ""
    return "\n".join(rows.get(number, "") for number in range(max(rows) + 1))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _BAR.split(line.strip().strip("|"))]
