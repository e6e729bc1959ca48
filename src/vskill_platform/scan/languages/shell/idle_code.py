"""Telling code that does nothing worth noting without following it, as most code in prose does.

A fact takes a program that we know where a command starts, a redirection to or from a place that
matters, or text that is made while the code runs. In code that has none of them, following it
would only take longer to find nothing. In doubt the answer is no: then the code is followed.
"""

import re
from functools import cache

import re2

from vskill_platform.scan.facts.sensitive_paths import secret_in, sensitive_place_in
from vskill_platform.scan.languages.shell.commands import PROGRAMS
from vskill_platform.scan.languages.shell.names import ALIASES, VERSIONED, program_name
from vskill_platform.scan.languages.shell.parser import RESERVED
from vskill_platform.scan.languages.shell.state import MAX_PATH, secret_at

#: Far below everything that is counted while code is followed.
_MAX_CHARACTERS = 4000
#: A line of bare words: no quotes, variables, pipes, redirections, assignments or prompts.
_BARE_LINE = re.compile(r"[ \t]*(?:([\w./:@,+~*?^-]+)(?:[ \t][\w \t./:@,+~*?^=%!#-]*)?)?")
#: What gives a line a meaning that starts with it.
_STARTS = PROGRAMS.keys() | RESERVED
#: Variables that mean something to the shell.
_VARIABLES = ("HISTFILE", "HISTSIZE", "HISTFILESIZE")
#: Expansions, escapes and here documents: what they make is not seen by looking.
_MAKERS = ("$", "\\", "`", "<<")
_FUNCTION = re.compile(r"\(\s*\)\s*[({#]")
#: A redirection with where it leads to, and what shows that this is not all of it.
_REDIRECTION = re.compile(r"[<>][<>&|]*[^\S\n]*([^\s|&;()<>'\"]*)(['\"<(]?)")


def is_bare(code: str) -> bool:
    """Tell names of files, of fields and the like: bare words that start with no known program."""
    if len(code) > _MAX_CHARACTERS or not code.isascii():
        return False
    for line in code.split("\n"):
        bare = _BARE_LINE.fullmatch(line)
        if bare is None or (bare[1] and program_name(bare[1]) in _STARTS):
            return False
    return True


def is_idle(code: str) -> bool:
    """Tell code that has quotes, brackets and the like, but starts no known program either."""
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
    """Tell if a known program is named, wherever that is: quotes can stand anywhere in a name."""
    bare = code.replace('"', "").replace("'", "")
    return _patterns()[0].search(bare.encode(errors="replace")) is not None


def _may_start_program(code: str) -> bool:
    """Tell if a command may start with a known program; one that starts with a quote may."""
    return _patterns()[1].search(code.encode(errors="replace")) is not None


@cache
def _patterns() -> tuple["re2._Regexp", "re2._Regexp"]:
    """Return what finds a known program, and what finds a command that starts with one."""
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
    """Tell that reading from or writing to a place may be worth noting."""
    if not target or target == "/dev/null":
        return False
    return (
        len(target) > MAX_PATH
        or target.startswith(("/dev/", "/proc/"))
        or secret_in(target) is not None
        or secret_at(target) is not None
        or sensitive_place_in(target) is not None
    )
