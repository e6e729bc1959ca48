"""Appeals against verdicts, as pages for publishers and staff, and over the API."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_201_CREATED

from vskill_platform.errors import InvalidInput, NotFound, NotSignedIn
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.publish.moderation.appeals import (
    MAX_TEXT,
    answer_appeal,
    can_see_appeal,
    decide_appeal,
    find_appeal,
    open_appeal,
    withdraw_appeal,
)
from vskill_platform.stores.appeal_store import (
    Appeal,
    AppealState,
    list_appeals,
    list_appeals_by,
    list_open_appeals,
)
from vskill_platform.stores.db import get_settings
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.http.api_types import Shape, Text
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of

_MAX_ROWS = 100
_DECISIONS = {"granted", "rejected"}
_Message = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]


class NewAppeal(Shape, frozen=True, kw_only=True):
    #: The id of the submission, or the slug and the yanked version: `slug version`.
    subject: Text
    text: _Message


class AppealText(Shape, frozen=True, kw_only=True):
    text: _Message


class AppealDecision(Shape, frozen=True, kw_only=True):
    decision: Literal["granted", "rejected"]
    text: _Message


class AppealMessageItem(Shape, frozen=True, kw_only=True):
    by: str
    at: datetime
    text: str
    is_staff: bool


class AppealItem(Shape, frozen=True, kw_only=True):
    id: str
    subject: str
    name: str
    namespace: str
    #: The verdict, who made it, and why.
    verdict: str
    decided_by: str
    reason: str
    by: str
    created_at: datetime
    #: open, granted, rejected or withdrawn
    state: str
    closed_by: str | None
    closed_at: datetime | None
    messages: list[AppealMessageItem]


class AppealList(Shape, frozen=True, kw_only=True):
    appeals: list[AppealItem]


async def list_over_api(
    request: WebRequest, status: FromQuery[Literal["mine", "open", "all"]] = "mine"
) -> AppealList:
    """List your appeals; reviewers can list the open ones, or all. At most 100."""
    visitor = _signed_in(request)
    if status == "mine":
        own = await list_appeals_by(visitor.name, limit=_MAX_ROWS)
        found = [one for one in own if await can_see_appeal(visitor, one)]
    elif not visitor.may(Right.REVIEW, get_settings()):
        raise InvalidInput("only reviewers can list the appeals of others; use status=mine")
    elif status == "open":
        found = await list_open_appeals(limit=_MAX_ROWS)
    else:
        found = await list_appeals(limit=_MAX_ROWS)
    return AppealList(appeals=[_item(one) for one in found])


@operation(status=HTTP_201_CREATED, also=(404, 409, 429))
async def open_over_api(request: WebRequest, data: JSONBody[NewAppeal]) -> AppealItem:
    """Appeal the verdict about one of your submissions or versions."""
    return _item(await open_appeal(_signed_in(request), data.subject, text=data.text))


async def show_over_api(request: WebRequest, appeal_id: FromPath[str]) -> AppealItem:
    """Show an appeal with its messages."""
    return _item(await find_appeal(_signed_in(request), appeal_id))


@operation(also=(409,))
async def answer_over_api(
    request: WebRequest, appeal_id: FromPath[str], data: JSONBody[AppealText]
) -> AppealItem:
    """Add a message to an open appeal."""
    return _item(await answer_appeal(_signed_in(request), appeal_id, text=data.text))


@operation(also=(409,))
async def decide_over_api(
    request: WebRequest, appeal_id: FromPath[str], data: JSONBody[AppealDecision]
) -> AppealItem:
    """Grant or reject an appeal; its author gets the answer."""
    state = AppealState(data.decision)
    return _item(await decide_appeal(visitor_of(request), appeal_id, state, text=data.text))


@operation(also=(409,))
async def withdraw_over_api(request: WebRequest, appeal_id: FromPath[str]) -> AppealItem:
    """Withdraw your appeal."""
    return _item(await withdraw_appeal(_signed_in(request), appeal_id))


async def appeals_page(request: WebRequest) -> Template:
    opened = await list_open_appeals(limit=_MAX_ROWS)
    closed = [one for one in await list_appeals(limit=_MAX_ROWS) if not one.is_open]
    return admin_page(request, "admin/appeals.html", {"opened": opened, "closed": closed})


async def appeal_page(request: WebRequest, appeal_id: FromPath[str]) -> Template:
    return _show(request, await find_appeal(_signed_in(request), appeal_id))


async def open_form(request: WebRequest) -> Response[Any]:
    fields = await read_fields(request)
    appeal = await open_appeal(
        _signed_in(request), fields.get("subject", ""), text=fields.get("text", "")
    )
    return Redirect(f"/appeals/{appeal.id}", status_code=303)


async def appeal_form(
    request: WebRequest, appeal_id: FromPath[str], action: FromPath[str]
) -> Response[Any]:
    visitor, fields = _signed_in(request), await read_fields(request)
    text = fields.get("text", "")
    appeal = await find_appeal(visitor, appeal_id)
    may_decide = visitor.may(Right.REVIEW, get_settings())
    if action not in {"answer", "withdraw"} and not (action in _DECISIONS and may_decide):
        raise NotFound(f"unknown action {action!r}")
    try:
        if action == "withdraw":
            await withdraw_appeal(visitor, appeal_id)
        elif action in _DECISIONS:
            await decide_appeal(visitor, appeal_id, AppealState(action), text=text)
        else:
            await answer_appeal(visitor, appeal_id, text=text)
    except InvalidInput as error:
        return _show(request, appeal, problem=str(error), text=text, status=400)
    return Redirect(f"/appeals/{appeal_id}", status_code=303)


def _show(
    request: WebRequest, appeal: Appeal, *, problem: str = "", text: str = "", status: int = 200
) -> Template:
    visitor = visitor_of(request)
    context = {
        "appeal": appeal,
        "is_author": appeal.by == visitor.name,
        "is_own_verdict": appeal.decided_by == visitor.name,
        "problem": problem,
        "text": text,
        "max_text": MAX_TEXT,
    }
    return Template("pages/appeal.html", context=context, status_code=status)


def _signed_in(request: WebRequest) -> Visitor:
    visitor = visitor_of(request)
    if visitor.user is None:
        raise NotSignedIn("sign in to see appeals")
    return visitor


def _item(one: Appeal) -> AppealItem:
    return AppealItem(
        id=one.id,
        subject=one.subject,
        name=one.name,
        namespace=one.namespace,
        verdict=one.verdict,
        decided_by=one.decided_by,
        reason=one.reason,
        by=one.by,
        created_at=one.at,
        state=one.state,
        closed_by=one.closed_by or None,
        closed_at=one.closed_at,
        messages=[
            AppealMessageItem(by=each.by, at=each.at, text=each.text, is_staff=each.is_staff)
            for each in one.messages
        ],
    )
