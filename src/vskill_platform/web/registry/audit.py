"""The audit log, as a page, as a download and over the API."""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import quote

from litestar import Response
from litestar.params import FromQuery, QueryParameter
from litestar.response import Stream, Template

from vskill_platform.errors import InvalidInput
from vskill_platform.stores.audit_store import (
    AuditPage,
    AuditQuery,
    AuditRecord,
    list_audit,
    read_audit_query,
)
from vskill_platform.stores.db import get_now
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.http.api_types import Limit, Shape, clamp, key_cursor, read_key
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import skill_url, with_query

_A_PAGE = 100
_MAX_RECORDS = 100
_MAX_TEXT = 200
#: How many entries a download contains; the last line of a truncated one says where to continue.
MAX_EXPORTED = 100_000
_FILTERS = ("actor", "action", "target", "from", "to")
_COLUMNS = ("at", "actor", "action", "subject", "reason", "outcome")
#: A spreadsheet runs a cell as a formula if it begins with one of these.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_CONTROLS = ("\t", "\r", "\n")
_READ_AT_ONCE = 500
#: Pages that can be searched for the target of an action, by the first word of the action.
_LISTS = {
    "user": "/admin/people", "device": "/admin/people", "github": "/admin/people",
    "oidc": "/admin/people", "token": "/admin/tokens", "namespace": "/admin/namespaces",
}  # fmt: skip
#: Pages of other targets.
_PAGES = {
    "block": "/admin/blocklist", "pause": "/admin/queue", "resume": "/admin/queue",
    "report": "/admin/reports", "dead-letters": "/admin/queue", "policy": "/admin/policy/versions",
}  # fmt: skip
_SKILL_ACTIONS = {
    "yank", "unyank", "visibility", "repo", "rescan", "deprecate", "undeprecate", "feature",
    "skill", "rename",
}  # fmt: skip
#: Actions on a skill whose first word does not say so.
_ALSO_ON_SKILLS = {"mirror fetch"}
#: The page of one target, by the first word of the action.
_ONE = {"appeal": "/appeals", "webhook": "/admin/webhooks"}

_Write = Callable[[Sequence[str]], str]
AuditFilter = Annotated[str, QueryParameter(max_length=_MAX_TEXT)]
From = Annotated[str, QueryParameter(name="from", max_length=40)]
To = Annotated[str, QueryParameter(name="to", max_length=40)]


class AuditItem(Shape, frozen=True, kw_only=True):
    at: datetime
    actor: str
    action: str
    subject: str
    reason: str
    outcome: str


class AuditList(Shape, frozen=True, kw_only=True):
    records: list[AuditItem]
    next_cursor: str | None


async def audit_page(request: WebRequest) -> Template:
    typed = _typed(request)
    after = request.query_params.get("after") or None
    page, problem = AuditPage([], None), ""
    try:
        page = await list_audit(after=after, limit=_A_PAGE, query=_query(typed))
    except InvalidInput as error:
        problem = str(error)
    here = "/admin/audit"
    context: dict[str, Any] = {
        "typed": typed,
        "filter_problem": problem,
        "rows": [(one, target_url(one)) for one in page.records],
        "next": with_query(here, **typed, after=page.cursor) if page.cursor else "",
        "newest": with_query(here, **typed),
        "export": lambda kind: with_query(f"{here}/export", **typed, format=kind),
        "only": lambda **wanted: with_query(here, **(typed | wanted)),
        "is_first": after is None,
    }
    return admin_page(request, "admin/audit.html", context)


async def export_audit(request: WebRequest) -> Stream:
    """Send the matching entries as CSV or as JSON lines."""
    kind = request.query_params.get("format", "csv")
    if kind not in _FORMATS:
        raise InvalidInput(f"format must be one of {', '.join(_FORMATS)}")
    query = _query(_typed(request))
    write, media_type = _FORMATS[kind]
    name = f"audit-{get_now().astimezone(UTC):%Y-%m-%d}.{kind}"
    headers = {**NO_STORE_HEADER, "Content-Disposition": f'attachment; filename="{name}"'}
    after = request.query_params.get("after") or None
    return Stream(_export(query, after, write), media_type=media_type, headers=headers)


async def audit_over_api(
    actor: AuditFilter = "",
    action: AuditFilter = "",
    target: AuditFilter = "",
    start: From = "",
    end: To = "",
    cursor: FromQuery[str | None] = None,
    limit: Limit = 50,
) -> Response[AuditList]:
    """List the audit log, newest first. At most 100 at once."""
    size, headers = clamp(limit, _MAX_RECORDS)
    query = read_audit_query(actor=actor, action=action, target=target, start=start, end=end)
    page = await list_audit(after=read_key(cursor), limit=size, query=query)
    records = [AuditItem(**{name: getattr(one, name) for name in _COLUMNS}) for one in page.records]
    answer = AuditList(records=records, next_cursor=key_cursor(page.cursor))
    return Response(answer, headers=headers)


def target_url(record: AuditRecord) -> str:
    """Return the page about the target of an entry; empty if there is none."""
    action = record.action.partition(" ")[0]
    target = record.subject.partition(" ")[0]
    if target.startswith("sub_"):
        return f"/submissions/{target}"
    if action in _LISTS:
        return with_query(_LISTS[action], q=target)
    if action in _PAGES:
        return _PAGES[action]
    if action in _ONE and record.action != "webhook remove":
        return f"{_ONE[action]}/{quote(target, safe='')}"
    if action in _SKILL_ACTIONS or record.action in _ALSO_ON_SKILLS:
        return "/admin/rescan" if target == "all" else skill_url(target)
    return ""


def _typed(request: WebRequest) -> dict[str, str]:
    return {name: request.query_params.get(name, "")[:_MAX_TEXT] for name in _FILTERS}


def _query(typed: dict[str, str]) -> AuditQuery:
    words = {name: value for name, value in typed.items() if name not in {"from", "to"}}
    return read_audit_query(**words, start=typed["from"], end=typed["to"])


async def _export(query: AuditQuery, after: str | None, write: _Write) -> AsyncIterator[bytes]:
    if write is _csv_line:
        yield write(_COLUMNS).encode()
    left = MAX_EXPORTED
    while True:
        page = await list_audit(after=after, limit=min(left, _READ_AT_ONCE), query=query)
        lines = [write(_cells(record)) for record in page.records]
        left, after = left - len(lines), page.cursor
        if after and not left:
            lines.append(write(_truncated(after)))
        yield "".join(lines).encode(errors="backslashreplace")
        if not after or not left:
            return


def _cells(record: AuditRecord) -> list[str]:
    return [_iso(record.at), *(getattr(record, name) for name in _COLUMNS[1:])]


def _truncated(cursor: str) -> list[str]:
    """Return the last line of a truncated export."""
    how = f"{MAX_EXPORTED} entries fit into one export. Export older ones with after={cursor}"
    return ["", "", "export truncated", "", how, ""]


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow([_harmless(cell) for cell in cells])
    return line.getvalue()


def _harmless(cell: str) -> str:
    is_formula = cell.lstrip().startswith(_FORMULA_STARTS) or cell.startswith(_CONTROLS)
    return f"'{cell}" if is_formula else cell


def _json_line(cells: Sequence[str]) -> str:
    return json.dumps(dict(zip(_COLUMNS, cells, strict=True)), ensure_ascii=False) + "\n"


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


#: The formats of an export: the function that writes a line, and the media type.
_FORMATS = {
    "csv": (_csv_line, "text/csv"),
    "jsonl": (_json_line, "application/jsonl"),
}
