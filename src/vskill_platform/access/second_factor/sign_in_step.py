"""The second step of a sign-in: after the password, before the session."""

from datetime import timedelta

import msgspec

from vskill_platform.access.second_factor.factors import WRONG_CODE, use_code
from vskill_platform.access.secret_texts import digest_of, new_secret
from vskill_platform.access.sessions import OpenSession, begin_session
from vskill_platform.access.sign_in import check_sign_in
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import InvalidInput, NotFound, NotSignedIn, SecondFactorNeeded
from vskill_platform.model.user import User
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import Stored
from vskill_platform.stores.second_factor_store import (
    SignInStep,
    delete_sign_in_step,
    expect_no_second_factor,
    get_second_factor,
    get_sign_in_step,
    write_sign_in_step,
)
from vskill_platform.stores.user_store import get_user

log = get_logger(__name__)

STEP_LIFETIME = timedelta(minutes=5)
_MAX_TRIES = 5
_OVER = "This took too long, or there were too many wrong codes. Sign in again."


async def sign_in(
    name: str, password: str, *, back: str = "/", address: str = "", browser: str = ""
) -> OpenSession:
    """Start a session for the user with this name and password.

    Raise SecondFactorNeeded if the password is right and the user has a second factor.
    """
    user = await check_sign_in(name, password, address=address)
    return await open_session(user, back=back, address=address, browser=browser)


async def open_session(
    user: User, *, back: str = "/", address: str = "", browser: str = ""
) -> OpenSession:
    """Start a session for a user whose password was right; raise if a second factor is needed."""
    if await get_second_factor(user.name) is None:
        # Turning it on ends all other sessions, even one that begins at the same moment.
        alone = [expect_no_second_factor(user.name)]
        opened = await begin_session(user, address=address, browser=browser, also=lambda _: alone)
        log.info("signed in", name=user.name, address=address)
        return opened
    secret = new_secret()
    step = SignInStep(
        user=user.name, epoch=user.epoch, next=back, expires_at=get_now() + STEP_LIFETIME
    )
    await commit([write_sign_in_step(digest_of(secret), step)])
    raise SecondFactorNeeded(secret)


async def find_step(secret: str) -> tuple[SignInStep, User]:
    """Return a sign-in that waits for its second factor; raise NotSignedIn if none does."""
    stored, user = await _find(secret)
    return stored.record, user


async def finish_step(
    secret: str, code: str, *, address: str = "", browser: str = ""
) -> tuple[OpenSession, str]:
    """Check the code; return the new session and the page to return to."""
    stored, user = await _find(secret)
    try:
        await use_code(user.name, code)
    except NotFound as error:  # the factor was reset meanwhile
        raise NotSignedIn(_OVER) from error
    except InvalidInput as error:
        await _count_wrong(secret, stored)
        log.warning("second factor refused", name=user.name, address=address)
        raise NotSignedIn(WRONG_CODE) from error
    return await end_step(secret, address=address, browser=browser)


async def end_step(secret: str, *, address: str = "", browser: str = "") -> tuple[OpenSession, str]:
    """Start the session after the second factor was verified."""
    stored, user = await _find(secret)
    if await commit([delete_sign_in_step(digest_of(secret), stored)]) is None:
        raise NotSignedIn(_OVER)
    log.info("signed in", name=user.name, address=address, second_factor=True)
    opened = await begin_session(user, address=address, browser=browser, has_second_factor=True)
    return opened, stored.record.next


async def _find(secret: str) -> tuple[Stored[SignInStep], User]:
    stored = await get_sign_in_step(digest_of(secret)) if secret else None
    user = await get_user(stored.record.user) if stored else None
    if stored is None or user is None or user.record.is_disabled:
        raise NotSignedIn(_OVER)
    if user.record.epoch != stored.record.epoch:
        raise NotSignedIn(_OVER)
    return stored, user.record


async def _count_wrong(secret: str, stored: Stored[SignInStep]) -> None:
    digest, step = digest_of(secret), stored.record
    tries = step.tries + 1
    if tries >= _MAX_TRIES:
        await commit([delete_sign_in_step(digest, stored)])
        return
    counted = msgspec.structs.replace(step, tries=tries)
    # If this fails, a concurrent try was counted; tries are also counted by name.
    await commit([write_sign_in_step(digest, counted, expected=stored.revision)])
