"""Validate, hash (argon2id) and verify passwords, in equal time for unknown users.

users.py sets the password of a user, which ends the sessions.
"""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from vskill_platform.access.weak_passwords import count_guesses, repeats_a_piece
from vskill_platform.base.bounded_turns import BoundedTurns
from vskill_platform.errors import InvalidInput

MIN_LENGTH = 12
_SHORTEST_NAME = 3
#: A longer password is not safer and takes longer to hash.
MAX_LENGTH = 1000
#: The second recommended option of RFC 9106: three passes over 64 MiB.
_HASHER = PasswordHasher(time_cost=3, memory_cost=64 * 1024, parallelism=4)
#: Verified if the user is unknown, so that this takes as long as for a known user. No password
#: matches it, because salt and digest are random.
DUMMY_DIGEST = (
    "$argon2id$v=19$m=65536,t=3,p=4"
    "$uQX6fCuAXfxEaZMnb+LTZw$Qm5vYm9keSBoYXMgdGhpcyBwYXNzd29yZCwgc28gZG8"
)
#: Each hash uses 64 MiB of memory.
_AT_ONCE = 2
_THREADS = ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="password")
#: This many more requests wait for a few seconds; any others are refused.
_TURNS = BoundedTurns(at_once=_AT_ONCE, waiting=20, busy="too many people are signing in")


def check_password(password: str, *, name: str) -> None:
    """Refuse weak passwords; the main requirement is length."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise InvalidInput(f"a password must have {MIN_LENGTH} to {MAX_LENGTH} characters")
    if len(set(password)) < MIN_LENGTH // 3:
        raise InvalidInput("this password repeats only a few characters")
    if repeats_a_piece(password, shorter_than=MIN_LENGTH):
        raise InvalidInput("this password repeats one short piece")
    if count_guesses(password, names=frozenset(_pieces(name))) < MIN_LENGTH // 2:
        raise InvalidInput(
            "this password is easily guessed: a common word, your name, a year or a run of keys "
            "counts as one character, however it is spelled; use several uncommon words"
        )


def _pieces(name: str) -> Iterator[str]:
    """Yield the parts of a user name that an attacker would try."""
    for piece in (name, *re.split(r"[^a-z0-9]+", name)):
        if len(piece) >= _SHORTEST_NAME:
            yield piece


async def digest_password(password: str) -> str:
    async with _TURNS.turn():
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_THREADS, _HASHER.hash, password)


async def verify_password(digest: str | None, password: str) -> bool:
    """Return whether the password matches; without a digest, False after the same time."""
    async with _TURNS.turn():
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_THREADS, _verify, digest, password)


def is_outdated(digest: str) -> bool:
    """Return whether it was hashed with parameters other than the current ones."""
    return _HASHER.check_needs_rehash(digest)


def _verify(digest: str | None, password: str) -> bool:
    # No stored password is longer, so a longer input can be cut.
    try:
        _HASHER.verify(digest or DUMMY_DIGEST, password[: MAX_LENGTH + 1])
    except VerifyMismatchError:
        return False
    return digest is not None
