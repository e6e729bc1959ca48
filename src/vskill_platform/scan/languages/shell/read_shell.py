"""What shell code does: scripts, code blocks in documents, single commands."""

from vskill_platform.scan.facts import Act, Fact
from vskill_platform.scan.languages.shell.source import (
    MAX_CHARACTERS,
    clean,
    lines_with_split_words,
)
from vskill_platform.scan.languages.shell.state import BudgetSpent, State
from vskill_platform.scan.languages.shell.walk import run_code, run_command, run_uncalled
from vskill_platform.scan.languages.unparsed import Unparsed


def read_shell(code: str) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it is more than can be followed."""
    state = State(run_code=run_code, run_command=run_command)
    lines = code[:MAX_CHARACTERS].split("\n")
    for line in lines_with_split_words(code):
        state.line, state.source = line, lines[line - 1]
        state.emit(Act.HIDE, "invisible characters")
    try:
        run_code(state, clean(code))
        run_uncalled(state)
    except (BudgetSpent, RecursionError):
        raise Unparsed("too much to follow", _facts(state)) from None
    if len(code) > MAX_CHARACTERS or state.is_cut:
        raise Unparsed("too long", _facts(state))
    return _facts(state)


def _facts(state: State) -> list[Fact]:
    return sorted(state.facts.values(), key=lambda fact: fact.line)
