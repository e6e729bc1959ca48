"""Sign in a program without a browser: a user approves its code in a browser (RFC 8628)."""

import re
import secrets
from collections.abc import Iterable
from datetime import timedelta

import msgspec

from vskill_platform.access.secret_texts import digest_of, new_secret
from vskill_platform.access.tokens import (
    DEFAULT_LIFETIME,
    MAX_LABEL_LENGTH,
    MAX_TOKENS,
    NewToken,
    add_token,
)
from vskill_platform.access.users import find_user
from vskill_platform.base.show_text import show
from vskill_platform.errors import DeviceRefused, InvalidInput, NotAllowed, NotFound, Overtaken
from vskill_platform.model.rights import SCOPES_OF
from vskill_platform.model.user import Scope, User
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.device_login_store import (
    DeviceLogin,
    delete_device_login,
    get_device_digest,
    get_device_login,
    write_device_login,
    write_new_device_login,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.token_store import list_tokens

#: How long the codes are valid.
GOOD_FOR = timedelta(minutes=10)
#: How long a program waits between two requests.
POLL_INTERVAL = timedelta(seconds=3)
#: The interval for a program that asked too early.
SLOWER_INTERVAL = POLL_INTERVAL + timedelta(seconds=5)
#: A request may come this much too early, because clocks and networks are not exact.
_TOLERANCE = timedelta(seconds=1)
#: No vowels, so that no words appear, and no letters that look like digits (RFC 8628, 6.1).
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_CODE_LENGTH = 8
_NOT_A_LETTER = re.compile(r"[^A-Z]")
_MAX_PROGRAM_LENGTH = 200
#: The scope `admin` is missing: such tokens are created only on the account page.
DEVICE_SCOPES = frozenset(Scope) - {Scope.ADMIN}
#: Other clients' names for our scopes.
_ALIASES = {
    "write": (Scope.SUBMIT, Scope.MANAGE),
    "publish": (Scope.SUBMIT,),
    "skills:read": (Scope.READ,),
    "skills:write": (Scope.SUBMIT, Scope.MANAGE),
}
_GONE = "This code is not valid: it was used, is older than 10 minutes or is misspelled."


class DeviceCodes(msgspec.Struct, frozen=True, kw_only=True):
    #: The program's secret.
    device_code: str
    #: What the user enters, such as `BCDF-GHJK`.
    user_code: str
    login: DeviceLogin


async def request_device_login(
    label: str, scopes: str, *, address: str, program: str
) -> DeviceCodes:
    """Create the codes for a program; *scopes* are separated by spaces."""
    device_code, user_code = new_secret(), _new_user_code()
    now = get_now()
    login = DeviceLogin(
        label=show(label.strip(), limit=MAX_LABEL_LENGTH) or "device login",
        scopes=_read_scopes(scopes),
        address=address,
        program=show(program, limit=_MAX_PROGRAM_LENGTH),
        created_at=now,
        expires_at=now + GOOD_FOR,
        user_code_digest=_digest_of_code(user_code),
    )
    if await commit(write_new_device_login(digest_of(device_code), login)) is None:
        raise Overtaken("the codes could not be created; try again")
    return DeviceCodes(device_code=device_code, user_code=user_code, login=login)


async def find_device_login(user_code: str) -> DeviceLogin:
    """Return the program that waits for the approval of this code; raise NotFound if none does."""
    return (await _find(user_code))[1].record


def scopes_for(login: DeviceLogin, user: User) -> tuple[Scope, ...]:
    """Return the scopes that the program requests and the user can grant."""
    return tuple(scope for scope in login.scopes if scope in SCOPES_OF[user.role])


async def approve_device(user_code: str, user: User) -> DeviceLogin:
    """Grant the program a token of this user."""

    async def plan() -> PlannedChange[DeviceLogin]:
        digest, stored = await _find(user_code)
        granted = scopes_for(stored.record, user)
        if not granted:
            raise NotAllowed(f"the role {user.role} allows none of the scopes")
        if len(await list_tokens(user.name)) >= MAX_TOKENS:
            raise NotAllowed(f"you have {MAX_TOKENS} tokens, the maximum; revoke one first")
        login = msgspec.structs.replace(
            stored.record, state="approved", user=user.name, epoch=user.epoch, scopes=granted
        )
        return _decided(digest, stored, login)

    return await change("this sign-in", plan)


async def deny_device(user_code: str, user: User) -> DeviceLogin:
    """Refuse the program; its code cannot be used again."""

    async def plan() -> PlannedChange[DeviceLogin]:
        digest, stored = await _find(user_code)
        login = msgspec.structs.replace(stored.record, state="denied", user=user.name)
        return _decided(digest, stored, login)

    return await change("this sign-in", plan)


async def redeem_device_code(device_code: str) -> NewToken:
    """Return the token of an approved program, once; raise DeviceRefused until then."""
    digest = digest_of(device_code)
    stored = await get_device_login(digest)
    if stored is None:
        raise DeviceRefused("expired_token", "the code was used or is older than 10 minutes")
    login = stored.record
    if login.state == "pending":
        await _count_poll(digest, stored)
        raise DeviceRefused("authorization_pending", "the user has not decided yet")
    if await commit(delete_device_login(digest, stored)) is None:
        raise DeviceRefused("expired_token", "the code was just used")
    if login.state == "denied":
        raise DeviceRefused("access_denied", "the user denied the request")
    user = await find_user(login.user)
    if user.is_disabled or user.epoch != login.epoch:
        raise DeviceRefused("access_denied", "the user has signed out everywhere")
    try:
        return await add_token(
            user.name, login.label, login.scopes, actor=user.name, lifetime=DEFAULT_LIFETIME
        )
    except (InvalidInput, NotAllowed) as error:
        raise DeviceRefused("access_denied", str(error)) from error


async def _count_poll(digest: str, stored: Stored[DeviceLogin]) -> None:
    login, now = stored.record, get_now()
    if login.polled_at and now - login.polled_at < POLL_INTERVAL - _TOLERANCE:
        raise DeviceRefused("slow_down", "wait longer between two requests")
    polled = msgspec.structs.replace(login, polled_at=now)
    # If this fails, the user has just decided; the next request sees the decision.
    await commit([write_device_login(digest, polled, expected=stored.revision)])


async def _find(user_code: str) -> tuple[str, Stored[DeviceLogin]]:
    digest = await get_device_digest(_digest_of_code(user_code))
    stored = await get_device_login(digest) if digest else None
    if digest is None or stored is None or stored.record.state != "pending":
        raise NotFound(_GONE)
    return digest, stored


def _decided(
    digest: str, stored: Stored[DeviceLogin], login: DeviceLogin
) -> PlannedChange[DeviceLogin]:
    audit = write_audit(
        "device approve" if login.state == "approved" else "device deny",
        login.user,
        actor=login.user,
        reason=login.label,
        outcome=f"{', '.join(login.scopes)}; requested from {login.address or 'unknown'}",
    )
    write = write_device_login(digest, login, expected=stored.revision)
    return PlannedChange(operations=[write, audit], result=login)


def _read_scopes(text: str) -> tuple[Scope, ...]:
    words = text.split() or [Scope.READ.value]
    found = {scope for word in words for scope in _scopes_named(word)}
    return tuple(scope for scope in Scope if scope in found)


def _scopes_named(word: str) -> Iterable[Scope]:
    if word in _ALIASES:
        return _ALIASES[word]
    if word in DEVICE_SCOPES:
        return (Scope(word),)
    names = ", ".join(scope for scope in Scope if scope in DEVICE_SCOPES)
    raise DeviceRefused("invalid_scope", f"scope: choose from {names}")


def _new_user_code() -> str:
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
    half = _CODE_LENGTH // 2
    return f"{letters[:half]}-{letters[half:]}"


def _digest_of_code(user_code: str) -> str:
    """Return the digest of a code as a user may type it: in lower case, with or without hyphen."""
    return digest_of(f"user code {_NOT_A_LETTER.sub('', user_code.upper())}")
