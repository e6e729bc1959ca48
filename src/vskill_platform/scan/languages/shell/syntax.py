"""What a piece of shell code is made of: words, redirections, pipelines, groups."""

from dataclasses import dataclass, field
from typing import NamedTuple

#: Kinds of parts that a word is made of.
TEXT, VARIABLE, SUBSTITUTION, PROCESS, ANSI, ARRAY = "text", "var", "sub", "proc", "ansi", "array"


class Part(NamedTuple):
    kind: str
    #: The text itself, the inside of ``${…}``, or the code inside of a substitution.
    text: str
    is_quoted: bool = False


class Word(NamedTuple):
    parts: tuple[Part, ...]
    #: A backslash stands before an ordinary letter inside of the word, as in ``c\\url``.
    has_stray_escape: bool = False

    @property
    def bare(self) -> str | None:
        """The text of a word that has neither quotes nor expansions."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only.text if only and only.kind == TEXT and not only.is_quoted else None


class Redirect(NamedTuple):
    fd: str
    op: str
    target: Word


@dataclass(slots=True)
class Simple:
    """A command with its words, not expanded yet."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    line: int
    stages: "list[Simple | Group]" = field(default_factory=list)
    source: str = ""


@dataclass(slots=True)
class Group:
    """Statements that belong together: braces, a subshell, a loop, a function's body."""

    kind: str
    items: list[Pipeline] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    #: The function's name, or the variable of a for loop with the words that it walks over.
    name: str = ""
    words: list[Word] = field(default_factory=list)


class Token(NamedTuple):
    #: "word", "op" or "redirect".
    kind: str
    #: The operator; for a redirection its number and operator, as in ``2>``.
    text: str
    start: int
    end: int
    word: Word | None = None
