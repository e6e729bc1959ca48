"""One-time codes of an authenticator app: TOTP (RFC 6238) with SHA-1, six digits and 30 seconds.

Every app supports these values. The standard library is enough for this.
"""

import base64
import hmac
import secrets
from datetime import datetime
from urllib.parse import quote, urlencode

_STEP_SECONDS = 30
_DIGITS = 6
#: Tolerates the clocks of phones and slow typing.
_STEPS_AROUND = 1


def new_totp_secret() -> str:
    """Return 160 random bits in base32, as apps expect them."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def totp_code(secret: str, step: int) -> str:
    digest = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), "sha1")
    at = digest[-1] & 0xF
    number = int.from_bytes(digest[at : at + 4], "big") & 0x7FFFFFFF
    return str(number % 10**_DIGITS).zfill(_DIGITS)


def current_step(now: datetime) -> int:
    return int(now.timestamp()) // _STEP_SECONDS


def matching_step(secret: str, code: str, *, now: datetime, after: int) -> int | None:
    """Return the step of a valid code; None if it is wrong, or not later than the last one."""
    text = "".join(code.split())
    if len(text) != _DIGITS or not (text.isascii() and text.isdigit()):
        return None
    here = current_step(now)
    steps = range(here - _STEPS_AROUND, here + _STEPS_AROUND + 1)
    matching = [step for step in steps if hmac.compare_digest(totp_code(secret, step), text)]
    return next((step for step in matching if step > after), None)


def totp_uri(secret: str, *, user: str, registry: str) -> str:
    """Return what the QR code contains."""
    query = {"secret": secret, "issuer": registry, "digits": _DIGITS, "period": _STEP_SECONDS}
    return (
        f"otpauth://totp/{quote(f'{registry}:{user}', safe='')}?{urlencode(query, quote_via=quote)}"
    )
