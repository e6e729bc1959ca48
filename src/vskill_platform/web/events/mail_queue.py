"""Emails that wait to be sent or have failed, and test emails: a page and API for admins."""

from datetime import datetime
from typing import Literal

from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.response import Redirect, Template

from vskill_platform.access.mail_addresses import checked_address
from vskill_platform.access.one_time_links import is_mail_on
from vskill_platform.errors import InvalidInput, MailFailed, MailRefused, NotFound
from vskill_platform.events.send_mail import retry_mail, send_test_mail
from vskill_platform.stores.mail_store import Mail, list_mails
from vskill_platform.web.html.flash import act, admin_page
from vskill_platform.web.http.api_types import Limit, Ok, Shape, Text, clamp, key_cursor, read_key
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation

_HERE = "/admin/mail"
_MAX_ROWS = 100


class MailItem(Shape, frozen=True, kw_only=True):
    id: str
    #: Such as invitation, password_reset or verdicts.
    kind: str
    to: str
    created_at: datetime
    attempts: int
    #: When it is sent next; null if it has failed.
    next_attempt_at: datetime | None
    #: Why it has not been sent yet.
    problem: str


class MailList(Shape, frozen=True, kw_only=True):
    mails: list[MailItem]
    next_cursor: str | None


class TestMail(Shape, frozen=True, kw_only=True):
    address: Text


class TestMailResult(Shape, frozen=True, kw_only=True):
    is_sent: bool
    #: The response of the mail server, or why it could not be reached.
    answer: str


async def list_over_api(
    status: FromQuery[Literal["waiting", "failed"]] = "waiting",
    cursor: FromQuery[str | None] = None,
    limit: Limit = 50,
) -> Response[MailList]:
    """List emails that wait to be sent, or that have failed, newest first. At most 100 at once."""
    size, headers = clamp(limit, _MAX_ROWS)
    page = await list_mails(dead=status == "failed", after=read_key(cursor), limit=size)
    mails = [_item(one) for one in page.mails]
    answer = MailList(mails=mails, next_cursor=key_cursor(page.cursor))
    return Response(answer, headers=headers)


@operation(also=(404,))
async def retry_over_api(mail_id: FromPath[str]) -> Ok:
    """Send an email that has failed again."""
    await retry_mail(mail_id)
    return Ok()


async def test_over_api(data: JSONBody[TestMail]) -> TestMailResult:
    """Send a test email at once, and return the response of the mail server."""
    address = checked_address(data.address)
    try:
        return TestMailResult(is_sent=True, answer=await send_test_mail(address))
    except (MailFailed, MailRefused) as error:
        return TestMailResult(is_sent=False, answer=str(error))


async def mail_page(request: WebRequest) -> Template:
    context = {
        "is_on": is_mail_on(),
        "failed": (await list_mails(dead=True, limit=_MAX_ROWS)).mails,
        "waiting": (await list_mails(dead=False, limit=_MAX_ROWS)).mails,
        "most": _MAX_ROWS,
    }
    return admin_page(request, "admin/mail.html", context)


async def mail_form(request: WebRequest, action: FromPath[str]) -> Redirect:
    fields = await read_fields(request)
    if action not in {"test", "retry"}:
        raise NotFound(f"unknown action {action!r}")

    async def work() -> str:
        if action == "retry":
            return f"The email to {(await retry_mail(fields.get('id', ''))).to} will be sent again."
        address = checked_address(fields.get("address", ""))
        try:
            return f"Sent to {address}. The mail server answered: {await send_test_mail(address)}"
        except (MailFailed, MailRefused) as error:
            raise InvalidInput(str(error)) from error

    return await act(_HERE, work)


def _item(one: Mail) -> MailItem:
    return MailItem(
        id=one.id,
        kind=one.kind,
        to=one.to,
        created_at=one.created_at,
        attempts=one.attempts,
        next_attempt_at=None if one.dead_at else one.due_at,
        problem=one.problem,
    )
