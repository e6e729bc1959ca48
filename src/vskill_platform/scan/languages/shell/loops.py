"""Loops: the values of their variables, and endless ones, which overload a service."""

from collections.abc import Iterable, Iterator

from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.facts.hosts import HostClass
from vskill_platform.scan.languages.shell.names import program_name
from vskill_platform.scan.languages.shell.state import State
from vskill_platform.scan.languages.shell.syntax import Group, Simple, bare, parts_of
from vskill_platform.scan.languages.shell.words import CUT, fold_words

_REQUESTS = frozenset({Act.FETCH, Act.SEND, Act.LEAK})
#: For each kind of loop, the conditions that never change.
LOOPS = {"while": {"true", ":", "1"}, "until": {"false"}}
#: Commands that end a loop or let it wait.
_RESTS = frozenset(
    {
        "sleep", "wait", "break", "return", "exit", "read", "timeout", "inotifywait", "usleep",
        "select", "tail", "exec", "fswatch",
    }
)  # fmt: skip
_MAX_DEPTH = 20
#: Loops over more values are read once, with all of them.
_MAX_VALUES = 20


def is_endless(group: Group) -> bool:
    """Return whether a loop never ends: its condition stays true, and no command waits or exits."""
    conditions = LOOPS.get(group.kind)
    if not conditions or not group.items or len(group.items[0].stages) != 1:
        return False
    first = group.items[0].stages[0]
    if not isinstance(first, Simple) or not first.words:
        return False
    condition = " ".join(bare(word) or "" for word in first.words).strip("[]() ")
    return condition in conditions and _RESTS.isdisjoint(_programs(group, 0))


def note_requests(state: State, facts: Iterable[Fact]) -> None:
    """Record that the commands of an endless loop send requests to another machine."""
    if any(one.act in _REQUESTS and one.host_class is not HostClass.LOCAL for one in facts):
        state.emit(Act.OVERLOAD, "endless requests")


def loop_values(state: State, group: Group) -> list[str]:
    """Return the values of the variable of a loop: all at once, or one by one if they may be code.

    A group without a variable has one value, which is not used.
    """
    if not group.name:
        return [""]
    words = fold_words(state, group.words)
    if 1 < len(words) <= _MAX_VALUES and any(" " in word.strip() for word in words):
        return words
    return [CUT.join(words)]


def _programs(group: Group, depth: int) -> Iterator[str]:
    for pipeline in group.items:
        for stage in pipeline.stages:
            if isinstance(stage, Simple):
                if stage.words:
                    yield program_name("".join(part.text for part in parts_of(stage.words[0])))
            elif depth < _MAX_DEPTH:
                yield from _programs(stage, depth + 1)
