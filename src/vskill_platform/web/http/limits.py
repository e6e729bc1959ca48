"""How many at once: who asks for more gets as many as there can be, and a header says so."""

from typing import Annotated

from litestar.params import QueryParameter

#: More than any list gives at once, so that clients of the original are cut and not refused.
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]
Page = Annotated[int, QueryParameter(ge=1, le=100_000)]
Offset = Annotated[int, QueryParameter(ge=0, le=10_000_000)]


def clamp(limit: int, most: int) -> tuple[int, dict[str, str]]:
    """Return how many to give, and the header that says if that is less than was asked for."""
    return min(limit, most), {"X-Limit-Clamped": str(most)} if limit > most else {}
