"""Untrusted text as numbered lines for a page.

Templates are rendered on the event loop, so the number of lines is limited. The expensive part,
escaping invisible and control characters, can run in a thread before that.
"""

import msgspec
from markupsafe import Markup

from vskill_platform.web.html.highlight import Spans, markup_of, paint_lines
from vskill_platform.web.html.templating import shown

MAX_LINES = 2_000
MAX_CHARACTERS = 200_000
MAX_LINE_CHARACTERS = 2_000
_PLAIN = Spans()


class ShownLines(msgspec.Struct, frozen=True):
    #: Number, text, and whether the line is highlighted.
    lines: tuple[tuple[int, Markup, bool], ...] = ()
    #: Why lines are missing; empty if all are shown.
    note: str = ""
    #: The first line of the next page; None after the last line.
    following: int | None = None
    #: The first line of the previous page, or an earlier one; None on the first page.
    previous: int | None = None
    #: Why the lines have no colors although they should.
    plain: str = ""


def show_lines(
    text: str, meant: frozenset[int] = frozenset(), *, start: int = 1, spans: Spans = _PLAIN
) -> ShownLines:
    """Return the lines after *start* that fit on one page, colored, with *meant* highlighted."""
    # Split only at line feeds, like the scanner, so that line numbers are the same.
    total = text.count("\n") + (not text.endswith("\n"))
    if not text:
        return ShownLines(note="The file is empty.")
    start = min(max(start, 1), total)
    lines = text.split("\n", start - 1 + MAX_LINES)[start - 1 : min(start - 1 + MAX_LINES, total)]
    fitting = lines[: _count_fitting(lines)]
    painted = paint_lines(text, spans)[start - 1 :] if spans.numbers else []
    ready = tuple(
        (
            start + at,
            show_pieces(painted[at]) if painted else shown(_cut(line.removesuffix("\r"))),
            start + at in meant,
        )
        for at, line in enumerate(fitting)
    )
    end = start + len(ready) - 1
    following = end + 1 if end < total else None
    previous = max(start - MAX_LINES, 1) if start > 1 else None
    return ShownLines(ready, _note(start, end, total), following, previous, spans.note)


def show_pieces(pieces: list[tuple[str, str]]) -> Markup:
    """Return a colored line as HTML, cut to the usual length."""
    left, ready = MAX_LINE_CHARACTERS, []
    for kind, text in pieces:
        ready.append((kind, shown(text[:left].removesuffix("\r"))))
        left -= len(text)
        if left < 0:
            ready.append(("", Markup("…")))
            break
    return markup_of(ready)


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
