"""How handlers reach the catalogue, and what of it a visitor may see."""

from typing import Any

from litestar.connection import ASGIConnection

from vskill_platform.access.visibility import list_seen_namespaces
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import EVERYTHING, Visible
from vskill_platform.errors import NotReady
from vskill_platform.model.access import Visitor


def catalogue_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Catalogue:
    """Return what is searched and listed; NotReady if this process has none."""
    catalogue: Catalogue | None = connection.app.state.catalogue
    if catalogue is None:
        raise NotReady("nothing can be searched or listed here")
    return catalogue


async def visible_to(visitor: Visitor) -> Visible:
    """Say what lists and searches may show this visitor."""
    if visitor.sees_all:
        return EVERYTHING
    return Visible(namespaces=await list_seen_namespaces(visitor))
