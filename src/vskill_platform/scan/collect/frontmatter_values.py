"""Read frontmatter values as an agent loads them: decoded, at any depth, under any key."""

import re
from collections.abc import Iterator
from itertools import islice

import msgspec
import yaml

from vskill_platform.scan.collect.commands_in_comments import mentioned_commands
from vskill_platform.scan.collect.locate_facts import Fragments
from vskill_platform.scan.collect.unlabelled_code import read_unlabelled
from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hidden_text import (
    bidi_lines,
    hidden_message,
    invisible_in_words,
    visible,
)
from vskill_platform.scan.languages.dispatch import read_shell
from vskill_platform.scan.prose.commands_in_prose import may_be_command
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.prose.read_prose import Prose
from vskill_platform.scan.prose.search_views import SearchedView
from vskill_platform.scan.read.frontmatter import (
    MAX_FRONTMATTER_CHARACTERS,
    FrontmatterError,
    nodes_of,
)
from vskill_platform.scan.read.regions import Region

_MAX_VALUES = 2_000
#: Consecutive comment lines are one text.
_COMMENT = re.compile(r"(?:^|(?<=\s))(#[^\n]*(?:\n[^\S\n]*#[^\n]*)*)", re.MULTILINE)
_COMMENT_SIGN = re.compile(r"^[^\S\n]*#+ ?", re.MULTILINE)


class FrontmatterValues:
    """The keys, values and comments of a frontmatter."""

    def __init__(self, region: Region) -> None:
        self._values = [*_decoded(region), *_comments(region)]
        #: All values as one text, separated by blank lines, and the line of the file of each line.
        lines: list[str] = []
        self._origins: list[int] = []
        for line, value in self._values:
            parts = [*visible(value).split("\n"), ""]
            lines += parts
            self._origins += [line] * len(parts)
        self._prose = Prose(Paragraphs("\n".join(lines), 1)) if lines else None

    def views(self) -> list[SearchedView]:
        """Return what is searched before the values are read."""
        return self._prose.views() if self._prose else []

    def facts(self, fragments: Fragments) -> list[Fact]:
        """Read them as words and as commands, because some agents run `install:` entries."""
        found = [
            msgspec.structs.replace(fact, line=self._origins[fact.line - 1])
            for fact in (self._prose.facts() if self._prose else ())
        ]
        for line, value in self._values:
            if " " in value:
                shown = visible(value)
                facts = [*fragments.read(read_shell, shown), *read_unlabelled(shown)]
                if may_be_command(shown):
                    facts += mentioned_commands(Paragraphs(shown, 1), is_obeyed=True)
                found += [msgspec.structs.replace(fact, line=line) for fact in facts]
            found += _hidden(line, value)
        return found


def _decoded(region: Region) -> Iterator[tuple[int, str]]:
    """Yield each key and value with its line; raw lines if it is not YAML."""
    head = region.text[:MAX_FRONTMATTER_CHARACTERS]
    try:
        scalars = list(nodes_of(f"{head}\n"))
    except (FrontmatterError, yaml.YAMLError):
        for number, line in enumerate(head.split("\n"), start=region.line):
            yield number, line.partition(": ")[2].strip().strip("'\"") or line
        return
    for node in scalars[:_MAX_VALUES]:
        yield region.line + node.start_mark.line, str(node.value)


def _comments(region: Region) -> Iterator[tuple[int, str]]:
    """Yield comments with their first lines, because some agents read the raw file."""
    head = region.text[:MAX_FRONTMATTER_CHARACTERS]
    if "#" not in head:
        return
    line = last = 0
    for comment in islice(_COMMENT.finditer(head), _MAX_VALUES):
        line += head.count("\n", last, comment.start(1))
        last = comment.start(1)
        yield region.line + line, _COMMENT_SIGN.sub("", comment[1])


def _hidden(line: int, value: str) -> Iterator[Fact]:
    if value.isascii():
        return
    if message := hidden_message(value):
        text = shorten(message)
        yield Fact(act=Act.HIDDEN, line=line, text=text, detail="instruction")
    if bidi_lines(value):
        text = "characters that reorder the displayed text"
        yield Fact(act=Act.HIDDEN, line=line, text=text, detail="bidi")
    if invisible_in_words(value):
        yield Fact(act=Act.HIDDEN, line=line, text=shorten(visible(value)), detail="word")
