"""Keys are ordered by code point, and a prefix is a range of them."""

_LAST_CODE_POINT = "\U0010ffff"
_SURROGATES = range(0xD800, 0xE000)


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
