"""Saved policies: every version with its author and reason, and the number of the current one."""

import hashlib
from collections.abc import Sequence
from datetime import datetime

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Operation, Put
from vskill_platform.model.record import Reasoned, Record
from vskill_platform.stores.db import commit, get_kv
from vskill_platform.stores.records import Stored, decode, encode, get_record, read_found

_CURRENT = "policy:current"
_VERSION = "policy-version:"


class PolicyVersion(Reasoned, Record, frozen=True, kw_only=True):
    #: Counted from 1.
    number: int
    #: TOML, as it was written.
    text: str
    #: The digest of its meaning, as in reports; empty if it is equal to the default policy.
    digest: str
    at: datetime
    author: str
    reason: str
    #: The version whose text was restored, if any.
    restored: int | None = None


class CurrentPolicy(Record, frozen=True, kw_only=True):
    """A pointer to the current policy; small, because it is read before every decision."""

    number: int
    #: The digest of the text, so that a parsed policy can be reused.
    sha256: str
    at: datetime


class VersionPage(msgspec.Struct, frozen=True):
    versions: list[PolicyVersion]
    #: The page continues before this number; None after the last.
    before: int | None


async def get_current() -> Stored[CurrentPolicy] | None:
    return await get_record(_CURRENT, CurrentPolicy)


async def get_policy_version(number: int) -> PolicyVersion | None:
    stored = await get_record(_key(number), PolicyVersion)
    return stored.record if stored else None


async def list_policy_versions(*, before: int | None = None, limit: int = 20) -> VersionPage:
    """Return a page of the versions, newest first."""
    page = await get_kv().list_keys(
        _VERSION, after=_key(before) if before else None, limit=limit, newest_first=True
    )
    found = await read_found(page.keys, lambda key, value: decode(key, value, PolicyVersion))
    more = page.cursor is not None and page.keys
    return VersionPage(
        list(found.values()), int(page.keys[-1].removeprefix(_VERSION)) if more else None
    )


async def put_policy_version(
    version: PolicyVersion, *, replaces: Stored[CurrentPolicy] | None, also: Sequence[Operation]
) -> bool:
    """Store a version and make it the current one; return False if another was saved meanwhile."""
    digest = hashlib.sha256(version.text.encode()).hexdigest()
    current = CurrentPolicy(number=version.number, sha256=digest, at=version.at)
    expected = replaces.revision if replaces else ABSENT
    operations = [
        Put(_key(version.number), encode(version), expected=ABSENT, due=NEVER),
        Put(_CURRENT, encode(current), expected=expected, due=NEVER),
        *also,
    ]
    return await commit(operations) is not None


def _key(number: int) -> str:
    return f"{_VERSION}{number:08d}"
