"""List what a skill can do, harmless or not; this is shown with every report, but never scored."""

from collections.abc import Iterable

from vskill_platform.model.skill import Capabilities
from vskill_platform.scan.facts.facts import Act, LocatedFact, storable
from vskill_platform.scan.facts.leaked_secrets import redact

#: The acts that show each capability.
_ACTS: dict[str, tuple[Act, ...]] = {
    "hosts": (
        Act.FETCH,
        Act.SEND,
        Act.LEAK,
        Act.RUN_REMOTE,
        Act.TELL_DOWNLOAD,
        Act.TELL_SEND,
    ),
    "secrets": (Act.READ_ENV, Act.READ_SECRET, Act.READ_ALL_ENV),
    "commands": (Act.RUN, Act.ELEVATE, Act.RUN_DYNAMIC),
    "writes": (Act.WRITE, Act.DELETE),
    "installs": (Act.INSTALL,),
    "listens": (Act.LISTEN,),
}
_KINDS = {act: kind for kind, acts in _ACTS.items() for act in acts}
_MAX_OF_A_KIND = 100


def list_capabilities(facts: Iterable[LocatedFact]) -> Capabilities:
    found: dict[str, set[str]] = {}
    for located in facts:
        kind = _KINDS.get(located.fact.act)
        what = (
            located.fact.host if kind == "hosts" else located.fact.detail or located.fact.act.value
        )
        if kind and what:
            found.setdefault(kind, set()).add(redact(storable(what[:200])))
    return {kind: tuple(sorted(values)[:_MAX_OF_A_KIND]) for kind, values in sorted(found.items())}
