"""Find table rows with a column that says what not to do: "Do | Don't"."""

import re
from functools import lru_cache

import re2

_MAY_BE = re2.compile(
    r"(?im)^\s*\|[^\n]*(?:don.{0,3}t|do not|avoid|never|wrong|bad|not this|incorrect|instead of|"
    r"anti-?pattern|❌|🚫|✗)[^\n]*\|"
)
_HEADING = re.compile(
    r"(?i)[*_`\s]*(?:(?:❌|🚫|✗)\s*[\w' ’]{0,20}|don['’]?ts?|do not|avoid|never|wrong|bad|not this"  # noqa: RUF001 - as people type it
    r"|incorrect|instead of|anti-?patterns?|(?:bad|wrong) (?:example|way)s?)[*_`:\s]*"
)
_SEPARATOR = re.compile(r"^\s*\|[\s:|-]+$")
_BAR = re.compile(r"(?<!\\)\|")


@lru_cache(maxsize=2)  # several checks read the same text one after the other
def rows_without_discouraged(text: str) -> dict[int, str]:
    """Return rows with such cells, without these cells, by line number starting at 0."""
    if "|" not in text or not _MAY_BE.search(text.encode(errors="replace")):
        return {}
    rows: dict[int, str] = {}
    columns: set[int] = set()
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.lstrip().startswith("|"):
            columns = set()
            continue
        cells = _BAR.split(line.strip().strip("|"))
        if _SEPARATOR.match(line):
            head = _BAR.split(lines[number - 1].strip().strip("|")) if number else []
            columns = {place for place, cell in enumerate(head) if _HEADING.fullmatch(cell)}
        elif columns:
            kept = (cell for place, cell in enumerate(cells) if place not in columns)
            rows[number] = " ".join(kept).strip()
    return rows


def with_rows(text: str, rows: dict[int, str]) -> str:
    """Return a text in which some lines are replaced."""
    if not rows:
        return text
    lines = text.split("\n")
    return "\n".join(rows.get(number, line) for number, line in enumerate(lines))
