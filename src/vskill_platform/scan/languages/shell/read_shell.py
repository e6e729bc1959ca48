"""What shell code does: scripts, code blocks in documents, single commands."""

import re

from vskill_platform.scan.facts import Act, Fact
from vskill_platform.scan.languages.shell.commands import PROGRAMS
from vskill_platform.scan.languages.shell.names import PICKERS, READERS, program_name
from vskill_platform.scan.languages.shell.parser import RESERVED
from vskill_platform.scan.languages.shell.source import (
    MAX_CHARACTERS,
    clean,
    lines_with_split_words,
)
from vskill_platform.scan.languages.shell.state import BudgetSpent, State
from vskill_platform.scan.languages.shell.walk import run_code, run_command, run_uncalled
from vskill_platform.scan.languages.unparsed import Unparsed

#: A line of bare words: no quotes, variables, pipes, redirections, assignments or prompts.
_BARE_LINE = re.compile(r"[ \t]*(?:([\w./:@,+~*?^-]+)(?:[ \t][\w \t./:@,+~*?^=%!#-]*)?)?")
#: Far below everything that is counted while code is followed.
_MAX_BARE = 4000
#: What gives a line a meaning that starts with it.
_KNOWN = PROGRAMS.keys() | READERS | PICKERS | RESERVED


def read_shell(code: str) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it is more than can be followed."""
    if len(code) <= _MAX_BARE and code.isascii() and _does_nothing(code):
        return []
    state = State(run_code=run_code, run_command=run_command)
    lines = code[:MAX_CHARACTERS].split("\n")
    for line in lines_with_split_words(code):
        state.line, state.source = line, lines[line - 1]
        state.emit(Act.HIDE, "invisible characters")
    try:
        run_code(state, clean(code))
        run_uncalled(state)
    except (BudgetSpent, RecursionError):
        raise Unparsed("too much to follow", _facts(state), is_too_much=True) from None
    if len(code) > MAX_CHARACTERS or state.is_cut:
        raise Unparsed("too long", _facts(state), is_too_much=True)
    return _facts(state)


def _does_nothing(code: str) -> bool:
    """Tell names of files, of fields and the like, which most code in the middle of prose is.

    A line of bare words that starts with no program that we know leaves no trace in the state,
    so following it would only take longer to find nothing.
    """
    for line in code.split("\n"):
        bare = _BARE_LINE.fullmatch(line)
        if bare is None or (bare[1] and program_name(bare[1]) in _KNOWN):
            return False
    return True


def _facts(state: State) -> list[Fact]:
    return sorted(state.facts.values(), key=lambda fact: fact.line)
