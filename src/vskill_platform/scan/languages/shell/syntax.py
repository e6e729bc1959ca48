"""Syntax tree of shell code: words, redirections, pipelines, groups.

No node refers to its parent, so the garbage collector can ignore them.
"""

from collections.abc import Sequence

import msgspec

#: Kinds of parts of a word.
TEXT, VARIABLE, SUBSTITUTION, PROCESS, ANSI, ARRAY = "text", "var", "sub", "proc", "ansi", "array"
#: A process substitution for output.
SINK = "sink"


class Part(msgspec.Struct, frozen=True, gc=False):
    kind: str
    #: The text itself, the inside of ``${…}``, or the code inside a substitution.
    text: str
    is_quoted: bool = False


class Parts(msgspec.Struct, frozen=True, gc=False):
    """A word with quotes or expansions in it."""

    parts: tuple[Part, ...]
    #: A backslash precedes an ordinary letter inside the word, as in ``c\\url``.
    has_stray_escape: bool = False


#: A word without quotes and expansions, as nearly all are, is represented by its text.
Word = str | Parts


def bare(word: Word) -> str | None:
    """Return the text of a word without quotes and expansions."""
    return word if isinstance(word, str) else None


def parts_of(word: Word) -> tuple[Part, ...]:
    return (Part(TEXT, word),) if isinstance(word, str) else word.parts


class Redirect(msgspec.Struct, frozen=True, gc=False):
    fd: str
    op: str
    target: Word


class Simple(msgspec.Struct, gc=False):
    """A command with its words, not expanded yet."""

    words: list[Word] = []
    redirects: list[Redirect] = []
    #: Whether all words are bare.
    is_plain: bool = True


class Pipeline(msgspec.Struct, gc=False):
    line: int
    stages: "list[Simple | Group]" = []
    source: str = ""
    is_coprocess: bool = False


class Group(msgspec.Struct, gc=False):
    """Statements that belong together: braces, a subshell, a loop, a function's body."""

    kind: str
    items: list[Pipeline] = []
    redirects: list[Redirect] = []
    #: The function's name, or the variable of a for loop with the words it iterates over.
    name: str = ""
    words: list[Word] = []


class Token(msgspec.Struct, gc=False):
    #: "word", "op", "redirect", or "run": bare words after a word.
    kind: str
    #: The operator; for a redirection its number and operator, as in ``2>``.
    text: str
    start: int
    end: int
    word: Word | None = None
    run: Sequence[str] = ()
