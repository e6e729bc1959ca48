"""Input checks that every engine makes before it touches its database."""

from collections.abc import Sequence

from vskill_platform.engines.operations import Delete, Expect, Operation, Put, Send
from vskill_platform.engines.ports import MAX_VALUE_BYTES
from vskill_platform.errors import InvalidInput

#: Longer keys would bloat every index.
MAX_KEY_BYTES = 1024


def check_text(text: str) -> int:
    """Return the size of *text* in bytes; reject text that some database cannot store."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"a key must be valid text: {text!r}") from error
    if b"\0" in encoded:
        raise InvalidInput(f"a key must be text without NUL: {text!r}")
    return len(encoded)


def check_key(key: str) -> None:
    if key.isascii() and key.isprintable() and 0 < len(key) <= MAX_KEY_BYTES:
        return  # fast path for nearly every key
    size = check_text(key)
    if not 0 < size <= MAX_KEY_BYTES:
        raise InvalidInput(f"a key has 1 to {MAX_KEY_BYTES} bytes, this one has {size}")


def check_keys(keys: Sequence[str]) -> None:
    """Check several keys or marks at once, because most commits and reads have many."""
    together = "".join(keys)
    lengths = [len(key) for key in keys] or [1]
    is_plain = together.isascii() and together.isprintable()
    if is_plain and min(lengths) > 0 and max(lengths) <= MAX_KEY_BYTES:
        return
    for key in keys:
        check_key(key)


def check_limit(limit: int) -> None:
    if limit < 1:
        raise InvalidInput(f"the limit must be 1 or more, not {limit}")


def check_operations(operations: Sequence[Operation]) -> int:
    """Refuse a commit that cannot be stored, before it is written; return its size in bytes."""
    size = 0
    check_keys([each.key for each in operations if isinstance(each, Put | Delete | Expect)])
    for operation in operations:
        if isinstance(operation, Put):
            if operation.marks:
                check_keys(operation.marks)
            size += _check_size(operation.value)
        elif isinstance(operation, Send):
            names = (operation.key, operation.group or None, operation.resource or None)
            check_keys([name for name in names if name is not None])
            size += _check_size(operation.body)
    return size


def _check_size(content: bytes) -> int:
    if len(content) > MAX_VALUE_BYTES:
        raise InvalidInput(f"{len(content):,} bytes exceed the limit of {MAX_VALUE_BYTES:,}")
    return len(content)
