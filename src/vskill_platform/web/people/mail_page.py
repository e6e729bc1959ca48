"""Email addresses on the account page and over the API; the pages behind links in emails."""

from datetime import timedelta
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.params import JSONBody
from litestar.response import Redirect, Template

from vskill_platform.access.mail_addresses import (
    MailTopic,
    change_own_address,
    choose_topics,
    confirm_address,
    read_address_link,
    remove_own_address,
    request_reset_link,
)
from vskill_platform.access.one_time_links import is_mail_on
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.user import User
from vskill_platform.stores.mail_address_store import MailAddress, get_mail_address
from vskill_platform.stores.rate_limit_store import RateQuota, take_shared
from vskill_platform.web.http.api_types import Shape, Text
from vskill_platform.web.http.bodies import read_choices, read_fields
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.people.account_page import Notes, show_account
from vskill_platform.web.people.confirm_identity import count_attempt, signed_in_user

#: Limited, because each sends an email to an address that someone typed.
_PER_HOUR = RateQuota(5, timedelta(hours=1), "requests of this kind an hour")
_MAX_TEXT = 254


class OwnMail(Shape, frozen=True, kw_only=True):
    #: None if no address is set.
    address: str | None
    is_confirmed: bool
    topics: list[MailTopic]
    #: Whether this registry sends emails.
    is_mail_on: bool


class MailChange(Shape, frozen=True, kw_only=True):
    #: An empty text removes the address.
    address: Text | None = None
    #: The current password; needed to change the address, if you have one.
    password: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    topics: list[MailTopic] | None = None


async def forgot_page() -> Template:
    return _forgot()


async def forgot_form(request: WebRequest) -> Template:
    """Email a reset link; the response is the same whether the user exists or not."""
    text = (await read_fields(request)).get("name", "").strip()[:_MAX_TEXT]
    if not is_mail_on():
        raise NotFound("this registry sends no email; ask an admin for a link")
    if not text:
        return _forgot(problem="Enter your name or your email address.", status=400)
    await count_attempt(request, text)
    await take_shared("forgot", text.lower(), _PER_HOUR)
    await request_reset_link(text)
    return _forgot(is_sent=True)


def _forgot(*, problem: str = "", is_sent: bool = False, status: int = 200) -> Template:
    context = {"problem": problem, "is_sent": is_sent, "is_mail_on": is_mail_on()}
    return Template(
        "pages/forgot_password.html", context=context, status_code=status, headers=NO_STORE_HEADER
    )


async def confirm_page(request: WebRequest) -> Template:
    """Show the address to confirm, without using the link, because mail programs follow links."""
    key = request.query_params.get("key", "")
    context = {"key": key, "mail": await read_address_link(key), "is_done": False}
    return Template("pages/confirm_address.html", context=context, headers=NO_STORE_HEADER)


async def confirm_form(request: WebRequest) -> Template:
    await count_attempt(request, "")
    key = (await read_fields(request)).get("key", "")
    context = {"key": "", "mail": await confirm_address(key), "is_done": True}
    return Template("pages/confirm_address.html", context=context, headers=NO_STORE_HEADER)


async def mail_form(request: WebRequest) -> Response[Any]:
    """Set, remove or again confirm the user's address, or choose the topics of emails."""
    user, fields = signed_in_user(request), await read_fields(request)
    try:
        if fields.get("act") == "topics":
            await choose_topics(user.name, _topics(await read_choices(request, "topic")))
            return Redirect("/account?done=topics", status_code=303)
        address = "" if fields.get("act") == "remove" else fields.get("address", "").strip()
        await _change_address(request, user, address, fields.get("mail_password", ""))
    except InvalidInput as error:
        return await show_account(request, Notes(problem=str(error)), status=400)
    return Redirect(f"/account?done={'mail' if address else 'no-mail'}", status_code=303)


async def show_own_mail(request: WebRequest) -> OwnMail:
    """Show your email address and the topics that are emailed to it."""
    stored = await get_mail_address(signed_in_user(request).name)
    return _own_mail(stored.record if stored else None)


async def change_own_mail(request: WebRequest, data: JSONBody[MailChange]) -> OwnMail:
    """Change your email address, which is confirmed by a link, or the topics that are emailed."""
    user = signed_in_user(request)
    if data.address is not None:
        await _change_address(request, user, data.address.strip(), data.password)
    if data.topics is not None:
        await choose_topics(user.name, set(data.topics))
    stored = await get_mail_address(user.name)
    return _own_mail(stored.record if stored else None)


async def _change_address(request: WebRequest, user: User, address: str, password: str) -> None:
    await count_attempt(request, user.name)
    if not address:
        await remove_own_address(user, password=password)
        return
    await take_shared("mail-address", user.name, _PER_HOUR)
    await change_own_address(user, address, password=password)


def _own_mail(one: MailAddress | None) -> OwnMail:
    return OwnMail(
        address=one.address if one else None,
        is_confirmed=bool(one and one.is_confirmed),
        topics=[topic for topic in MailTopic if one and topic not in one.muted],
        is_mail_on=is_mail_on(),
    )


def _topics(ticked: list[str]) -> set[MailTopic]:
    try:
        return {MailTopic(item) for item in ticked}
    except ValueError as error:
        raise InvalidInput(f"choose among {', '.join(MailTopic)}") from error
