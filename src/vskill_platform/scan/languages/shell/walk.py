"""Analyse shell code statement by statement, and pass each command to its handler."""

import re
import shlex
from fnmatch import fnmatchcase
from itertools import islice

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.token_printers import prints_token
from vskill_platform.scan.languages.shell.commands import PROGRAMS
from vskill_platform.scan.languages.shell.destroying import destroys
from vskill_platform.scan.languages.shell.files import filter_text
from vskill_platform.scan.languages.shell.given_code import run_given, run_nested
from vskill_platform.scan.languages.shell.loops import LOOPS, is_endless, loop_values, note_requests
from vskill_platform.scan.languages.shell.names import SHELLS, TAKING_COMMANDS, program_name
from vskill_platform.scan.languages.shell.parser import Parser
from vskill_platform.scan.languages.shell.redirects import read_input, reads_itself, write_output
from vskill_platform.scan.languages.shell.run import execute, run_path, run_unknown
from vskill_platform.scan.languages.shell.source import open_braces, take_coprocess_names
from vskill_platform.scan.languages.shell.state import (
    MAX_NESTING,
    MAX_TOKENS,
    MAX_VALUE,
    PRINTED_TOKENS,
    Command,
    Origin,
    State,
)
from vskill_platform.scan.languages.shell.surveillance import MINERS
from vskill_platform.scan.languages.shell.syntax import (
    TEXT,
    VARIABLE,
    Group,
    Part,
    Parts,
    Pipeline,
    Simple,
    Word,
    bare,
    parts_of,
)
from vskill_platform.scan.languages.shell.variables import note_variable, store_variable
from vskill_platform.scan.languages.shell.words import CUT, fold_text, fold_words, hides_its_name

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,100})(?:\[[^\]]{0,80}\])?(\+?)=")
_BRACES = re.compile(r"(?m)(?:^|[|;&(`])[ \t]{0,8}\{([\w./-]{1,40}),[^\s{}]{1,400}\}")
#: Limits for the words of one command, and for functions that call each other.
_MAX_WORDS = 2000
_MAX_CALLS = 6

#: A piped download in an argument with its own syntax. A command starts after the sign of an option
#: or of an editor, or after the name of a function.
_INNER_COMMAND = re.compile(
    r"(?:^|[=!]|\bexec[ =:]|\bsystem\(?)\s?[\"']?(([a-z][\w./+-]{1,40})\s[^\n]{4,2000})"
)
_PIPELINE = re.compile(r"\b(?:curl|wget)\s[^\n|'\"]{1,500}\|[^\n'\"#]{1,200}")


def run_code(state: State, code: str, stdin: str = "") -> str:
    """Analyse nested *code*; return what it prints."""
    if state.nesting >= MAX_NESTING or not code.strip():
        state.is_cut |= bool(code.strip())
        return ""
    state.spend(len(code))
    code = _open_braces(state, code)
    if "coproc" in code:
        code, names = take_coprocess_names(code)
        state.coprocesses += names
    outer_line, outer_base = state.line, state.base_line
    state.nesting += 1
    state.base_line = state.line - 1 if state.nesting > 1 else 0
    try:
        return run_items(state, _parse(state, code), stdin, is_consumed=state.nesting > 1)
    finally:
        state.nesting -= 1
        state.line, state.base_line = outer_line, outer_base


def _parse(state: State, code: str) -> list[Pipeline]:
    # Half of the budget is kept for code found inside the text.
    share = MAX_TOKENS // 2 if state.nesting == 1 else MAX_TOKENS - state.tokens
    parser = Parser(code, max_tokens=share)
    items = parser.parse().items
    state.tokens += parser.taken
    state.is_cut |= parser.taken >= share
    return items


def _open_braces(state: State, code: str) -> str:
    """Expand ``{curl,-s,…}`` and record it."""
    found = _BRACES.search(code) if "{" in code and "," in code else None
    if found is None or program_name(found[1]) not in PROGRAMS:
        return code
    state.line = state.line + code.count("\n", 0, found.start())
    state.source = state.source or found[0]
    state.emit(Act.HIDE, "spaces hidden as braces")
    return open_braces(code)


def run_items(state: State, items: list[Pipeline], stdin: str, *, is_consumed: bool) -> str:
    printed: list[str] = []
    line, source = state.line, state.source
    for pipeline in items:
        state.step()
        if not state.keeps_line:
            state.line = state.base_line + pipeline.line
        if state.nesting <= 1 and not state.has_mark(pipeline.source):
            state.source = pipeline.source
        state.go_deeper()
        try:
            is_used = is_consumed or pipeline.is_coprocess
            out = _run_pipeline(state, pipeline, stdin, is_consumed=is_used)
            if pipeline.is_coprocess:
                state.variables.update(dict.fromkeys(("COPROC", *state.coprocesses), out))
        finally:
            state.depth -= 1
        if out:
            printed.append(out)
    state.line, state.source = line, source
    return "\n".join(printed)[:MAX_VALUE]


def _run_pipeline(state: State, pipeline: Pipeline, stdin: str, *, is_consumed: bool) -> str:
    last = len(pipeline.stages) - 1
    for index, stage in enumerate(pipeline.stages):
        is_taken = is_consumed or index < last
        if isinstance(stage, Simple):
            stdin = _run_simple(state, stage, stdin, is_consumed=is_taken)
        else:
            stdin = _run_group(state, stage, stdin, is_consumed=is_taken)
    return stdin


def _run_group(state: State, group: Group, stdin: str, *, is_consumed: bool) -> str:
    if group.kind == "function":
        state.functions[group.name] = (group, state.base_line)
        if _is_bomb(group):
            state.emit(Act.DELETE, "fork bomb")
        return ""
    stdin = read_input(state, group.redirects, stdin)
    values = loop_values(state, group)
    is_taken = is_consumed or any(r.op.startswith((">", "&>")) for r in group.redirects)
    known = len(state.facts)
    printed = ""
    for value in values:
        if group.name:
            state.variables[group.name] = value or state.mark(Origin())
        printed = run_items(state, group.items, stdin, is_consumed=is_taken)
    if group.kind in LOOPS and is_endless(group):
        note_requests(state, islice(state.facts.values(), known, None))
    return write_output(state, Command("group", []), group.redirects, printed)


def _is_bomb(group: Group) -> bool:
    """Return whether this is a fork bomb: a function that starts itself twice in the background."""
    for pipeline in group.items:
        names = [
            bare(stage.words[0])
            for stage in pipeline.stages
            if isinstance(stage, Simple) and stage.words
        ]
        if len(names) > 1 and all(name == group.name for name in names):
            return True
    return False


def _run_simple(state: State, simple: Simple, stdin: str, *, is_consumed: bool) -> str:
    words, redirects = simple.words, simple.redirects
    if len(words) > _MAX_WORDS:
        words, state.is_cut = words[:_MAX_WORDS], True
    start = 0
    while start < len(words) and _assign(state, words[start]):
        start += 1
    if not is_consumed and simple.is_plain and _is_unknown_program(state, simple, start):
        state.has_acted = True
        return ""
    given = read_input(state, redirects, "") if redirects else ""
    if start == len(words):
        state.has_acted |= bool(redirects)
        return write_output(state, Command("", []), redirects, given)
    args = fold_words(state, words[start:])
    if not args:
        return stdin
    state.variables["_"] = args[-1]
    command = _name_command(state, words[start], args)
    if given and not state.has_acted and reads_itself(state, args, redirects):
        given = ""
    state.has_acted |= args[0] not in {"[", "[[", "test", "set"}
    command.stdin = given or stdin
    command.is_consumed = is_consumed or any(r.op.startswith((">", "&>")) for r in redirects)
    printed = run_command(state, command)
    return write_output(state, command, redirects, printed) if redirects else printed


def _is_unknown_program(state: State, simple: Simple, start: int) -> bool:
    """Return whether this is an unknown program, whose arguments do not matter."""
    path = bare(simple.words[start]) if start < len(simple.words) else None
    if path is None or not path.isascii() or simple.redirects:
        return False
    is_new = not (state.files or state.trees or state.functions or path in state.aliases)
    return is_new and program_name(path) not in PROGRAMS


def _assign(state: State, word: Word) -> bool:
    if isinstance(word, str) and "=" not in word:
        return False
    first, *others = parts_of(word)
    found = _ASSIGNMENT.match(first.text) if first.kind == TEXT and not first.is_quoted else None
    if found is None:
        return False
    rest = Part(TEXT, first.text[found.end() :])
    value = fold_text(state, Parts((rest, *others)))
    if found[2]:
        value = state.variables.get(found[1], "") + value
    store_variable(state, found[1], value[:MAX_VALUE])
    note_variable(state, found[1], value)
    return True


#: A program's name with wildcards, in a folder of programs.
_PATTERN_NAME = re.compile(
    r"/(?:[\w?*\[\]]+/){1,3}(?=[^/]*[a-z])(?=[^/]*[?*\[])([a-z0-9?*\[\]]{2,20})"
)


def _name_command(state: State, word: Word, args: list[str]) -> Command:
    """Find out which program is called, and whether its name was hidden."""
    path = args[0]
    if name := _by_pattern(path):
        state.emit(Act.HIDE, name)
        return Command(name=name, args=args[1:], path=name)
    if isinstance(word, str) and path.isascii():
        return Command(name=program_name(path), args=args[1:], path=path)
    flow = state.flow(path)
    plain = state.plain(path)
    if flow.is_decoded and flow.plain and plain != path and not re.search(r"\s", plain):
        state.emit(Act.HIDE, plain)
        path = plain
    name = program_name(path)
    if isinstance(word, Parts):
        _note_hidden_name(state, word, name, path)
    return Command(name=name, args=args[1:], path=path)


def _by_pattern(path: str) -> str:
    """Return the program that a pattern such as `/bin/c?rl` matches."""
    found = _PATTERN_NAME.fullmatch(path)
    if found is None:
        return ""
    return next((name for name in PROGRAMS if len(name) > 1 and fnmatchcase(name, found[1])), "")


def _note_hidden_name(state: State, word: Parts, name: str, path: str) -> None:
    is_spelled_out = any(_piece(state, part.kind, part.text) in PROGRAMS for part in word.parts)
    if name in PROGRAMS and hides_its_name(word, path, is_spelled_out=is_spelled_out):
        state.emit(Act.HIDE, name)
    elif any(part.kind == VARIABLE and part.text == "IFS" for part in word.parts):
        state.emit(Act.HIDE, "spaces hidden as $IFS")


def _piece(state: State, kind: str, text: str) -> str:
    if kind == VARIABLE:
        return state.variables.get(text, "")
    return text if kind == TEXT and text not in SHELLS else ""


def run_command(state: State, command: Command) -> str:
    """Analyse one command; return what it prints."""
    state.step()
    state.go_deeper()
    try:
        if command.name in TAKING_COMMANDS:
            _run_arguments(state, command)
        if state.flows:
            run_given(state, command)
        printed = _dispatch(state, command)
        if destroys(command.name, command.args):
            state.emit(Act.DESTROY, command.name)
        if prints_token(command.name, command.args):
            return state.derive(printed, private=frozenset({PRINTED_TOKENS}))
        return printed
    finally:
        state.depth -= 1


def _run_arguments(state: State, command: Command) -> None:
    """Analyse the pipelines in the arguments of a program that can run them."""
    for arg in command.args:
        if found := _PIPELINE.search(arg):
            execute(state, found[0], "")
        elif (found := _INNER_COMMAND.search(arg)) and program_name(found[2]) in PROGRAMS:
            execute(state, found[1], "")


def _dispatch(state: State, command: Command) -> str:
    if command.name in state.functions:
        return _call(state, command)
    if command.name in state.aliases:
        code = shlex.join(command.args)
        return execute(state, f"{state.aliases.pop(command.name)} {code}", "", command.stdin)
    if state.is_mark(command.path) or command.path.startswith("$"):
        return run_unknown(state, command)
    program = PROGRAMS.get(command.name)
    is_own = command.path.startswith(".") and command.name not in MINERS
    if program is not None and (command.path == command.name or not is_own):
        return program(state, command)
    run_nested(state, command)
    if any(arg.startswith(("stratum+", "stratum://")) for arg in command.args):
        state.emit(Act.MINE, command.name)  # whatever the name of the miner
    ran = run_path(state, command)
    return ran if ran is not None else filter_text(state, command)


def _call(state: State, command: Command) -> str:
    if (
        command.name in state.active
        or len(state.active) > _MAX_CALLS
        or state.steps > MAX_NESTING * 1000
    ):
        return state.derive(command.stdin, *command.args)
    state.active.append(command.name)
    state.called.add(command.name)
    before = {str(number): state.variables.get(str(number)) for number in range(1, 10)}
    for number, arg in enumerate(command.args[:9], start=1):
        state.variables[str(number)] = arg
    state.variables["@"] = state.variables["*"] = CUT.join(command.args)
    base_line = state.base_line
    group, state.base_line = state.functions[command.name]
    try:
        return run_items(state, group.items, command.stdin, is_consumed=command.is_consumed)
    finally:
        state.active.pop()
        state.base_line = base_line
        for key in ("@", "*", *before):
            old = before.get(key)
            if old is None:
                state.variables.pop(key, None)
            else:
                state.variables[key] = old


def run_uncalled(state: State) -> None:
    """Analyse functions and aliases that were never called, with unknown arguments."""
    for value in list(state.aliases.values()):
        execute(state, value, "")
    for name in list(state.functions):
        if name not in state.called:
            run_command(state, Command(name=name, args=[], path=name))
