"""The second factor of a user: an authenticator app and recovery codes; changes are audited."""

import hmac
import secrets
from datetime import timedelta

import msgspec

from vskill_platform.access.second_factor.totp import matching_step, new_totp_secret
from vskill_platform.access.secret_texts import digest_of
from vskill_platform.access.sessions import mark_second_factor
from vskill_platform.access.sign_in import check_credentials, has_password
from vskill_platform.access.users import find_user
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.rights import STAFF
from vskill_platform.model.user import User
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.passkey_store import delete_passkey, list_passkeys
from vskill_platform.stores.records import Stored
from vskill_platform.stores.second_factor_store import (
    SecondFactor,
    delete_new_totp,
    delete_second_factor,
    get_new_totp,
    get_second_factor,
    write_new_totp,
    write_second_factor,
)

log = get_logger(__name__)

RECOVERY_CODES = 10
WRONG_CODE = "The code is wrong, or was used before."
#: Omits letters and digits that look alike.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP_LENGTH = 4, 4
_MAX_CODE_LENGTH = 64
#: How long a user may take to scan the code.
_ENROL_WITHIN = timedelta(minutes=15)


async def begin_totp(user: User, password: str) -> str:
    """Return a secret for an app; it takes effect when the user has entered a code of the app."""
    if not await has_password(user):
        raise NotAllowed("you sign in without a password, so you need no second factor here")
    if await check_credentials(user.name, password) is None:
        raise InvalidInput("the current password is wrong")
    secret = new_totp_secret()
    await commit([write_new_totp(user.name, secret, expires_at=get_now() + _ENROL_WITHIN)])
    return secret


async def confirm_totp(user: User, code: str, *, session_id: str) -> list[str]:
    """Turn the second factor on; return the recovery codes, which are shown once.

    All other sessions of the user end, unless the user already had a second factor.
    """
    codes = new_recovery_codes()

    async def plan() -> PlannedChange[list[str]]:
        secret = await get_new_totp(user.name)
        if secret is None:
            raise NotFound("that took more than 15 minutes; start again")
        step = matching_step(secret, code, now=get_now(), after=0)
        if step is None:
            raise InvalidInput(WRONG_CODE)
        old = await get_second_factor(user.name)  # passkeys, or another app
        factor = SecondFactor(
            user=user.name,
            totp_secret=secret,
            last_step=step,
            recovery=recovery_digests(user.name, codes),
            added_at=get_now(),
        )
        operations = [
            write_second_factor(factor, expected=old.revision if old else ABSENT),
            delete_new_totp(user.name),
            *await mark_second_factor(user.name, session_id, ends_others=old is None),
            write_audit("user second-factor", user.name, actor=user.name, reason="", outcome="on"),
        ]
        return PlannedChange(operations=operations, result=codes)

    return await change(f"the second factor of {user.name}", plan)


async def renew_recovery_codes(user: User, code: str) -> list[str]:
    """Replace the recovery codes, given a code of the app."""
    await use_code(user.name, code)
    codes = new_recovery_codes()

    async def plan() -> PlannedChange[list[str]]:
        stored = await _find(user.name)
        renewed = msgspec.structs.replace(
            stored.record, recovery=recovery_digests(user.name, codes)
        )
        audit = write_audit(
            "user second-factor", user.name, actor=user.name, reason="",
            outcome="new recovery codes",
        )  # fmt: skip
        operations = [write_second_factor(renewed, expected=stored.revision), audit]
        return PlannedChange(operations=operations, result=codes)

    return await change(f"the second factor of {user.name}", plan)


async def remove_second_factor(user: User, code: str) -> None:
    """Turn the second factor off, given a code."""
    _check_may_do_without(await find_user(user.name))  # a weak session shows a lower role
    await use_code(user.name, code)
    await reset_second_factor(user.name, actor=user.name, reason="own choice")


async def reset_second_factor(name: str, *, actor: str, reason: str = "") -> User:
    """Remove a user's app, passkeys and recovery codes; sessions stay valid."""
    user = await find_user(name)

    async def plan() -> PlannedChange[User]:
        stored = await _find(user.name)
        keys = [
            operation
            for passkey in await list_passkeys(user.name)
            for operation in delete_passkey(passkey)
        ]
        audit = write_audit(
            "user second-factor", user.name, actor=actor, reason=reason, outcome="off"
        )
        return PlannedChange(operations=[delete_second_factor(stored), *keys, audit], result=user)

    return await change(f"the second factor of {user.name}", plan)


async def use_code(name: str, code: str) -> None:
    """Check and use up a code of the app or a recovery code; raise InvalidInput if it is wrong."""

    async def plan() -> PlannedChange[str]:
        stored = await _find(name)
        changed, used = _with_used(stored, code[:_MAX_CODE_LENGTH])
        operations: list[Operation] = [write_second_factor(changed, expected=stored.revision)]
        if used == "recovery code":
            left = f"{len(changed.recovery)} recovery codes left"
            operations.append(
                write_audit("user recovery-code", name, actor=name, reason="", outcome=left)
            )
        return PlannedChange(operations=operations, result=used)

    log.info("second factor used", name=name, kind=await change(f"the codes of {name}", plan))


def _with_used(stored: Stored[SecondFactor], code: str) -> tuple[SecondFactor, str]:
    factor = stored.record
    if factor.totp_secret:
        step = matching_step(factor.totp_secret, code, now=get_now(), after=factor.last_step)
        if step is not None:
            return msgspec.structs.replace(factor, last_step=step), "code"
    digest = recovery_digests(factor.user, [code])[0]
    left = tuple(one for one in factor.recovery if not hmac.compare_digest(one, digest))
    if left == factor.recovery:
        raise InvalidInput(WRONG_CODE)
    return msgspec.structs.replace(factor, recovery=left), "recovery code"


def without_factor(user: User, stored: Stored[SecondFactor]) -> Operation:
    """Return the operation that removes the rest of the second factor."""
    _check_may_do_without(user)
    return delete_second_factor(stored)


def _check_may_do_without(user: User) -> None:
    if get_settings().second_factor == "staff" and user.role in STAFF:
        raise NotAllowed("your role requires a second factor")


async def _find(name: str) -> Stored[SecondFactor]:
    stored = await get_second_factor(name)
    if stored is None:
        raise NotFound(f"{name} has no second factor")
    return stored


def new_recovery_codes() -> list[str]:
    """Return codes of 79 random bits each, enough for a plain digest."""
    return [
        "-".join(
            "".join(secrets.choice(_LETTERS) for _ in range(_GROUP_LENGTH)) for _ in range(_GROUPS)
        )
        for _ in range(RECOVERY_CODES)
    ]


def recovery_digests(name: str, codes: list[str]) -> tuple[str, ...]:
    plain = ["".join(letter for letter in code.lower() if letter in _LETTERS) for code in codes]
    return tuple(digest_of(f"recovery code of {name}: {code}") for code in plain)
