"""Which installs were counted today: one visitor counts once a day for each skill.

In memory, by each node for itself: a count that anybody could raise at will would say nothing,
and who installs what is not kept anywhere.
"""

from collections.abc import Iterable
from datetime import date
from hashlib import blake2b
from typing import Any

from litestar.connection import ASGIConnection

from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import VskillError
from vskill_platform.stores.db import get_now
from vskill_platform.stores.install_store import add_installs
from vskill_platform.web.http.rate_limits import who_asks
from vskill_platform.web.http.visitor import visitor_of

log = get_logger(__name__)

#: So many installs are remembered at the same time; the oldest are forgotten first.
_MOST = 200_000
_MARK_BYTES = 16


class CountedInstalls:
    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._day = date.min
        #: Marks of visitor and skill, in the order in which they came; nobody can read them back.
        self._known: dict[bytes, None] = {}

    def take(self, who: str, slugs: Iterable[str], *, today: date) -> dict[str, int]:
        """Return one install of each skill that this visitor has not been counted for today."""
        if today != self._day:
            self._day, self._known = today, {}
        fresh: dict[str, int] = {}
        for slug in slugs:
            mark = blake2b(f"{who}\0{slug}".encode(), digest_size=_MARK_BYTES).digest()
            if mark not in self._known:
                self._known[mark] = None
                fresh[slug] = 1
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return fresh


async def count_installs(
    connection: ASGIConnection[Any, Any, Any, Any], slugs: Iterable[str]
) -> None:
    """Count one install of each skill by this visitor, unless that was done today."""
    counted: CountedInstalls = connection.app.state.counted_installs
    who = who_asks(visitor_of(connection))
    await add_installs(counted.take(who, slugs, today=get_now().date()))


async def count_download(connection: ASGIConnection[Any, Any, Any, Any], slug: str) -> None:
    """Count a download that was sent; one that cannot be counted is a download all the same."""
    try:
        await count_installs(connection, [slug])
    except VskillError as error:
        log.warning("install not counted", slug=slug, error=str(error))
