"""Keys are ordered by code point, and a prefix is a range of them."""

from vskill_platform.errors import InvalidInput

#: Longer keys would bloat every index.
MAX_KEY_BYTES = 1024
_LAST_CODE_POINT = "\U0010ffff"
_SURROGATES = range(0xD800, 0xE000)


def check_key(key: str) -> None:
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"a key must be valid text: {key!r}") from error
    if not 0 < size <= MAX_KEY_BYTES:
        raise InvalidInput(f"a key has 1 to {MAX_KEY_BYTES} bytes, this one has {size}")


def after_key(key: str) -> str:
    """Return the first key that could follow *key*."""
    return key + "\0"


def end_of_prefix(prefix: str) -> str | None:
    """Return the first key behind all that start with *prefix*; None if there is no end."""
    stem = prefix.rstrip(_LAST_CODE_POINT)
    if not stem:
        return None
    code_point = ord(stem[-1]) + 1
    return stem[:-1] + chr(_SURROGATES.stop if code_point in _SURROGATES else code_point)
