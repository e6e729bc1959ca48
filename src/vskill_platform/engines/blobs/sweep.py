"""References to blobs, and removal of blobs without any.

A blob is stored before the commit that names it. A sweeper must not delete it in between, however
slow the writer is, and must not delete a blob that a commit names again. A record, the claim of the
sweeper, and the order of commits ensure both:

1. The sweeper writes its claim on an old blob. From now on, commits that name this blob are
   refused, because they expect that there is no claim.
2. Then it looks for records that name the blob. If there is one, it removes the claim.
3. Otherwise it makes the claim final, unless another sweeper has changed it. A final claim is never
   removed, so no record will ever name this blob again, and it can be deleted.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Expect, Operation, Put
from vskill_platform.engines.ports import Engine

#: Prefix of the claim of a sweeper that is about to delete a blob.
_CLAIM = "blob-swept:"
_CHECKING, _FINAL = b"checking", b"final"
#: A writer that was suspended for longer than this gets an error when it reads the blob.
_CLAIM_KEPT_FOR = timedelta(days=365)
_AT_ONCE = 200


def refer_to_blob(put: Put, name: str) -> list[Operation]:
    """Return *put* as a record that names a blob, and a check that the blob is not being swept.

    If the commit is refused, store the blob again.
    """
    marked = msgspec.structs.replace(put, marks=(*put.marks, _mark(name)))
    return [marked, Expect(_CLAIM + name, ABSENT)]


async def is_swept(engine: Engine, name: str) -> bool:
    """Return whether a commit that names this blob would be refused."""
    return await engine.kv.get(_CLAIM + name) is not None


async def sweep_blobs(engine: Engine, *, stored_before: datetime) -> int:
    """Delete the blobs from before a time that no record names; return how many."""
    swept = 0
    async for page in engine.blobs.list_own():
        old = [blob.name for blob in page if blob.stored_at < stored_before]
        for start in range(0, len(old), _AT_ONCE):
            for name in await _unused(engine, old[start : start + _AT_ONCE]):
                swept += await _sweep(engine, name)
    return swept


async def _unused(engine: Engine, names: Sequence[str]) -> list[str]:
    found = await engine.kv.find_marked([_mark(name) for name in names], limit=1)
    return [name for name, keys in zip(names, found, strict=True) if not keys]


async def _sweep(engine: Engine, name: str) -> bool:
    claim = await engine.kv.get(_CLAIM + name)
    if claim is None or claim.value != _FINAL:
        expected = claim.revision if claim else ABSENT
        revision = await engine.commit([_claim(engine, name, _CHECKING, expected)])
        if revision is None:
            return False  # another sweeper was faster
        if not await _unused(engine, [name]):
            await engine.commit([Delete(_CLAIM + name, expected=revision)])
            return False
        if await engine.commit([_claim(engine, name, _FINAL, revision)]) is None:
            return False
    await engine.blobs.delete(name)
    return True


def _claim(engine: Engine, name: str, state: bytes, expected: int) -> Put:
    until = engine.clock.now() + _CLAIM_KEPT_FOR
    return Put(_CLAIM + name, state, expected=expected, due=NEVER, expires_at=until)


def _mark(name: str) -> str:
    return f"uses-blob:{name}"
