"""Sign and verify messages exchanged with remote scanners.

HMAC-SHA256 over timestamp and body. The signature contains the purpose, so that our own request
cannot be replayed to us as a callback.
"""

import hashlib
import hmac
from datetime import UTC, datetime, timedelta

from vskill_platform.errors import NotAllowed
from vskill_platform.secret_settings import Secret

TIMESTAMP_HEADER = "X-Vskill-Timestamp"
SIGNATURE_HEADER = "X-Vskill-Signature"
#: How far the other clock may be off, and how long a message may take.
WINDOW = timedelta(minutes=5)
_SCHEME = "sha256="
_MAX_DIGITS = 12


def sign_dispatch(body: bytes, *, key: Secret, now: datetime) -> dict[str, str]:
    """Return the headers that sign a request."""
    moment = str(int(now.timestamp()))
    signed = _sign(key, f"dispatch.{moment}".encode(), body)
    return {TIMESTAMP_HEADER: moment, SIGNATURE_HEADER: signed}


def check_callback(
    body: bytes, *, moment: str, signature: str, key: Secret, now: datetime
) -> datetime:
    """Reject a message without a recent signature with *key*; return when it expires."""
    expected = _sign(key, moment.encode(errors="replace"), body)
    is_signed = hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))
    is_moment = moment.isascii() and moment.isdigit() and len(moment) <= _MAX_DIGITS
    if not is_signed or not is_moment:
        raise NotAllowed("the signature is invalid")
    sent_at = datetime.fromtimestamp(int(moment), UTC)
    if abs(now - sent_at) > WINDOW:
        raise NotAllowed(
            "the timestamp is not current; check the clock, and sign each attempt again"
        )
    return sent_at + WINDOW


def _sign(key: Secret, moment: bytes, body: bytes) -> str:
    digest = hmac.new(key.reveal().encode(), moment + b"." + body, hashlib.sha256)
    return _SCHEME + digest.hexdigest()
