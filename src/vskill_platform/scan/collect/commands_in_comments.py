"""Read commands that a text mentions: in comments, docstrings, settings, pages and tables.

An agent that reads "start it with `docker run …`" runs the command, wherever it is.
"""

import re
from itertools import islice

import msgspec

from vskill_platform.scan.any_language.code_signs import code_signs
from vskill_platform.scan.collect.locate_facts import Fragments
from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.facts.hosts import ANONYMOUS
from vskill_platform.scan.languages.dispatch import read_shell
from vskill_platform.scan.prose.commands_in_prose import (
    commands_in,
    is_disguised,
    may_be_command,
)
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.prose.words_in_code import words_in_code

_MAX_COMMANDS = 500
#: Line ends in comments and docstrings, with the mark of the next line.
_LINE_ENDS = ("\n# ", "\n// ", "\n * ", "\n")
#: Acts that a comment about the use of a program has no reason to mention.
_NEVER_USAGE = frozenset(
    {
        Act.ELEVATE, Act.REVERSE_SHELL, Act.RUN_DECODED, Act.LEAK, Act.MINE, Act.PAY, Act.ROOT,
        Act.UNLOCK, Act.DISARM, Act.TOOL_SERVER,
    }
)  # fmt: skip


#: The relevant acts of a script that may be mostly prose.
_DONE_BY_A_SCRIPT = _NEVER_USAGE | {
    Act.RUN_REMOTE, Act.WRITE, Act.DELETE, Act.DESTROY, Act.SEND, Act.READ_SECRET, Act.READ_ALL_ENV,
}  # fmt: skip
_QUOTED_TEXT = re.compile(r"\"\"\"|'''|/\*|<!--|=begin")
#: The sign before a comment, and a label.
_LABEL = r"[A-Z][\w-]{0,20}:[ \t]+"
_MARK = re.compile(
    rf"(?m)^[ \t]*(?:(?:[#;%*!']+|//+|--|::|(?:REM|rem)\b)[ \t]*(?:{_LABEL})?|{_LABEL})"
)


def mentioned_commands(part: Paragraphs, *, is_obeyed: bool) -> list[Fact]:
    """Return what the commands in paragraphs do, each at the line of its command.

    Many texts show how a program is installed or called. Unless the agent is told to follow a text,
    only acts that such texts never need are returned.
    """
    if not may_be_command(part.shown.text):
        return []
    fragments = Fragments()
    facts = []
    for view, start, code in islice(commands_in(part), _MAX_COMMANDS):
        if may_be_command(code) or is_disguised(code):
            line = part.line_at(view, start)
            found = (*fragments.read(read_shell, code), *code_signs(code))
            facts += [msgspec.structs.replace(fact, line=line) for fact in found]
    return [fact for fact in facts if _counts(fact, is_obeyed=is_obeyed)]


def commands_in_comments(text: str, words: str, *, is_obeyed: bool) -> list[Fact]:
    """Return what commands in *words*, the comments and docstrings of code, do."""
    joined = text
    for end in _LINE_ENDS:  # a command may be wrapped
        joined = joined.replace(end, " ")
    if not may_be_command(joined):
        return []
    return mentioned_commands(Paragraphs(words, 1), is_obeyed=is_obeyed) if words.strip() else []


def whole_comments(text: str) -> list[Fact]:
    """Return what the comments of a file do as one script that the agent is told to run."""
    words = words_in_code(text) if _QUOTED_TEXT.search(text) else ""
    if words.strip():  # the rest of the file is code and is read as such
        code = _MARK.sub("", words)
    else:
        code = "\n".join(
            _MARK.sub("", line) if _MARK.match(line) else "" for line in text.split("\n")
        )
    if not may_be_command(code):
        return []
    return [fact for fact in Fragments().read(read_shell, code) if fact.act in _DONE_BY_A_SCRIPT]


def _counts(fact: Fact, *, is_obeyed: bool) -> bool:
    if is_obeyed:
        return fact.act is not Act.OPAQUE
    return fact.act in _NEVER_USAGE or (fact.act is Act.RUN_REMOTE and fact.host_class in ANONYMOUS)
