"""The second factor over the API: set up an app, renew recovery codes, remove it."""

from datetime import datetime

from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from vskill_platform.access.second_factor.factors import (
    begin_totp,
    confirm_totp,
    remove_second_factor,
    renew_recovery_codes,
)
from vskill_platform.access.second_factor.totp import totp_uri
from vskill_platform.access.users import find_user
from vskill_platform.model.rights import STAFF
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.passkey_store import list_passkeys
from vskill_platform.stores.second_factor_store import get_second_factor
from vskill_platform.web.http.api_types import Ok, Shape, Text
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.people.confirm_identity import (
    check_strong_session,
    count_attempt,
    signed_in_user,
)


class PasskeyItem(Shape, frozen=True, kw_only=True):
    id: str
    name: str
    added_at: datetime


class SecondFactorStatus(Shape, frozen=True, kw_only=True):
    has_app: bool
    passkeys: list[PasskeyItem]
    #: Null if there is no second factor.
    added_at: datetime | None
    recovery_codes_left: int
    #: Whether your role needs one in this registry.
    is_required: bool


class TotpRequest(Shape, frozen=True, kw_only=True):
    #: Your current password.
    password: Text


class TotpSecret(Shape, frozen=True, kw_only=True):
    secret: str
    #: The secret in the form that apps read from a QR code.
    uri: str


class CodeRequest(Shape, frozen=True, kw_only=True):
    #: A code of the app, or a recovery code except to confirm a new app.
    code: Text


class RecoveryCodes(Shape, frozen=True, kw_only=True):
    recovery_codes: list[str]


async def show_second_factor(request: WebRequest) -> SecondFactorStatus:
    """Show your second factor, without any secret."""
    user = await find_user(signed_in_user(request).name)  # a weak session shows a lower role
    stored = await get_second_factor(user.name)
    return SecondFactorStatus(
        has_app=stored is not None and bool(stored.record.totp_secret),
        passkeys=[
            PasskeyItem(id=one.id, name=one.name, added_at=one.created_at)
            for one in await list_passkeys(user.name)
        ],
        added_at=stored.record.added_at if stored else None,
        recovery_codes_left=len(stored.record.recovery) if stored else 0,
        is_required=get_settings().second_factor == "staff" and user.role in STAFF,
    )


@operation(status=HTTP_200_OK, response_headers=NO_STORE_HEADER, also=(403, 429))
async def begin_over_api(request: WebRequest, data: JSONBody[TotpRequest]) -> TotpSecret:
    """Create the secret for an authenticator app. It takes effect when you confirm a code."""
    user = signed_in_user(request)
    await count_attempt(request, user.name)
    await check_strong_session(request)
    secret = await begin_totp(user, data.password)
    registry = request.url.hostname or "vskill-platform"
    return TotpSecret(secret=secret, uri=totp_uri(secret, user=user.name, registry=registry))


@operation(status=HTTP_200_OK, response_headers=NO_STORE_HEADER, also=(403, 404, 429))
async def confirm_over_api(request: WebRequest, data: JSONBody[CodeRequest]) -> RecoveryCodes:
    """Turn the second factor on. Your other sessions end; the recovery codes are shown once."""
    user = signed_in_user(request)
    await count_attempt(request, user.name)
    await check_strong_session(request)
    session_id = visitor_of(request).credential
    codes = await confirm_totp(user, data.code, session_id=session_id)
    return RecoveryCodes(recovery_codes=codes)


@operation(status=HTTP_200_OK, response_headers=NO_STORE_HEADER, also=(404, 429))
async def renew_over_api(request: WebRequest, data: JSONBody[CodeRequest]) -> RecoveryCodes:
    """Replace the recovery codes; the old ones no longer work."""
    user = signed_in_user(request)
    await count_attempt(request, user.name)
    return RecoveryCodes(recovery_codes=await renew_recovery_codes(user, data.code))


@operation(status=HTTP_200_OK, also=(403, 404, 429))
async def remove_over_api(request: WebRequest, data: JSONBody[CodeRequest]) -> Ok:
    """Remove the app, the passkeys and the recovery codes."""
    user = signed_in_user(request)
    await count_attempt(request, user.name)
    await remove_second_factor(user, data.code)
    return Ok()
