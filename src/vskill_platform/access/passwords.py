"""Password rules, hashing with argon2id, and checks that take equally long for unknown users."""

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
#: A longer one is no safer, and takes time to hash.
MAX_LENGTH = 1000
#: The second recommendation of RFC 9106: three passes over 64 MiB.
_HASHER = PasswordHasher(time_cost=3, memory_cost=64 * 1024, parallelism=4)
#: Checked for unknown users, so that this takes equally long. No password matches: its salt and
#: hash are random.
DUMMY_DIGEST = (
    "$argon2id$v=19$m=65536,t=3,p=4"
    "$uQX6fCuAXfxEaZMnb+LTZw$Qm5vYm9keSBoYXMgdGhpcyBwYXNzd29yZCwgc28gZG8"
)
#: Each check needs 64 MiB for a moment.
_AT_ONCE = 2
_THREADS = ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="password")
#: Further checks wait a few seconds at most.
_TURNS = BoundedTurns(at_once=_AT_ONCE, waiting=20, busy="too many people are signing in")


def check_password(password: str, *, name: str) -> None:
    """Refuse passwords that are guessed first; length makes a password strong."""
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
    """Return the words of a user's name that an attacker would try."""
    for piece in (name, *re.split(r"[^a-z0-9]+", name)):
        if len(piece) >= _SHORTEST_NAME:
            yield piece


async def digest_password(password: str) -> str:
    async with _TURNS.turn():
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_THREADS, _HASHER.hash, password)


async def verify_password(digest: str | None, password: str) -> bool:
    """Tell whether the password is correct; without a hash it takes equally long to say no."""
    async with _TURNS.turn():
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_THREADS, _verify, digest, password)


def is_outdated(digest: str) -> bool:
    """Tell whether a hash was made with other cost parameters than the current ones."""
    return _HASHER.check_needs_rehash(digest)


def _verify(digest: str | None, password: str) -> bool:
    # No valid password is longer, so checking the beginning is enough.
    try:
        _HASHER.verify(digest or DUMMY_DIGEST, password[: MAX_LENGTH + 1])
    except VerifyMismatchError:
        return False
    return digest is not None
