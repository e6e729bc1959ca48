"""Short-lived signed URLs, for clients that cannot send a token.

Visitors who may see a private skill get URLs of its files that work for 10 to 20 minutes. A URL is
for one version, so a leaked one gives access to nothing else, and it contains no token. Times are
rounded, so that the URLs in a list, and therefore its ETag, change only every 10 minutes.
"""

import hashlib
import hmac
from datetime import datetime, timedelta

import msgspec

from vskill_platform.stores.db import get_now
from vskill_platform.stores.signing_key_store import find_signing_key

_WINDOW = timedelta(minutes=10)
_MAX_DIGITS = 12


class Signer(msgspec.Struct, frozen=True):
    """Signs URLs without reading the key again, because a list may contain thousands."""

    key: bytes
    expires: int

    def sign(self, subject: str) -> str:
        """Return a signature that allows reading *subject* for 10 to 20 minutes."""
        return f"{self.expires}-{_mac(self.key, subject, self.expires)}"


async def find_signer() -> Signer:
    return Signer(await find_signing_key(), current_window(get_now()) + 2)


async def is_signed(subject: str, signature: str) -> bool:
    """Return whether a signature is for *subject* and still valid."""
    number, _, given = signature.partition("-")
    if not (number.isascii() and number.isdigit() and len(number) <= _MAX_DIGITS):
        return False
    expected = _mac(await find_signing_key(), subject, int(number))
    is_valid = hmac.compare_digest(given.encode(), expected.encode())
    return is_valid and current_window(get_now()) < int(number)


def current_window(now: datetime) -> int:
    """Return the number of the current ten-minute window; signatures within one are equal."""
    return int(now.timestamp() // _WINDOW.total_seconds())


def _mac(key: bytes, subject: str, expires: int) -> str:
    return hmac.new(key, f"{expires}\0{subject}".encode(), hashlib.sha256).hexdigest()
