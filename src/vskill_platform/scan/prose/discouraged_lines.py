"""Find table rows and list items that say what not to do: "Do | Don't", "Must not: …"."""

import re

import re2

_MAY_BE = re2.compile(
    r"(?im)^\s*\|[^\n]*(?:don.{0,3}t|do not|avoid|never|wrong|bad|not this|incorrect|instead of|"
    r"anti-?pattern|❌|🚫|✗)[^\n]*\|"
)
_HEADING = re.compile(
    r"(?i)[*_`\s]*(?:(?:❌|🚫|✗)\s*[\w' ’]{0,20}|don['’]?ts?|do not|avoid|never|wrong|bad|not this"  # noqa: RUF001 - as people type it
    r"|incorrect|instead of|anti-?patterns?|(?:bad|wrong) (?:example|way)s?)[*_`:\s]*"
)
_FORBIDS = (
    r"(?:(?:you|we|it|agents?|the (?:agent|skill|assistant|model)|claude) )?"
    r"(?:(?:must|should|shall|may|will|can|do)(?: not| never|n['’]t)|cannot|never|don['’]?ts?"  # noqa: RUF001 - as people type it
    r"|(?:strictly )?(?:prohibited|forbidden|disallowed|not allowed)(?: (?:actions|activities"
    r"|behaviou?rs?|operations))?|what not to do|prohibitions)"
    r"(?: do)?(?: any of)?(?: (?:the following|these|this))?(?: \(?(?:do not|don['’]t|never)\)?)?"  # noqa: RUF001 - as people type it
)
_MAY_FORBID = re2.compile(
    r"(?im)^[ \t]*(?:#{1,6} [^\n]*(?:not|never|don|prohib|forbid|disallow)"
    rf"|\W{{0,6}}{_FORBIDS}\W{{0,4}}$)"
)
#: A heading or an introduction that consists of a prohibition alone, so no verb can reverse it.
_FORBIDDEN = re.compile(
    rf"(?i)\s*(?:(?P<marks>#{{1,6}}) \W{{0,4}}{_FORBIDS}\W{{0,3}}"
    rf"|\*\*{_FORBIDS}:?\*\*:?|{_FORBIDS}:)\s*$"
)
_TITLE = re.compile(r"\s*(?P<marks>#{1,6}) ")
#: A section of steps below a prohibition is not part of it.
_STEPS = re.compile(
    r"(?i)\s*#+ \W*(?:\d|set ?up|steps?|install|usage|workflow|procedure|instructions|run"
    r"|do\b|always|how|first|before|after|when|required|quick|start|must\b|correct|right|instead"
    r"|except|allowed|permitted|recommended|better|good|unless|but|now|then|next|tasks?\b|your"
    r"|mandatory|rather|actual|real\b|what to)"
)
#: Words with which an item or a later text makes an order of what a list forbids: "never: omit …".
_REVERSES = re.compile(
    r"(?i)\b(?:forget|fail|omit|skip|neglect|hesitate|refuse|refrain|stop|miss|decline|delay"
    r"|leave (?:it|them|this|that|out|off)|keep|start|begin|continue|proceed|finish"
    r"|instead|rather|but|except|unless|first|until|otherwise|only)\b"
)
_REVERSES_ALL = re.compile(
    r"(?i)\b(?:list|items?|above|prohibitions?|headings?|never|not)\b[^\n]{0,60}\b(?:revers|inver"
    r"|opposite|contrary|swapped|no longer|do(?:es)? not apply|joke|ignore)"
    r"|\bdo (?:all|each|every|any)(?: (?:one|item))?(?: of)? (?:it|them|these|this|the above|above)"
)
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_SEPARATOR = re.compile(r"^\s*\|[\s:|-]+$")
_BAR = re.compile(r"(?<!\\)\|")


def lines_without_discouraged(text: str) -> dict[int, str]:
    """Return such rows and items, without what they discourage, by line number from 0."""
    return _without_cells(text) | _forbidden_items(text)


def _forbidden_items(text: str) -> dict[int, str]:
    """Return the items of lists below a prohibition; nothing of them is left.

    A list ends at any other text, and what a heading forbids ends at the next one of its level.
    """
    if not _MAY_FORBID.search(text.encode(errors="replace")) or _REVERSES_ALL.search(text):
        return {}
    items: dict[int, str] = {}
    level, is_listed = 0, False
    for number, line in enumerate(text.split("\n")):
        if found := _FORBIDDEN.match(line):
            level, is_listed = len(found["marks"] or "") or level, True
        elif title := _TITLE.match(line):
            is_within = level and len(title["marks"]) > level and not _STEPS.match(line)
            level = level if is_within else 0
            is_listed = level > 0
        elif _ITEM.match(line) or (line[:1] == " " and line.strip()):
            if is_listed and not _REVERSES.search(line):
                items[number] = ""
            elif not _ITEM.match(line):  # the end of an item reverses it
                items.pop(number - 1, None)
        elif line.strip():
            is_listed = False
    return items


def _without_cells(text: str) -> dict[int, str]:
    """Return rows with such cells, without these cells."""
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


def with_lines(text: str, rows: dict[int, str]) -> str:
    """Return a text in which some lines are replaced."""
    if not rows:
        return text
    lines = text.split("\n")
    return "\n".join(rows.get(number, line) for number, line in enumerate(lines))
