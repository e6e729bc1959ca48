"""The key that signs URLs: created once, and the same on every node."""

import secrets

from vskill_platform.engines.operations import ABSENT, NEVER, Put
from vskill_platform.errors import EngineError
from vskill_platform.stores.db import commit, get_kv

_KEY = "signing-key:urls"
_BYTES = 32


async def find_signing_key() -> bytes:
    """Return the key; the first caller creates it."""
    known = await get_kv().get(_KEY)
    if known is None:
        # If another node was faster, its key is used.
        await commit([Put(_KEY, secrets.token_bytes(_BYTES), expected=ABSENT, due=NEVER)])
        known = await get_kv().get(_KEY)
    if known is None:
        raise EngineError("the key for signed URLs could not be stored")
    return known.value
