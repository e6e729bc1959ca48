"""List what a skill can do, harmless or not; this is shown with every report, but never scored."""

from collections.abc import Iterable

from vskill_platform.model.skill import Capabilities
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, storable
from vskill_platform.scan.facts.leaked_secrets import redact

#: The acts that show each capability.
_ACTS: dict[str, tuple[Act, ...]] = {
    "hosts": (
        Act.FETCH,
        Act.SEND,
        Act.LEAK,
        Act.RUN_REMOTE,
        Act.REVERSE_SHELL,
        Act.TELL_DOWNLOAD,
        Act.TELL_SEND,
    ),
    "secrets": (Act.READ_ENV, Act.READ_SECRET, Act.READ_ALL_ENV, Act.GATHER),
    "commands": (
        Act.RUN,
        Act.ELEVATE,
        Act.RUN_DYNAMIC,
        Act.RUN_REMOTE,
        Act.RUN_DECODED,
        Act.REVERSE_SHELL,
    ),
    "writes": (Act.WRITE, Act.DELETE),
    "installs": (Act.INSTALL, Act.INSTALL_LOOKALIKE),
    "listens": (Act.LISTEN,),
}
_KINDS = {act: tuple(kind for kind in _ACTS if act in _ACTS[kind]) for act in Act}
#: Acts that are named as such: their detail says how the code was found, not what it runs.
_NAMED = frozenset({Act.RUN_REMOTE, Act.RUN_DECODED, Act.REVERSE_SHELL, Act.GATHER})
_MAX_OF_A_KIND = 100


def list_capabilities(
    facts: Iterable[LocatedFact], shell_scripts: Iterable[str] = ()
) -> Capabilities:
    """List the values of each capability.

    A shell script runs commands, whether or not one of them is worth a fact.
    """
    scripts = {redact(storable(path[:200])) for path in shell_scripts}
    found: dict[str, set[str]] = {"commands": scripts} if scripts else {}
    for located in facts:
        for kind in _KINDS[located.fact.act]:
            if what := _value(located.fact, kind):
                found.setdefault(kind, set()).add(redact(storable(what[:200])))
    return {kind: tuple(sorted(values)[:_MAX_OF_A_KIND]) for kind, values in sorted(found.items())}


def _value(fact: Fact, kind: str) -> str | None:
    if kind == "hosts":
        return fact.host
    return fact.act.value if fact.act in _NAMED else fact.detail or fact.act.value
