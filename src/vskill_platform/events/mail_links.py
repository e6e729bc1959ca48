"""The links in an email, created when it is sent, so that no secret waits in the database."""

from collections.abc import Awaitable, Callable

from vskill_platform.access.mail_addresses import make_address_link
from vskill_platform.access.one_time_links import make_mailed_link
from vskill_platform.access.sign_up import make_sign_up_link
from vskill_platform.stores.mail_address_store import get_mail_address
from vskill_platform.stores.mail_store import Mail
from vskill_platform.stores.user_store import get_user

#: Returns the values to add to the mail's own, or None if the mail is no longer wanted.
_Maker = Callable[[Mail], Awaitable[dict[str, str] | None]]


async def _password_link(mail: Mail) -> dict[str, str] | None:
    address = await get_mail_address(mail.user)
    if address is None or address.record.address != mail.to:
        return None
    by = mail.fields.get("by", "")
    return {"link": await make_mailed_link(mail.user, mail.to, by=by)}


async def _address_link(mail: Mail) -> dict[str, str] | None:
    link = await make_address_link(mail.user, mail.to)
    return {"link": link} if link else None


async def _sign_up_link(mail: Mail) -> dict[str, str] | None:
    link = await make_sign_up_link(mail.to)
    return {"link": link} if link else None


_MAKERS: dict[str, _Maker] = {
    "invitation": _password_link,
    "password_reset": _password_link,
    "confirm_address": _address_link,
    "sign_up": _sign_up_link,
}


async def make_links(mail: Mail) -> dict[str, str] | None:
    """Create the links of an email; None if it is no longer wanted.

    Each attempt creates new links. An attempt may have reached the mailbox although it seemed to
    fail, so earlier links stay valid until they expire or one of them is used.
    """
    if mail.user:
        user = await get_user(mail.user)
        if user is None or user.record.is_disabled:
            return None
    maker = _MAKERS.get(mail.kind)
    return await maker(mail) if maker else {}
