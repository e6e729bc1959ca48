"""Secrets that are handed out once and kept only as their digests.

They are long and random, so a plain digest is enough: there is nothing to guess. A token also says
what it is and carries a checksum, so that scanners for lost secrets know it, and so that a misspelt
one costs no look into the database.
"""

import hashlib
import secrets
import string
import zlib

TOKEN_PREFIX = "vsk_"  # noqa: S105 - what every token begins with
_LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM_LENGTH = 34
_CHECKSUM_LENGTH = 6


def new_secret() -> str:
    """Make the secret of a session or of a link: 256 bits that fit into a cookie and a URL."""
    return secrets.token_urlsafe(32)


def new_token_text() -> str:
    """Make a token: 202 bits, and six letters that say whether it was copied rightly."""
    body = "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM_LENGTH))
    return f"{TOKEN_PREFIX}{body}{_checksum(body)}"


def is_token_text(text: str) -> bool:
    """Tell whether it could be one of ours, without asking anybody."""
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
