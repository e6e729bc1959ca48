"""All facts of a skill's texts, each with the file it is in and the role it has there."""

import re

from vskill_platform.scan.collect import Placed, encoded_in, place, reader_of
from vskill_platform.scan.facts import Act, Fact
from vskill_platform.scan.hidden_text import visible
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.magic import FileType
from vskill_platform.scan.masked_hosts import read_masked_hosts
from vskill_platform.scan.paragraphs import Paragraphs
from vskill_platform.scan.prose import TOLD_BY_CODE, read_prose, read_words_in_code
from vskill_platform.scan.read_markdown import Markdown
from vskill_platform.scan.skill_files import Role, ScanFile, is_prose, name_of
from vskill_platform.scan.tool_texts import tool_texts

#: How many files are kept in memory in two forms.
_AT_ONCE = 16
#: What stands before a command in a recipe.
_RECIPE = re.compile(r"^(?:\t[@+-]*|RUN\s+)", re.MULTILINE)


def collect_facts(files: list[ScanFile]) -> list[Placed]:
    """Collect what the texts among the files do and say."""
    texts = [file for file in files if file.kind is FileType.TEXT]
    return [
        placed
        for start in range(0, len(texts), _AT_ONCE)
        for placed in _facts_of_some(texts[start : start + _AT_ONCE])
    ]


def _facts_of_some(files: list[ScanFile]) -> list[Placed]:
    # First the words of all, then the code of all: by turns, each drives the other's tables out of
    # the processor's caches, and words take a third longer.
    texts = [text for file in files if (text := _text_of(file))]
    for text in texts:
        text.read_words()
    return [placed for text in texts for placed in text.facts()]


def _text_of(file: ScanFile) -> "Markdown | _Code | None":
    text = read_masked_hosts(visible(file.text))
    if file.language:
        return _Code(file, text)
    return Markdown(file, text) if is_prose(file.path) else None


class _Code:
    """A file of a language that is read here."""

    def __init__(self, file: ScanFile, text: str) -> None:
        self._file = file
        self._text = text
        self._told: list[Fact] = []

    def read_words(self) -> None:
        self._told = read_words_in_code(self._text, 1, TOLD_BY_CODE)

    def facts(self) -> list[Placed]:
        file = self._file
        found = place(self._read(), file)
        found += place(self._told, file, Role.QUOTED)
        if file.language == "python":
            for line, text in tool_texts(self._text):
                found += place(read_prose(Paragraphs(text, line)), file)
        return found + place(encoded_in(self._text, 1), file)

    def _read(self) -> list[Fact]:
        reader = reader_of(self._file.language)
        try:
            return reader(_recipes(self._file.path, self._text)) if reader else []
        except Unparsed as error:
            unread = Fact(act=Act.OPAQUE, line=1, text=str(error), detail="unparsed")
            return [*error.facts, unread]


def _recipes(path: str, text: str) -> str:
    """Return the commands of a Makefile or Dockerfile without what make and docker add to them."""
    is_recipe = name_of(path) in {"makefile", "dockerfile", "justfile"}
    return _RECIPE.sub("", text) if is_recipe else text
