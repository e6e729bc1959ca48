"""How long a reason may be that is kept for ever and shown to everybody.

It is held where reasons are kept, and not where they are typed, so that no way in can forget it.
It is cut and not refused: a walk that ends with a long error must still end.
"""

import msgspec

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
