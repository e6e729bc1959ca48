"""A name for every request, in its answer, in its error and in every line logged meanwhile."""

import random

from litestar.types import Scope

REQUEST_ID_HEADER = "X-Request-Id"
_REQUEST_ID = "vskill_request_id"


def request_id_of(scope: Scope) -> str:
    """Return the name of a request; the first who asks gives it one."""
    state = scope["state"]
    if _REQUEST_ID not in state:
        # It is no secret, and asking the system for one would hand over the interpreter lock.
        state[_REQUEST_ID] = f"req_{random.getrandbits(80):020x}"
    name: str = state[_REQUEST_ID]
    return name
