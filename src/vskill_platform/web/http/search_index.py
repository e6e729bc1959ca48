"""Access to the search index for handlers: what a visitor may see, and whether it is current."""

from datetime import timedelta

from litestar.datastructures import MutableScopeHeaders
from litestar.status_codes import HTTP_400_BAD_REQUEST
from litestar.types import Message, Scope

from vskill_platform.access.visibility import list_visible_namespaces
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import EVERYTHING, Visible
from vskill_platform.errors import NotReady
from vskill_platform.model.rights import Visitor
from vskill_platform.stores.db import bound_env
from vskill_platform.web.http.requests import WebConnection

#: RFC 7234: the response may be outdated.
STALE = '110 - "Response is Stale"'
#: After this time, a visitor gets a list that may be outdated.
_MAX_WAIT = timedelta(seconds=1)
#: Key in the request state: the response comes from the search index.
_ASKED = "vskill_catalogue"


def catalogue_of(connection: WebConnection) -> Catalogue:
    """Return the search index; raise NotReady if this process has none."""
    catalogue: Catalogue | None = connection.app.state.catalogue
    if catalogue is None:
        raise NotReady("this node has no search index")
    connection.scope["state"][_ASKED] = catalogue
    return catalogue


async def warn_if_stale(message: Message, scope: Scope) -> None:
    """Add a Warning header if the search index is outdated."""
    catalogue: Catalogue | None = scope["state"].get(_ASKED)
    if catalogue is None or message["type"] != "http.response.start":
        return
    freshness = catalogue.freshness
    if not freshness.is_degraded or message["status"] >= HTTP_400_BAD_REQUEST:
        return
    headers = MutableScopeHeaders.from_message(message)
    headers["Warning"] = STALE
    if freshness.age is not None:
        headers["Age"] = str(int(freshness.age.total_seconds()))


async def wait_for_index(connection: WebConnection) -> bool:
    """Wait until the search index contains all commits so far; False if that takes too long.

    Otherwise a page that someone opens because of a change may not show the change yet.
    """
    catalogue: Catalogue | None = connection.app.state.catalogue
    if catalogue is None:
        return True
    return await catalogue.wait_until(await bound_env().engine.revision(), within=_MAX_WAIT)


async def visible_to(visitor: Visitor) -> Visible:
    """Return which private skills lists and searches may show this visitor."""
    if visitor.can_see_all:
        return EVERYTHING
    return Visible(namespaces=await list_visible_namespaces(visitor))
