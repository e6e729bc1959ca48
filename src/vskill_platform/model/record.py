"""What all stored records share: frozen, strict, versioned, and with reasons of bounded length.

Reasons are kept for ever and shown to everybody.
"""

from typing import Literal

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    #: A record of another schema is not guessed at; a migration brings it forward.
    schema: Literal[1] = 1


#: Room for a few sentences, and for what the machine says around those of a person.
MAX_REASON = 1000
_CUT = " …"


def cut_reason(text: str) -> str:
    return text if len(text) <= MAX_REASON else text[: MAX_REASON - len(_CUT)] + _CUT


class Reasoned:
    """Makes that the reason of a struct is never longer than MAX_REASON; the field is its own."""

    __slots__ = ()

    reason: str

    def __post_init__(self) -> None:
        if len(self.reason) > MAX_REASON:
            cut = cut_reason(self.reason)
            msgspec.structs.force_setattr(self, "reason", cut)  # type: ignore[arg-type]  # a struct
