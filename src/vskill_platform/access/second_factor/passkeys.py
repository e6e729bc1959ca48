"""Passkeys (WebAuthn): add, name and remove them, and verify them at a sign-in.

The library is imported only when someone uses a passkey, because importing it takes longer than
serving most pages.
"""

from datetime import timedelta

import msgspec

from vskill_platform.access.second_factor.factors import (
    new_recovery_codes,
    recovery_digests,
    without_factor,
)
from vskill_platform.access.secret_texts import digest_of, new_secret
from vskill_platform.access.sessions import mark_second_factor
from vskill_platform.access.sign_in import check_credentials, has_password
from vskill_platform.access.users import find_user
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn
from vskill_platform.model.user import User
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.passkey_store import (
    Passkey,
    PasskeyChallenge,
    change_passkey,
    delete_challenge,
    delete_passkey,
    find_passkey,
    get_challenge,
    get_passkey,
    list_passkeys,
    write_challenge,
    write_new_passkey,
)
from vskill_platform.stores.second_factor_store import (
    SecondFactor,
    get_second_factor,
    write_second_factor,
)
from vskill_platform.stores.user_store import get_user

log = get_logger(__name__)

MAX_PASSKEYS = 20
_MAX_NAME = 60
_MAX_CREDENTIAL = 64 * 1024
_CHALLENGE_LIFETIME = timedelta(minutes=5)
_REFUSED = "This passkey was not accepted."


class RelyingParty(msgspec.Struct, frozen=True, kw_only=True):
    """The registry as browsers know it."""

    #: The host name; passkeys are bound to it.
    id: str
    origin: str


class _ClientData(msgspec.Struct, frozen=True):
    challenge: str


class _Response(msgspec.Struct, frozen=True):
    clientDataJSON: str  # noqa: N815 - as browsers send it


class _Credential(msgspec.Struct, frozen=True):
    id: str
    response: _Response


async def begin_passkey(user: User, password: str, party: RelyingParty) -> str:
    """Return what the browser needs to create a passkey, as JSON."""
    await _check_password(user, password)
    known = await list_passkeys(user.name)
    if len(known) >= MAX_PASSKEYS:
        raise NotAllowed(f"you have {MAX_PASSKEYS} passkeys, the maximum; remove one first")
    challenge = await _new_challenge(adds_for=user.name)
    from webauthn import generate_registration_options, options_to_json  # noqa: PLC0415 - see above
    from webauthn.helpers import base64url_to_bytes, structs  # noqa: PLC0415 - see above

    options = generate_registration_options(
        rp_id=party.id,
        rp_name=party.id,
        user_name=user.name,
        user_id=digest_of(f"passkeys of {user.name}").encode()[:32],
        challenge=challenge.encode(),
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            structs.PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.credential_id))
            for one in known
        ],
    )
    return options_to_json(options)


async def add_passkey(
    user: User, name: str, credential: str, party: RelyingParty, *, session_id: str
) -> list[str]:
    """Store a new passkey; return recovery codes if it is the user's first factor.

    In that case all other sessions of the user end.
    """
    name = " ".join(name.split()) or "Passkey"
    if len(name) > _MAX_NAME or not name.isprintable():
        raise InvalidInput(f"a name has at most {_MAX_NAME} printable characters")
    challenge = await _use_challenge(credential, adds_for=user.name)
    passkey = _verify_new(user, name, credential, challenge, party)
    codes = new_recovery_codes()

    async def plan() -> PlannedChange[list[str]]:
        if await find_passkey(passkey.credential_id):
            raise NotAllowed("this passkey was added before")
        audit = write_audit(
            "user passkey", user.name, actor=user.name, reason=name, outcome="added"
        )
        operations: list[Operation] = [*write_new_passkey(passkey), audit]
        old = await get_second_factor(user.name)
        operations += await mark_second_factor(user.name, session_id, ends_others=old is None)
        if old:
            return PlannedChange(operations=operations, result=[])
        factor = SecondFactor(
            user=user.name, recovery=recovery_digests(user.name, codes), added_at=get_now()
        )
        operations.append(write_second_factor(factor, expected=ABSENT))
        return PlannedChange(operations=operations, result=codes)

    return await change(f"the passkeys of {user.name}", plan)


async def remove_passkey(user: User, key_id: str, password: str) -> Passkey:
    """Remove a passkey; without another one or an app, the second factor is off."""
    await _check_password(user, password)

    async def plan() -> PlannedChange[Passkey]:
        stored = await get_passkey(user.name, key_id)
        if stored is None:
            raise NotFound("that passkey was already removed")
        passkey = stored.record
        others = [one for one in await list_passkeys(user.name) if one.id != key_id]
        factor = await get_second_factor(user.name)
        operations = delete_passkey(passkey)
        if factor and not others and not factor.record.totp_secret:
            operations.append(without_factor(await find_user(user.name), factor))
        entry = {"reason": passkey.name, "outcome": "removed"}
        operations.append(write_audit("user passkey", user.name, actor=user.name, **entry))
        return PlannedChange(operations=operations, result=passkey)

    return await change(f"the passkeys of {user.name}", plan)


async def begin_passkey_sign_in(party: RelyingParty, *, user_name: str = "") -> str:
    """Return what the browser needs to use a passkey: any passkey, or one of this user."""
    challenge = await _new_challenge()
    from webauthn import generate_authentication_options, options_to_json  # noqa: PLC0415 - see above
    from webauthn.helpers import base64url_to_bytes, structs  # noqa: PLC0415 - see above

    known = await list_passkeys(user_name) if user_name else []
    options = generate_authentication_options(
        rp_id=party.id,
        challenge=challenge.encode(),
        user_verification=structs.UserVerificationRequirement.REQUIRED,
        allow_credentials=[
            structs.PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.credential_id))
            for one in known
        ],
    )
    return options_to_json(options)


async def use_passkey(credential: str, party: RelyingParty, *, user_name: str = "") -> User:
    """Verify a used passkey and return its user, who must be *user_name* if that is given.

    The device has verified its user by a PIN, a finger or a face, so a passkey counts as two
    factors.
    """
    challenge = await _use_challenge(credential, adds_for="")
    stored = await find_passkey(_read(credential).id)
    user = await get_user(stored.record.user) if stored else None
    if stored is None or user is None or user.record.is_disabled:
        raise NotSignedIn(_REFUSED)
    is_theirs = user_name in {"", stored.record.user}
    if not is_theirs or not await has_password(user.record):
        raise NotSignedIn(_REFUSED)
    count = _verify_used(stored.record, credential, challenge, party)
    used = msgspec.structs.replace(stored.record, sign_count=count, used_at=get_now())
    if await commit([change_passkey(stored, used)]) is None:
        raise NotSignedIn(_REFUSED)  # it was removed, or used concurrently
    return user.record


def _verify_new(
    user: User, name: str, credential: str, challenge: str, party: RelyingParty
) -> Passkey:
    from webauthn import verify_registration_response  # noqa: PLC0415 - see above
    from webauthn.helpers import bytes_to_base64url  # noqa: PLC0415 - see above
    from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415 - see above

    try:
        verified = verify_registration_response(
            credential=credential,
            expected_challenge=challenge.encode(),
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError) as error:
        log.warning("passkey refused", name=user.name, reason=type(error).__name__)
        raise InvalidInput(_REFUSED) from error
    return Passkey(
        user=user.name,
        name=name,
        credential_id=bytes_to_base64url(verified.credential_id),
        public_key=bytes_to_base64url(verified.credential_public_key),
        sign_count=verified.sign_count,
        created_at=get_now(),
    )


def _verify_used(passkey: Passkey, credential: str, challenge: str, party: RelyingParty) -> int:
    from webauthn import verify_authentication_response  # noqa: PLC0415 - see above
    from webauthn.helpers import base64url_to_bytes  # noqa: PLC0415 - see above
    from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415 - see above

    try:
        verified = verify_authentication_response(
            credential=credential,
            expected_challenge=challenge.encode(),
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=base64url_to_bytes(passkey.public_key),
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError) as error:
        log.warning("passkey refused", name=passkey.user, reason=type(error).__name__)
        raise NotSignedIn(_REFUSED) from error
    return verified.new_sign_count


async def _check_password(user: User, password: str) -> None:
    if not await has_password(user):
        raise NotAllowed("passkeys are for users with a password; you sign in elsewhere")
    if await check_credentials(user.name, password) is None:
        raise InvalidInput("the current password is wrong")


async def _new_challenge(*, adds_for: str = "") -> str:
    challenge = new_secret()
    record = PasskeyChallenge(adds_for=adds_for, expires_at=get_now() + _CHALLENGE_LIFETIME)
    await commit([write_challenge(digest_of(challenge), record)])
    return challenge


async def _use_challenge(credential: str, *, adds_for: str) -> str:
    """Return the challenge that a browser responds to; it cannot be used again."""
    from webauthn.helpers import base64url_to_bytes  # noqa: PLC0415 - see above

    try:
        data = base64url_to_bytes(_read(credential).response.clientDataJSON)
        encoded = msgspec.json.decode(data, type=_ClientData).challenge
        challenge = base64url_to_bytes(encoded).decode("ascii")
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise NotSignedIn(_REFUSED) from error
    digest = digest_of(challenge)
    stored = await get_challenge(digest)
    if stored is None or stored.record.adds_for != adds_for:
        raise NotSignedIn("That has expired or was used before. Try again.")
    if await commit([delete_challenge(digest, stored)]) is None:
        raise NotSignedIn("That has expired or was used before. Try again.")
    return challenge


def _read(credential: str) -> _Credential:
    if len(credential) > _MAX_CREDENTIAL:
        raise NotSignedIn(_REFUSED)
    try:
        return msgspec.json.decode(credential, type=_Credential)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise NotSignedIn(_REFUSED) from error
