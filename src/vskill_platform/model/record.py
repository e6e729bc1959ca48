"""The base of all stored records: frozen, strict, versioned, with reasons of limited length.

Reasons are kept forever and are public.
"""

from typing import Literal

import msgspec

#: Increased when this release reads fields, values or messages that the previous one cannot. They
#: are written only once all nodes know the number (`all_nodes_know`).
RECORD_FORMAT = 2
#: From this format on, a node applies the policy that is saved in the database.
SAVED_POLICIES = 2


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    #: A record with another schema version is rejected; a migration updates it.
    schema: Literal[1] = 1


#: Enough for a few sentences, plus the text that the platform adds.
MAX_REASON = 1000
_CUT = " …"


def cut_reason(text: str) -> str:
    return text if len(text) <= MAX_REASON else text[: MAX_REASON - len(_CUT)] + _CUT


class Reasoned:
    """Limits the reason of a struct to MAX_REASON; the struct declares the field."""

    __slots__ = ()

    reason: str

    def __post_init__(self) -> None:
        if len(self.reason) > MAX_REASON:
            cut = cut_reason(self.reason)
            msgspec.structs.force_setattr(self, "reason", cut)  # type: ignore[arg-type]  # a struct
