"""How many there are of everything, and the skills that were taken down."""

import apsw
import msgspec

from vskill_platform.catalogue.list_submissions import count_by_state, visible_bindings
from vskill_platform.catalogue.query import MAX_LIMIT, Counts, DownSkill, DownSkills, Visible
from vskill_platform.catalogue.sql import SEARCH, one_value

_DOWN = msgspec.json.Decoder(list[DownSkill])
_NUMBERS = msgspec.json.Decoder(tuple[int, int, int])
_MAX_OFFSET = 2**31


def count_all(connection: apsw.Connection, visible: Visible, known: Counts | None) -> Counts:
    """Count; of skills only if they have changed since they were last counted."""
    by_state = count_by_state(connection, visible)
    if known:
        return msgspec.structs.replace(known, by_state=by_state)
    bindings = visible_bindings(visible)
    numbers = one_value(connection, SEARCH["count_listed"], bindings)
    namespaces, published, installs = _NUMBERS.decode(numbers)
    return Counts(
        by_state=by_state,
        published=published,
        taken_down=one_value(connection, SEARCH["count_down"], bindings),
        namespaces=namespaces,
        installs=installs,
    )


def list_down(connection: apsw.Connection, offset: int, limit: int, visible: Visible) -> DownSkills:
    bindings = visible_bindings(visible)
    page = {
        "limit": min(max(limit, 0), MAX_LIMIT),
        "offset": min(max(offset, 0), _MAX_OFFSET),
    }
    return DownSkills(
        skills=_DOWN.decode(one_value(connection, SEARCH["list_down"], bindings | page)),
        total=one_value(connection, SEARCH["count_down"], bindings),
    )
