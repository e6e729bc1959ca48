"""Skip code that cannot produce a fact, such as most commands in prose, without analysing it.

A fact requires a known program at the start of a command, a redirection from or to a sensitive
path, or text that is computed at run time. Code without any of these cannot produce one. If this is
uncertain, the code counts as not idle and is analysed.
"""

import re
from functools import cache

import re2

from vskill_platform.scan.facts.loading_variables import INDEX_VARIABLES
from vskill_platform.scan.facts.sensitive_paths import secret_in, sensitive_place_in
from vskill_platform.scan.languages.shell.commands import PROGRAMS
from vskill_platform.scan.languages.shell.names import ALIASES, VERSIONED, program_name
from vskill_platform.scan.languages.shell.parser import RESERVED
from vskill_platform.scan.languages.shell.state import MAX_PATH, secret_at

#: The maximum length, far below every limit of the analysis.
_MAX_CHARACTERS = 4000
#: A line of bare words: no quotes, variables, pipes, redirections, assignments or prompts.
_BARE_LINE = re.compile(r"[ \t]*(?:([\w./:@,+~*?^-]+)(?:[ \t][\w \t./:@,+~*?^=%!#-]*)?)?")
#: Words that give a line a meaning if it starts with them.
_STARTS = PROGRAMS.keys() | RESERVED
#: Variables with a meaning for the shell.
_VARIABLES = ("HISTFILE", "HISTSIZE", "HISTFILESIZE", *sorted(INDEX_VARIABLES))
#: Expansions, escapes and here documents, whose results are not visible in the text.
_MAKERS = ("$", "\\", "`", "<<")
_FUNCTION = re.compile(r"\(\s*\)\s*[({#]")
#: A redirection with its target, and signs that the target is incomplete.
_REDIRECTION = re.compile(r"[<>][<>&|]*[^\S\n]*([^\s|&;()<>'\"]*)(['\"<(]?)")


def is_bare(code: str) -> bool:
    """Return whether a text consists of bare words, such as file names, without a known program."""
    if len(code) > _MAX_CHARACTERS or not code.isascii():
        return False
    for line in code.split("\n"):
        bare = _BARE_LINE.fullmatch(line)
        if bare is None or (bare[1] and program_name(bare[1]) in _STARTS):
            return False
    return True


def is_idle(code: str) -> bool:
    """Return whether code, which may contain quotes and brackets, starts no known program."""
    if len(code) > _MAX_CHARACTERS:
        return False
    if any(sign in code for sign in _MAKERS) or _FUNCTION.search(code):
        return False
    if "<" not in code and ">" not in code:
        return not _may_start_program(code) or not _names_program(code)
    if _names_program(code):
        return False
    return not any(leads_on or _matters(target) for target, leads_on in _REDIRECTION.findall(code))


def _names_program(code: str) -> bool:
    """Return whether a known program is named anywhere, even with quotes inside its name."""
    bare = code.replace('"', "").replace("'", "")
    return _patterns()[0].search(bare.encode(errors="replace")) is not None


def _may_start_program(code: str) -> bool:
    """Return whether a command may start with a known program, or with a quote."""
    return _patterns()[1].search(code.encode(errors="replace")) is not None


@cache
def _patterns() -> tuple["re2._Regexp", "re2._Regexp"]:
    """Return patterns for a known program, and for a command that starts with one."""
    aliases = [alias for alias, name in ALIASES.items() if name in PROGRAMS]
    names = "|".join(re.escape(name) for name in (*PROGRAMS, *aliases, *_VARIABLES))
    versioned = VERSIONED.pattern.removesuffix("$")
    program = rf"(?:{names}|{versioned}|[\w.+-]*\.exe)(?:$|[^\w.+-])"
    blank = r"[\s\v]"
    reserved = "|".join(re.escape(word) for word in RESERVED)
    before = rf"(?:(?:{reserved}|[^\s\v\"'=]+=[^\s\v\"']*){blank}+)*"
    start = rf"(?:^|[\n|&;()]|{blank}in{blank}){blank}*{before}"
    command = rf"{start}(?:[^\s\v\"']*[\"']|(?:[^\s\v\"']*[/{{])?{program})"
    return re2.compile(rf"(?:^|[^\w.+-]){program}".encode()), re2.compile(command.encode())


def _matters(target: str) -> bool:
    """Return whether reading from or writing to a path may be relevant."""
    if not target or target == "/dev/null":
        return False
    return (
        len(target) > MAX_PATH
        or target.startswith(("/dev/", "/proc/"))
        or secret_in(target) is not None
        or secret_at(target) is not None
        or sensitive_place_in(target) is not None
    )
