"""Lists of skills by slug or namespace, without a search."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.query import (
    ListedSkill,
    NamespaceFacts,
    SkillHit,
    TakenDownSkill,
    Visible,
)
from vskill_platform.catalogue.sql import LISTS, one_value
from vskill_platform.engines.timestamps import from_micros

#: Greater than any slug.
_LAST = chr(0x10FFFF)
#: How many taken down skills the page of a publisher names.
_MAX_DOWN = 20
_encode = msgspec.json.Encoder().encode
_HITS = msgspec.json.Decoder(list[SkillHit])
_LISTED = msgspec.json.Decoder(list[ListedSkill])
_DOWN = msgspec.json.Decoder(list[TakenDownSkill])


def list_skills(connection: apsw.Connection, *, below: str, visible: Visible) -> list[ListedSkill]:
    """Return every skill with a slug below *below*, or all skills, ordered by slug."""
    bindings = _slugs_below(below) | _seen_by(visible)
    return _LISTED.decode(one_value(connection, LISTS["list_skills"], bindings))


def read_hits(
    connection: apsw.Connection, *, slugs: Sequence[str], visible: Visible
) -> list[SkillHit]:
    """Return these skills in this order, except those that the visitor may not see."""
    bindings = {"slugs": _encode(list(slugs)).decode(), **_seen_by(visible)}
    return _HITS.decode(one_value(connection, LISTS["read_hits"], bindings))


def about_namespace(
    connection: apsw.Connection, *, namespace: str, visible: Visible
) -> NamespaceFacts:
    bindings = {
        **_slugs_below(namespace),
        **_seen_by(visible),
        "namespace": namespace,
        "limit": _MAX_DOWN,
    }
    sums = one_value(connection, LISTS["sum_namespace"], bindings)
    installs, since = msgspec.json.decode(sums, type=tuple[int, int | None])
    return NamespaceFacts(
        installs=installs,
        since=None if since is None else from_micros(since),
        down=_DOWN.decode(one_value(connection, LISTS["down_in_namespace"], bindings)),
    )


def list_addresses(
    connection: apsw.Connection, *, offset: int, limit: int
) -> list[tuple[str, datetime]]:
    """Return the slugs of public skills in order, each with the time of its last update."""
    rows = connection.execute(LISTS["list_addresses"], {"offset": offset, "limit": limit})
    return [(slug, from_micros(updated_at)) for slug, updated_at in rows]


def _slugs_below(prefix: str) -> dict[str, Any]:
    # 0 is the character after the slash
    return {"start": f"{prefix}/" if prefix else "", "end": f"{prefix}0" if prefix else _LAST}


def _seen_by(visible: Visible) -> dict[str, Any]:
    return {
        "is_all": int(visible.is_all),
        "namespaces": _encode(sorted(visible.namespaces)).decode(),
    }
