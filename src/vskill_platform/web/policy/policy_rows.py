"""The rows of the policy form: suppressions, namespaces and third-party scanners."""

import tomllib
from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

import msgspec

from vskill_platform.errors import PolicyInvalid
from vskill_platform.model.policy_text import Row, edit_tables

PolicyPath = tuple[str, ...]
#: Values of a row by column, as the form shows and sends them.
Values = dict[str, str]


class FormColumn(msgspec.Struct, frozen=True):
    path: PolicyPath
    kind: Literal["text", "date", "number", "flag"] = "text"

    @property
    def name(self) -> str:
        return ".".join(self.path)


#: The keys of each array of tables that the form edits; other keys of a row do not change.
COLUMNS = {
    "suppressions": (
        FormColumn(("rule",)),
        FormColumn(("path",)),
        FormColumn(("skill",)),
        FormColumn(("reason",)),
        FormColumn(("expires",), "date"),
    ),
    "namespaces": (
        FormColumn(("match",)),
        FormColumn(("thresholds", "review_at")),
        FormColumn(("thresholds", "reject_at")),
        FormColumn(("limits", "submissions_per_day"), "number"),
    ),
    "scanners": (
        FormColumn(("name",)),
        FormColumn(("required",), "flag"),
        FormColumn(("on_fail",)),
    ),
}
#: More rows are edited as text, because the form would have too many fields.
MAX_ROWS = 50
_MAX_DIGITS = 15
_REMOVE = "remove"


def show_rows(document: Mapping[str, Any]) -> dict[str, list[Values]]:
    """Return the rows of a valid policy; an array with too many rows is missing."""
    return {
        name: [{one.name: _shown(_get(row, one.path)) for one in columns} for row in found]
        for name, columns in COLUMNS.items()
        if len(found := document.get(name, ())) <= MAX_ROWS
    }


def typed_rows(fields: Mapping[str, str]) -> dict[str, list[Values]]:
    """Return the rows of a form as they were typed, without empty ones at the end."""
    rows: dict[str, list[Values]] = {}
    for name, columns in COLUMNS.items():
        names = (*(one.name for one in columns), _REMOVE)
        found = [
            {column: fields.get(f"{name}.{index}.{column}", "") for column in names}
            for index in range(MAX_ROWS + 1)
        ]
        while found and not any(found[-1].values()):
            found.pop()
        rows[name] = found
    return rows


def apply_rows(text: str, fields: Mapping[str, str]) -> tuple[str, dict[str, list[int]]]:
    """Return the text with the rows of a form, and which row of the form each new row is."""
    document = tomllib.loads(text)
    places: dict[str, list[int]] = {}
    for name in COLUMNS:
        known = document.get(name, [])
        if len(known) > MAX_ROWS:
            continue
        rows: list[Row] = []
        for index in range(MAX_ROWS + 1):
            row = _row(name, index, known, fields)
            if row is not None:
                rows.append(Row(index if index < len(known) else None, row))
                places.setdefault(name, []).append(index)
        text = edit_tables(text, name, rows)
    return text, places


def place_of(at: tuple[str | int, ...], places: Mapping[str, list[int]]) -> tuple[str | int, ...]:
    """Return the field of the form that shows a value; removed rows are still in the form."""
    match at:
        case (str(name), int(index), *rest) if index < len(places.get(name, ())):
            return (name, places[name][index], *rest)
    return at


def _row(
    name: str, index: int, known: list[dict[str, Any]], fields: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return a row with the typed values; None if it is empty or removed."""
    old = known[index] if index < len(known) else None
    prefix = f"{name}.{index}."
    columns = COLUMNS[name]
    if f"{prefix}{_REMOVE}" in fields:
        return None
    if f"{prefix}{columns[0].name}" not in fields:
        return old
    typed = {one: fields.get(prefix + one.name, "").strip() for one in columns}
    if old is None and not any(typed.values()):
        return None
    row = _copy(old or {})
    for column, value in typed.items():
        if value != _shown(_get(row, column.path)):
            _put(row, column.path, _value(value, column, (name, index, *column.path)))
    return row


def _value(typed: str, column: FormColumn, at: tuple[str | int, ...]) -> Any:
    if not typed:
        return None
    if column.kind == "flag":
        return True
    if column.kind == "number":
        text = typed.replace(",", "").replace("_", "")
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
            raise PolicyInvalid("enter a whole number, or nothing", at=at)
        return int(text)
    if column.kind == "date":
        try:
            return date.fromisoformat(typed)
        except ValueError as error:
            raise PolicyInvalid("enter a date such as 2027-01-31", at=at) from error
    return typed


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    return "" if value is None else str(value)


def _get(row: Mapping[str, Any], path: PolicyPath) -> Any:
    found: Any = row
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _put(row: dict[str, Any], path: PolicyPath, value: Any) -> None:
    """Set a value, or remove it and the table that it leaves empty."""
    first, *rest = path
    if rest:
        table = row.setdefault(first, {})
        _put(table, tuple(rest), value)
        if not table:
            del row[first]
    elif value is None:
        row.pop(first, None)
    else:
        row[first] = value


def _copy(row: dict[str, Any]) -> dict[str, Any]:
    return {key: _copy(item) if isinstance(item, dict) else item for key, item in row.items()}
