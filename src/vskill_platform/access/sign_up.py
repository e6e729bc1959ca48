"""Sign-up: create an account with an email address in a domain that the operator allows.

The account is created when the link in the email is used, which confirms the address.
"""

from datetime import timedelta

from vskill_platform.access.mail_addresses import checked_address
from vskill_platform.access.secret_texts import digest_of, new_secret
from vskill_platform.access.users import prepare_user
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import InvalidInput, LinkExpired
from vskill_platform.model.registry_url import base_url
from vskill_platform.model.user import Role, User, checked_user_name, own_namespace
from vskill_platform.sign_on_settings import sign_up_domains
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.event_feed import begin_feed
from vskill_platform.stores.mail_address_store import (
    MailAddress,
    get_mail_addresses,
    list_users_with_address,
    write_mail_address,
)
from vskill_platform.stores.mail_store import new_mail, write_mail
from vskill_platform.stores.namespace_store import expect_namespace, get_namespace
from vskill_platform.stores.records import Stored
from vskill_platform.stores.sign_up_store import (
    SignUpLink,
    delete_sign_up_link,
    get_sign_up_link,
    get_sign_up_mark,
    write_sign_up_link,
    write_sign_up_mark,
)
from vskill_platform.stores.skill_store import has_skills_in
from vskill_platform.stores.user_store import get_user

log = get_logger(__name__)

GOOD_FOR = timedelta(hours=24)
_GONE = "This link was already used or is older than 24 hours. Ask for a new one."


def is_sign_up_open() -> bool:
    return bool(sign_up_domains(get_settings()))


async def request_account(text: str) -> None:
    """Email a link to create an account, unless the address already has one.

    The caller shows the same message in both cases, so that no one learns who has an account.
    """
    address = checked_address(text)
    _check_domain(address)
    if not await _has_account(address):
        await commit([write_mail(new_mail("sign_up", address))])


async def make_sign_up_link(address: str) -> str | None:
    """Create the link in an email, when it is sent; None if it is no longer wanted."""
    if not _is_allowed(address) or await _has_account(address):
        return None
    key = new_secret()
    link = SignUpLink(address=address, expires_at=get_now() + GOOD_FOR)
    await commit([write_sign_up_link(digest_of(key), link)])
    return f"{base_url(get_settings())}/sign-up/confirm?key={key}"


async def read_sign_up_link(key: str) -> SignUpLink:
    """Return what a link allows, without using it."""
    return (await _find(key)).record


async def sign_up(key: str, *, name: str, password: str) -> User:
    """Use a link: create a reader with a confirmed email address, in one commit."""
    stored, checked = await _find(key), checked_user_name(name)
    mark = await get_sign_up_mark(stored.record.address)
    await _find(key)  # again, after reading the mark: another link may have been used
    space = await get_namespace(own_namespace(checked))
    is_used = space.revision != ABSENT or await has_skills_in(space.record.name)
    if is_used or await get_user(checked):
        raise InvalidInput(f"the name {checked!r} is taken; choose another")
    created, user = await prepare_user(
        checked, Role.READER, actor=checked, password=password, reason="signed up by mail"
    )
    address = MailAddress(
        user=checked, address=stored.record.address, is_confirmed=True, changed_at=get_now()
    )
    operations = [
        delete_sign_up_link(digest_of(key), stored),
        write_sign_up_mark(stored.record.address, expected=mark, expires_at=get_now() + GOOD_FOR),
        *created,
        expect_namespace(space),
        write_mail_address(address, expected=ABSENT),
        *await begin_feed(),
    ]
    if await commit(operations) is None:
        await _find(key)  # raises if the link was used in the meantime
        raise InvalidInput(f"the name {checked!r} is taken; choose another")
    log.info("user signed up", name=user.name)
    return user


async def _find(key: str) -> Stored[SignUpLink]:
    stored = await get_sign_up_link(digest_of(key))
    if stored is None or not _is_allowed(stored.record.address):
        raise LinkExpired(_GONE)
    if await _has_account(stored.record.address):  # through another link
        raise LinkExpired(_GONE)
    return stored


async def _has_account(address: str) -> bool:
    """Return whether a user has confirmed this address; unconfirmed ones could be anyone's."""
    users = await list_users_with_address(address)
    return any(one.is_confirmed for one in (await get_mail_addresses(users)).values())


def _check_domain(address: str) -> None:
    if not _is_allowed(address):
        domains = ", ".join(sorted(sign_up_domains(get_settings())))
        raise InvalidInput(f"use an email address of one of these domains: {domains}")


def _is_allowed(address: str) -> bool:
    return address.rpartition("@")[2].lower() in sign_up_domains(get_settings())
