"""Find secrets that one file of a skill reads and another file sends.

Each file looks harmless by itself. If no file does both, the read also counts in the file that
sends, so that the rules about a single file match.
"""

from collections.abc import Iterable, Iterator

import msgspec

from vskill_platform.scan.facts.facts import Act, Placed, Role
from vskill_platform.scan.facts.hosts import ANONYMOUS, HostClass

_DONE = frozenset({Role.SCRIPT, Role.INSTRUCTION})
_DOUBTFUL = ANONYMOUS | {HostClass.UNKNOWN, HostClass.FREE, HostClass.PLACEHOLDER}
_READS = frozenset({Act.READ_SECRET, Act.READ_ALL_ENV})
_SENDS = frozenset({Act.SEND, Act.TELL_SEND})
#: Secrets that no program needs for its own service.
_FOREIGN = ("ssh", "cloud", "browser", "wallet", "password store", "history", "system")


def flows_across_files(facts: Iterable[Placed]) -> Iterator[Placed]:
    """Yield the first secret that is read again for each other file that sends data."""
    known = [one for one in facts if one.role in _DONE]
    reads = [one for one in known if one.fact.act in _READS and _is_foreign(one)]
    sends = [one for one in known if _is_doubtful(one)]
    if not reads or not sends:
        return
    reading = {one.path for one in reads}
    if any(one.path in reading for one in sends):
        return
    first = reads[0]
    detail = first.fact.detail or "a secret"
    for path in dict.fromkeys(one.path for one in sends):
        send = next(one for one in sends if one.path == path)
        fact = msgspec.structs.replace(
            first.fact,
            act=Act.READ_SECRET,
            line=send.fact.line,
            text=f"{first.path}: {first.fact.text}",
            detail=f"{detail}, in another file",
        )
        yield Placed(fact=fact, path=path, role=send.role, row=send.row)


def _is_foreign(placed: Placed) -> bool:
    if placed.fact.act is Act.READ_ALL_ENV:
        return True
    return any(word in placed.fact.detail.lower() for word in _FOREIGN)


def _is_doubtful(placed: Placed) -> bool:
    return placed.fact.act in _SENDS and placed.fact.host_class in _DOUBTFUL
