"""The tables of our Markdown documents, as data."""

from pathlib import Path

ROOT = Path(__file__).parent.parent


def rows_of(document: str) -> list[list[str]]:
    """Return the cells of every table row of a document, without heads and rules."""
    rows = []
    lines = (ROOT / document).read_text().splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        is_head = following.startswith("|--")
        if line.startswith("| ") and not is_head:
            rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return [[cell.strip("| ") for cell in row] for row in rows]


def unquoted(cell: str) -> str:
    return cell.strip("`")
