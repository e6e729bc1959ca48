"""The environment of running work: database, settings, clock and limits."""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from anyio import CapacityLimiter

from vskill_platform.base.clock import Clock
from vskill_platform.base.lru_cache import LruCache
from vskill_platform.engines.ports import Engine
from vskill_platform.mirror_settings import Mirror
from vskill_platform.model.oidc import Provider
from vskill_platform.model.policy import Policy
from vskill_platform.model.scanner import ScannerInUse
from vskill_platform.model.unknown_fields import Unknown
from vskill_platform.runtime.fetch_limits import FetchLimits
from vskill_platform.settings import Settings

#: How many records with unknown fields are remembered. Few are needed, because a record is written
#: right after it was read.
_UNKNOWN_KEPT = 10_000
_POLICIES_KEPT = 4


def _remember_unknown() -> LruCache[tuple[str, int], Unknown]:
    return LruCache(capacity=_UNKNOWN_KEPT, size_of=lambda _: 1)


class PolicyInUse(NamedTuple):
    policy: Policy
    #: The third-party scanners that it names.
    scanners: tuple[ScannerInUse, ...] = ()


def _remember_policies() -> LruCache[str, PolicyInUse]:
    return LruCache(capacity=_POLICIES_KEPT, size_of=lambda _: 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnv:
    engine: Engine
    settings: Settings
    clock: Clock
    #: Limits how many skills are checked at once.
    scan_slots: CapacityLimiter
    #: Held by the submission that is being checked alone, if any.
    one_alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: Limits concurrent fetches from one host and for one submitter.
    fetch_limits: FetchLimits = field(default_factory=FetchLimits)
    #: The operator's policy: from the file in the settings, read at the start, or the saved policy
    #: that was current when this work began.
    policy: Policy = field(default_factory=Policy)
    #: Saved policies that were already parsed, by the digest of their text.
    policies: LruCache[str, PolicyInUse] = field(default_factory=_remember_policies)
    #: Unknown fields of records that were read and may be written, by key and revision.
    unknown_fields: LruCache[tuple[str, int], Unknown] = field(default_factory=_remember_unknown)
    #: The third-party scanners that the policy names.
    scanners: tuple[ScannerInUse, ...] = ()
    #: The metadata of OpenID providers, by issuer; the settings name at most one.
    providers: dict[str, Provider] = field(default_factory=dict, hash=False)
    #: The registries that this one mirrors.
    mirrors: tuple[Mirror, ...] = ()
