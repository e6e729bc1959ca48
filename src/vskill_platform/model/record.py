"""What every stored record has in common: frozen, strict, and of a known version."""

from typing import Literal

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    #: A record of another schema is not guessed at; a migration brings it forward.
    schema: Literal[1] = 1
