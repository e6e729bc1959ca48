"""Untrusted text as numbered lines for a page.

Templates are rendered on the event loop, so the number of lines is limited, and the expensive part,
escaping invisible and control characters, can run in a thread before.
"""

import msgspec
from markupsafe import Markup

from vskill_platform.web.html.templating import shown

MAX_LINES = 2_000
MAX_CHARACTERS = 200_000
MAX_LINE_CHARACTERS = 2_000


class ShownLines(msgspec.Struct, frozen=True):
    #: Number, text, and whether the line is highlighted.
    lines: tuple[tuple[int, Markup, bool], ...] = ()
    #: Why lines are missing; empty if all are shown.
    note: str = ""
    #: The first line of the next page; None after the last line.
    following: int | None = None


def show_lines(text: str, meant: frozenset[int] = frozenset(), *, start: int = 1) -> ShownLines:
    """Return the lines from *start* on that fit on one page; *meant* are highlighted."""
    # Split at line feeds only, as the scanner does, so that line numbers are the same.
    total = text.count("\n") + (not text.endswith("\n"))
    if not text:
        return ShownLines(note="The file is empty.")
    start = min(max(start, 1), total)
    lines = text.split("\n", start - 1 + MAX_LINES)[start - 1 : min(start - 1 + MAX_LINES, total)]
    fitting = lines[: _count_fitting(lines)]
    ready = tuple(
        (number, shown(_cut(line.removesuffix("\r"))), number in meant)
        for number, line in enumerate(fitting, start)
    )
    end = start + len(ready) - 1
    following = end + 1 if end < total else None
    return ShownLines(ready, _note(start, end, total), following)


def _count_fitting(lines: list[str]) -> int:
    """Return how many lines fit on one page; at least one."""
    room = MAX_CHARACTERS
    for count, line in enumerate(lines):
        room -= min(len(line), MAX_LINE_CHARACTERS)
        if room < 0:
            return max(count, 1)
    return len(lines)


def _note(start: int, end: int, total: int) -> str:
    if (start, end) == (1, total):
        return ""
    if start == 1:
        return f"Showing the first {end:,} of {total:,} lines."
    return f"Showing lines {start:,} to {end:,} of {total:,}."


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:MAX_LINE_CHARACTERS]}…"
