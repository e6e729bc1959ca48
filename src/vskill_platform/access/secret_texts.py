"""Generate secrets that are shown once and stored only as digests.

They are long and random, so a plain digest is enough. With its prefix and checksum, a token is
recognized by secret scanners, and a mistyped token is rejected without a database query.
"""

import hashlib
import secrets
import string
import zlib

TOKEN_PREFIX = "vsk_"  # noqa: S105 - the prefix of every token
_LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM_LENGTH = 34
_CHECKSUM_LENGTH = 6


def new_secret() -> str:
    """Return a 256-bit secret for a session or link, safe in cookies and URLs."""
    return secrets.token_urlsafe(32)


def new_token_text() -> str:
    """Return a token: 202 random bits and a checksum of six letters."""
    body = "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM_LENGTH))
    return f"{TOKEN_PREFIX}{body}{_checksum(body)}"


def is_token_text(text: str) -> bool:
    """Return whether the text is a well-formed token, by its prefix and checksum."""
    body = text.removeprefix(TOKEN_PREFIX)
    if body == text or len(body) != _RANDOM_LENGTH + _CHECKSUM_LENGTH or not body.isascii():
        return False
    return body[_RANDOM_LENGTH:] == _checksum(body[:_RANDOM_LENGTH])


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    letters = ""
    for _ in range(_CHECKSUM_LENGTH):
        number, rest = divmod(number, len(_LETTERS))
        letters = _LETTERS[rest] + letters
    return letters
