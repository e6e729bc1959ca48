"""Find and change values in the text of a policy; comments and everything else stay as they are."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import takewhile
from typing import Any

import msgspec

from vskill_platform.errors import PolicyInvalid

At = tuple[str | int, ...]
#: A value to write; None removes the key.
PolicyValue = str | int | bool | Sequence[str] | None

#: The parts of a TOML document; every character is in one of them.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|'
    r"'''.*?'{3,5}|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|#[^\n]*|[\[\]{}=\n]|[^\"'#\[\]{}=\n]+|.",
    re.DOTALL,
)
_OPENING, _CLOSING = frozenset("[{"), frozenset("]}")
#: Longer lists get a line for each item.
_MAX_LINE = 80
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class _Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A table header, or a key with its value."""

    #: The keys that lead to it, with its index inside an array of tables.
    at: At
    is_header: bool
    line: int
    #: Where it starts and where its line ends, as offsets in the text.
    start: int
    end: int
    #: Where its value starts and ends; equal for a header.
    value: tuple[int, int]


def line_of(text: str, at: At) -> int:
    """Return the line of a value, or of the nearest table around it; 0 if there is none."""
    found, best = 0, 0
    for one in _statements(text):
        shared = min(len(one.at), len(at))
        if one.at[:shared] == at[:shared] and shared > best:
            found, best = one.line, shared
    return found


def locate(error: PolicyInvalid, text: str) -> PolicyInvalid:
    """Return the error with its line in the text."""
    line = error.line or (line_of(text, error.at) if error.at else 0)
    return PolicyInvalid(str(error), at=error.at, line=line)


def edit(text: str, changes: Sequence[tuple[tuple[str, ...], PolicyValue]]) -> str:
    """Return the text of a valid document with some values set or removed.

    Where that is not possible in place, as in an inline table, the whole document is written again
    and loses its comments.
    """
    wanted = tomllib.loads(text)
    edited = text
    for at, value in changes:
        _set(wanted, at, value)
        edited = _edit_one(edited, at, value)
    try:
        if tomllib.loads(edited) == wanted:
            return edited
    except tomllib.TOMLDecodeError:
        pass
    return write(wanted)


class Row(msgspec.Struct, frozen=True):
    """A table of an array: its index in the old text, or None for a new one, and its values."""

    index: int | None
    values: dict[str, Any]


def edit_tables(text: str, name: str, rows: Sequence[Row]) -> str:
    """Return the text of a valid document with these tables in an array, in this order.

    Tables that stay the same keep their text, and new ones are added at the end. Where that is not
    possible, as with an inline array, the whole document is written again.
    """
    document = tomllib.loads(text)
    old = document.get(name, [])
    new = [one.values for one in rows]
    if new == old:
        return text
    wanted = {key: item for key, item in document.items() if key != name}
    wanted |= {name: new} if new else {}
    blocks = _blocks(text, name)
    kept = {one.index: one.values for one in rows if one.index is not None}
    edited = text
    for index in range(len(blocks) - 1, -1, -1):
        start, end = blocks[index]
        if index not in kept:
            after = edited[end:].lstrip("\n")
            before = edited[:start] if after else edited[:start].rstrip("\n")
            edited = before + ("\n" if before and not after else "") + after
        elif kept[index] != old[index]:
            edited = edited[:start] + _write_entry(name, kept[index]) + edited[end:]
    for one in rows:
        if one.index is None:
            gap = "" if not edited.strip() else "\n" if edited.endswith("\n") else "\n\n"
            edited = f"{edited}{gap}{_write_entry(name, one.values)}"
    try:
        if tomllib.loads(edited) == wanted:
            return edited
    except tomllib.TOMLDecodeError:
        pass
    return write(wanted)


def _blocks(text: str, name: str) -> list[tuple[int, int]]:
    """Return where each table of an array starts and ends in the text."""
    found: dict[str | int, tuple[int, int]] = {}
    for one in _statements(text):
        if one.at[:1] == (name,) and len(one.at) > 1:
            start, _ = found.get(one.at[1], (one.start, one.end))
            found[one.at[1]] = (start, one.end)
    return list(found.values())


def _write_entry(name: str, values: dict[str, Any]) -> str:
    return "\n".join(_write_table({name: [values]}, "")).strip("\n") + "\n"


def _set(document: dict[str, Any], at: tuple[str, ...], value: PolicyValue) -> None:
    tables = [document]
    for name in at[:-1]:
        tables.append(tables[-1].setdefault(name, {}))
    if value is not None:
        tables[-1][at[-1]] = list(value) if isinstance(value, list | tuple) else value
        return
    tables[-1].pop(at[-1], None)
    for table, name in zip(reversed(tables[:-1]), reversed(at[:-1]), strict=True):
        if not table[name]:
            del table[name]


def _edit_one(text: str, at: tuple[str, ...], value: PolicyValue) -> str:
    statements = list(_statements(text))
    found = next((one for one in statements if one.at == at and not one.is_header), None)
    if found and value is not None:
        start, end = found.value
        return text[:start] + write_value(value) + text[end:]
    if found:
        return _without(text, found, statements)
    if value is None:
        return text
    line = f"{at[-1]} = {write_value(value)}\n"
    table = next((one for one in statements if one.is_header and one.at == at[:-1]), None)
    if table is None:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[{'.'.join(at[:-1])}]\n{line}"
    keys = _keys_below(table, statements)
    last = keys[-1] if keys else table
    gap = "" if text[: last.end].endswith("\n") else "\n"
    return text[: last.end] + gap + line + text[last.end :]


def _without(text: str, found: _Statement, statements: list[_Statement]) -> str:
    """Remove a key, and its table if nothing else is in it."""
    table = next((one for one in statements if one.is_header and one.at == found.at[:-1]), None)
    edited = text[: found.start] + text[found.end :]
    if table is None or _keys_below(table, statements) != [found]:
        return edited
    if text[table.end : found.start].strip() or _has_parts(table, statements):
        return edited  # a comment in the table, or tables inside of it
    return (
        text[: table.start].rstrip("\n")
        + "\n" * bool(text[: table.start].strip())
        + (edited[table.end :])
    )


def _has_parts(table: _Statement, statements: list[_Statement]) -> bool:
    headers = (one for one in statements if one.is_header and one is not table)
    return any(one.at[: len(table.at)] == table.at for one in headers)


def _keys_below(table: _Statement, statements: list[_Statement]) -> list[_Statement]:
    following = statements[statements.index(table) + 1 :]
    return list(takewhile(lambda one: not one.is_header, following))


def _statements(text: str) -> Iterator[_Statement]:
    """Yield the headers and keys of a document, in order; skip what is not valid TOML."""
    counts: Counter[At] = Counter()
    table: At = ()
    for start, end, line, tokens in _logical_lines(text):
        words = [item for item, _ in tokens if item.strip() and not item.startswith("#")]
        if not words:
            continue
        first = tokens[0][1] if tokens[0][0].strip() else tokens[1][1]
        if words[0] == "[":
            is_array = words[:2] == ["[", "["]
            names = _path("".join(words[2:-2] if is_array else words[1:-1]))
            table = _resolve(names, counts, is_new=is_array)
            yield _Statement(
                at=table, is_header=True, line=line, start=first, end=end, value=(end, end)
            )
            continue
        key = "".join(takewhile("=".__ne__, words))
        at = (*table, *_path(key))
        yield _Statement(
            at=at, is_header=False, line=line, start=start, end=end, value=_value(tokens, end)
        )


def _resolve(names: At, counts: Counter[At], *, is_new: bool) -> At:
    """Return the full path of a table; below an array of tables, it belongs to the last entry."""
    at: At = ()
    for number, name in enumerate(names, start=1):
        at = (*at, name)
        if is_new and number == len(names):
            counts[at] += 1
        if counts[at]:
            at = (*at, counts[at] - 1)
    return at


def _value(tokens: list[tuple[str, int]], end: int) -> tuple[int, int]:
    """Return where the value of a key starts and ends, without spaces and the comment."""
    equals = next((n for n, (item, _) in enumerate(tokens) if item == "="), len(tokens))
    rest = [
        (item, at) for item, at in tokens[equals + 1 :] if item.strip() and not item.startswith("#")
    ]
    if not rest:
        return end, end
    first, start = rest[0]
    last, last_at = rest[-1]
    return start + len(first) - len(first.lstrip()), last_at + len(last.rstrip())


def _logical_lines(text: str) -> Iterator[tuple[int, int, int, list[tuple[str, int]]]]:
    """Yield start, end, line number and tokens of each statement, which may span lines."""
    tokens: list[tuple[str, int]] = []
    depth, start, line, next_line = 0, 0, 1, 1
    for match in _TOKEN.finditer(text):
        item = match[0]
        next_line += item.count("\n")
        depth += (item in _OPENING) - (item in _CLOSING)
        if item == "\n" and depth <= 0:
            yield start, match.end(), line, tokens
            tokens, depth, start, line = [], 0, match.end(), next_line
        else:
            tokens.append((item, match.start()))
    if tokens:
        yield start, len(text), line, tokens


def _path(key: str) -> At:
    """Return the names of a dotted key, as TOML reads them; empty if it is not one."""
    try:
        found: Any = tomllib.loads(f"{key.strip()} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while isinstance(found, dict):
        ((name, found),) = found.items()
        names.append(name)
    return tuple(names)


def write(document: dict[str, Any]) -> str:
    """Return a document as TOML, without comments."""
    return "\n".join(_write_table(document, "")).strip("\n") + "\n" if document else ""


def _write_table(table: dict[str, Any], path: str) -> Iterator[str]:
    def is_table(item: Any) -> bool:
        return isinstance(item, dict) or (
            isinstance(item, list) and bool(item) and all(isinstance(one, dict) for one in item)
        )

    for key, item in table.items():
        if not is_table(item):
            yield f"{_write_key(key)} = {write_value(item)}"
    for key, item in table.items():
        inner = f"{path}.{_write_key(key)}" if path else _write_key(key)
        if isinstance(item, dict):
            yield from ("", f"[{inner}]", *_write_table(item, inner))
        elif is_table(item):
            for one in item:
                yield from ("", f"[[{inner}]]", *_write_table(one, inner))


def _write_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else write_value(key)


def write_value(value: Any) -> str:
    """Return a value of a policy as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        items = [write_value(one) for one in value]
        line = f"[{', '.join(items)}]"
        return (
            line
            if len(line) <= _MAX_LINE
            else "[\n" + "".join(f"  {one},\n" for one in items) + "]"
        )
    if isinstance(value, date | int | float):
        return str(value)
    # A JSON string is also a TOML string, except that TOML wants DEL escaped.
    return msgspec.json.encode(str(value)).decode().replace("\x7f", "\\u007f")
