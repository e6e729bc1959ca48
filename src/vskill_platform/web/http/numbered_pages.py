"""Keep the order of numbered pages of skills while one client reads them one after the other.

The default order is that of the installs, which every download changes. A client that counts pages
and downloads what it finds would otherwise miss a skill that moves to a page it has already read.
"""

import time
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import SkillPosition, SkillQuery, SkillResults
from vskill_platform.errors import InvalidInput
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of
from vskill_platform.web.http.visitor import visitor_of

#: How long the next page may be read in the order of the one before.
LIFETIME_SECONDS = 60.0
_MAX_REMEMBERED = 2_000
_Key = tuple[str, SkillQuery]


class NumberedPages:
    """Remembers where the last pages ended; one for each process."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        #: When the page was read, and where it ended, by reader and query of the next page.
        self._ends: OrderedDict[_Key, tuple[float, SkillPosition]] = OrderedDict()

    async def read(self, catalogue: Catalogue, reader: str, query: SkillQuery) -> SkillResults:
        """Read a page; if *reader* has just read the one before, continue after its last skill."""
        found = await self._continue(catalogue, reader, query)
        if found is None:
            found = await catalogue.search_skills(query)
        if found.next:
            following = msgspec.structs.replace(query, offset=query.offset + query.limit)
            self._remember((reader, following), found.next)
        return found

    async def _continue(
        self, catalogue: Catalogue, reader: str, query: SkillQuery
    ) -> SkillResults | None:
        read_at, end = self._ends.get((reader, query), (-LIFETIME_SECONDS, None))
        if end is None or self._now() - read_at > LIFETIME_SECONDS:
            return None
        try:
            return await catalogue.search_skills(msgspec.structs.replace(query, after=end))
        except InvalidInput:  # the index was rebuilt meanwhile
            return None

    def _remember(self, key: _Key, end: SkillPosition) -> None:
        self._ends.pop(key, None)
        self._ends[key] = (self._now(), end)
        if len(self._ends) > _MAX_REMEMBERED:
            self._ends.popitem(last=False)


async def read_page(request: WebRequest, query: SkillQuery) -> SkillResults:
    """Read a page of skills, by its cursor or by its number."""
    catalogue = catalogue_of(request)
    if query.after:
        return await catalogue.search_skills(query)
    visitor = visitor_of(request)
    pages: NumberedPages = request.app.state.numbered_pages
    return await pages.read(catalogue, visitor.credential or visitor.address, query)
