"""Analyse shell code: scripts, code blocks in documents, single commands."""

from functools import lru_cache
from operator import attrgetter

from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.languages.shell.idle_code import is_bare, is_idle
from vskill_platform.scan.languages.shell.source import (
    MAX_CHARACTERS,
    clean,
    lines_with_split_words,
)
from vskill_platform.scan.languages.shell.state import BudgetSpent, State
from vskill_platform.scan.languages.shell.walk import run_code, run_command, run_uncalled
from vskill_platform.scan.languages.unparsed import Unparsed

#: Longer code is not cached, because it hardly ever occurs twice.
_SHORT = 2000


def read_shell(code: str) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it is too large to analyse."""
    return list(_read_short(code)) if len(code) <= _SHORT else _read(code)


@lru_cache(maxsize=1024)
def _read_short(code: str) -> tuple[Fact, ...]:
    """Cache short code, which documents and programs analysed in rounds repeat."""
    return tuple(_read(code))


def _read(code: str) -> list[Fact]:
    if is_bare(code):
        return []
    split, text = lines_with_split_words(code), clean(code)
    return follow_shell(code, text, split) if split or not is_idle(text) else []


def follow_shell(code: str, text: str, split: list[int]) -> list[Fact]:
    """Analyse *text*, the normalised *code*, from its first command to its last."""
    state = State(run_code=run_code, run_command=run_command)
    _note_split_words(state, code, split)
    try:
        run_code(state, text)
        run_uncalled(state)
    except (BudgetSpent, RecursionError):
        raise Unparsed("too large to analyse", _facts(state), is_too_much=True) from None
    if len(code) > MAX_CHARACTERS or state.is_cut:
        raise Unparsed("too long", _facts(state), is_too_much=True)
    return _facts(state)


def _note_split_words(state: State, code: str, split: list[int]) -> None:
    lines = code[:MAX_CHARACTERS].split("\n") if split else []
    for line in split:
        state.line, state.source = line, lines[line - 1]
        state.emit(Act.HIDE, "invisible characters")


def _facts(state: State) -> list[Fact]:
    return sorted(state.facts.values(), key=attrgetter("line"))
