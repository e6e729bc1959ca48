"""Appeals of publishers against verdicts: open and decided cases, with their messages."""

import secrets
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, decode, encode, get_record, read_each

_APPEAL = "appeal:"
#: From a verdict to the appeal against it, at most one.
_VERDICT = "appeal-verdict:"
#: Prefixes of the marks under which appeals are found.
_OPEN = "appeal-open"
_BY = "appeal-by "
_ABOUT = "appeal-about "
#: How long a decided appeal is kept.
_KEPT_FOR = timedelta(days=365)


class AppealState(StrEnum):
    OPEN = "open"
    #: The appeal was granted; staff say what they have done.
    GRANTED = "granted"
    #: The verdict stays.
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class AppealMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    by: str
    at: datetime
    text: str
    is_staff: bool = False


class Appeal(Record, frozen=True, kw_only=True):
    #: Sorts by time.
    id: str
    #: A submission id, or the slug and version that were yanked.
    subject: str
    name: str
    namespace: str
    is_private: bool
    #: The verdict in words, who made it, and why.
    verdict: str
    decided_by: str
    reason: str
    by: str
    at: datetime
    messages: tuple[AppealMessage, ...]
    state: AppealState = AppealState.OPEN
    closed_by: str = ""
    closed_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.state is AppealState.OPEN

    @property
    def submission(self) -> str:
        """The submission that it is about; empty if it is about a version."""
        return "" if " " in self.subject else self.subject


def new_appeal_id(now: datetime) -> str:
    return f"apl_{_micros(now):014x}{secrets.token_hex(5)}"


async def get_appeal(appeal_id: str) -> Stored[Appeal] | None:
    return await get_record(_APPEAL + appeal_id, Appeal)


async def get_appeal_against(verdict: str) -> str | None:
    """Return the id of the appeal against a verdict, decided or not."""
    stored = await get_record(_VERDICT + verdict, str)
    return stored.record if stored else None


def write_new_appeal(appeal: Appeal, verdict: str) -> list[Operation]:
    """Return the operations that open an appeal; the commit fails if the verdict has one."""
    taken = Put(_VERDICT + verdict, encode(appeal.id), expected=ABSENT, due=NEVER)
    return [taken, write_appeal(appeal, expected=ABSENT)]


def write_appeal(appeal: Appeal, *, expected: int) -> Operation:
    opened = (_OPEN, f"{_OPEN} {appeal.by}") if appeal.is_open else ()
    return Put(
        _APPEAL + appeal.id,
        encode(appeal),
        expected=expected,
        due=NEVER,
        expires_at=appeal.closed_at + _KEPT_FOR if appeal.closed_at else None,
        marks=(_BY + appeal.by, _ABOUT + appeal.subject, *opened),
        rank=_micros(appeal.at),
    )


async def list_open_appeals(*, limit: int) -> list[Appeal]:
    """Return the open appeals, oldest first."""
    return await _marked(_OPEN, limit, newest_first=False)


async def list_appeals_by(user_name: str, *, limit: int) -> list[Appeal]:
    return await _marked(_BY + user_name, limit)


async def list_appeals_about(subject: str, *, limit: int) -> list[Appeal]:
    return await _marked(_ABOUT + subject, limit)


async def list_appeals(*, limit: int) -> list[Appeal]:
    """Return the latest appeals, open or not, newest first."""
    page = await get_kv().list_keys(_APPEAL, limit=limit, newest_first=True)
    return await _read(page.keys)


async def count_open_appeals_by(user_name: str, *, limit: int) -> int:
    (keys,) = await get_kv().find_marked([f"{_OPEN} {user_name}"], limit=limit)
    return len(keys)


async def _marked(word: str, limit: int, *, newest_first: bool = True) -> list[Appeal]:
    (keys,) = await get_kv().find_marked([word], limit=limit, last_first=newest_first)
    return await _read(keys)


async def _read(keys: list[str]) -> list[Appeal]:
    return await read_each(keys, lambda key, value: decode(key, value, Appeal))


def _micros(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000)
