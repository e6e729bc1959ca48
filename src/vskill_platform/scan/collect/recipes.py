"""Extract the commands of a Makefile, justfile, Dockerfile or fish script for the shell parser."""

import re
import shlex

from vskill_platform.scan.read.skill_files import name_of, suffix_of

_IMAGES = frozenset({"dockerfile", "containerfile", "earthfile"})
RECIPES = _IMAGES | {"makefile", "gnumakefile", "justfile"}
#: A URL that Docker downloads and adds to an image.
_ADDED = re.compile(r"(?m)^ADD[ \t]+(?:--\S+[ \t]+)*(https?://[^\s\"]{3,500})[ \t]+(\S{1,200})")
_EXECUTED = re.compile(r"(?m)^RUN[ \t]+\[([^\]\n]{2,2000})\][ \t]*$")
_LISTED_WORD = re.compile(r"\"([^\"]{0,1000})\"")
#: Labels of code fences, and the type of file that each belongs to.
_LABELS = {
    "docker": "dockerfile", "dockerfile": "dockerfile", "containerfile": "dockerfile",
    "earthfile": "dockerfile", "make": "makefile", "makefile": "makefile", "mk": "makefile",
    "gnumakefile": "makefile", "just": "justfile", "justfile": "justfile", "fish": "x.fish",
}  # fmt: skip
_MAKE_VARIABLE = re.compile(
    r"(?m)^[ ]{0,8}([\w.]{1,60})[ \t]{0,20}[:?]?=[ \t]{0,20}([^\n#$]{1,300}?)[ \t]{0,20}$"
)
_MAKE_USE = re.compile(r"\$[({]([\w.]{1,60})[)}]")
#: `$(shell …)` and `x != …` run a command when make reads the file.
_MAKE_SHELL = re.compile(r"\$[(](?:call[ ]shell,|shell\s)")
#: A file that make includes in this one, and a shell variable with the same effect.
_MAKE_INCLUDE = re.compile(r"(?m)^[ ]{0,8}[-s]?include[ \t]+(?=\S)")
_MAKE_ASSIGNED = re.compile(r"(?m)^[ ]{0,8}[\w.]{1,60}[ \t]{0,20}!=[ \t]{0,20}")
#: Assignments in fish, of the output of a command and of one word.
_FISH_OUTPUT = re.compile(r"(?m)^[ \t]*set[ ]+(?:-\w+[ ]+){0,3}(\w+)[ ]+\((.{1,2000})\)[ \t]*$")
_FISH_SET = re.compile(r"(?m)^[ \t]*set[ ]+(?:-\w+[ ]+){0,3}(\w+)[ ]+(\S{1,500})[ \t]*$")
_RECIPE = re.compile(r"^(?:\t[@+-]*|[ \t]*RUN\s+)", re.MULTILINE)
#: The same in a justfile, which allows any indentation.
_JUST_RECIPE = re.compile(r"^[ \t]+[@-]*", re.MULTILINE)


def commands_of_fence(label: str, text: str) -> str:
    """Return the code of a fence, or the commands if it is a recipe."""
    return commands_of(_LABELS[label], text) if label in _LABELS else text


def commands_of(path: str, text: str) -> str:
    """Return the commands of a Makefile or Dockerfile without the syntax of make and docker."""
    if suffix_of(path) == ".fish":
        return _FISH_SET.sub(r"\1=\2", _FISH_OUTPUT.sub(r"\1=$(\2)", text))
    is_recipe = name_of(path) in RECIPES or suffix_of(path) in {".mk", ".make"}
    if not is_recipe:
        return text
    if name_of(path) == "justfile":
        return _JUST_RECIPE.sub("", text)
    if name_of(path) in _IMAGES:
        text = _EXECUTED.sub(_as_command, _ADDED.sub(_fetched, text))
    else:
        text = _MAKE_INCLUDE.sub("BASH_ENV=", _with_make_variables(text) if "$" in text else text)
    return _RECIPE.sub("", _MAKE_ASSIGNED.sub("", text))


def _as_command(executed: re.Match[str]) -> str:
    """Return the command whose words are in a list: RUN ["/bin/sh", "/setup.sh"]."""
    return shlex.join(_LISTED_WORD.findall(executed[1]))


def _fetched(added: re.Match[str]) -> str:
    """Return a command with the effect of ADD: clone a repository or download a file."""
    is_repository = added[1].partition("#")[0].endswith(".git")
    command = "git clone" if is_repository else "curl"
    return f"{command} {added[1]} {'' if is_repository else '-o '}{added[2]}"


def _with_make_variables(text: str) -> str:
    """Return a Makefile with simple variables expanded, and `$$` as the shell gets it."""
    known = dict(_MAKE_VARIABLE.findall(text))
    text = _MAKE_USE.sub(lambda found: known.get(found[1], found[0]), text)
    return _MAKE_SHELL.sub("$( ", text).replace("$$", "$")
