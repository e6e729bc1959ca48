"""Collect all facts from a skill's texts, each with its file and the role of that file."""

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from vskill_platform.scan.any_language.code_signs import code_signs
from vskill_platform.scan.any_language.read_any_text import read_any_text
from vskill_platform.scan.collect.commands_in_comments import (
    commands_in_comments,
    mentioned_commands,
    whole_comments,
)
from vskill_platform.scan.collect.locate_facts import encoded_in, locate, role_of_words
from vskill_platform.scan.collect.modelines import modeline_facts
from vskill_platform.scan.collect.read_markdown import Markdown
from vskill_platform.scan.collect.recipes import RECIPES, commands_of
from vskill_platform.scan.collect.tool_texts import tool_texts
from vskill_platform.scan.collect.unlabelled_code import (
    elements,
    page_scripts,
    read_as_settings,
    read_here_documents,
    read_unlabelled,
    without_page_scripts,
)
from vskill_platform.scan.facts.addresses import doubtful_addresses
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole
from vskill_platform.scan.facts.hidden_text import visible, without_escapes, without_namespaces
from vskill_platform.scan.facts.masked_hosts import read_masked_hosts
from vskill_platform.scan.languages.dispatch import reader_of
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.prose.read_prose import CodeProse, Prose, read_prose
from vskill_platform.scan.prose.search_views import SearchedView, search_views
from vskill_platform.scan.read.magic import CONTAINERS, FileType
from vskill_platform.scan.read.skill_files import ScanFile, is_program, is_prose, name_of, suffix_of

#: How many files are kept in memory in both forms.
_AT_ONCE = 16
#: The prefix of a command in a recipe, and readable text inside binary data such as image metadata.
_PRINTED = re.compile(rb"[\x20-\x7e\t]{12,4000}")
_MAX_PRINTED = 2_000
#: Formats of settings, whose words are read together with their structure.
FORMATS = frozenset({".json", ".jsonc", ".json5", ".ipynb", ".yaml", ".yml", ".toml"})


def collect_facts(files: list[ScanFile]) -> list[LocatedFact]:
    """Collect what the files do and say, including files that are not text."""
    readings = [reading for file in files for reading in _readings(file)]
    return [
        located
        for start in range(0, len(readings), _AT_ONCE)
        for located in _facts_of_some(readings[start : start + _AT_ONCE])
    ]


def _readings(file: ScanFile) -> Iterator[ScanFile]:
    """Yield a file once for each possible decoding of its bytes."""
    if file.kind is FileType.TEXT or file.is_run:
        yield file
        for text in file.other_texts:
            yield msgspec.structs.replace(file, text=text)
    elif file.raw and file.kind not in CONTAINERS:
        words = b"\n\n".join(islice(_PRINTED.findall(file.raw), _MAX_PRINTED))
        if words:
            plain = words.replace(b"\\(", b"(").replace(b"\\)", b")")  # as in a PDF
            yield msgspec.structs.replace(file, text=plain.decode("ascii"))


def _facts_of_some(files: list[ScanFile]) -> list[LocatedFact]:
    # Read the words of all files first, then the code of all. Alternating between words and code
    # would evict their tables from the processor's caches, so that reading words takes a third
    # longer.
    texts = [text for file in files for text in _texts_of(file)]
    search_views([view for text in texts for view in text.views()])
    for text in texts:
        text.read_words()
    found = [located for text in texts for located in text.facts()]
    for file in files:
        found += locate(modeline_facts(file.text), file)
    return found


def _texts_of(file: ScanFile) -> "Iterator[Markdown | _Code | _AnyText]":
    text = read_masked_hosts(visible(file.text))
    if file.language:
        yield _Code(file, text)
    is_other_code = (file.is_run and not file.language) or name_of(file.path) in RECIPES
    if is_prose(file.path) and file.kind is FileType.TEXT and not is_other_code:
        yield Markdown(file, text)
    elif not file.language:
        yield _AnyText(file, text)


class _AnyText:
    """A text in a language without a reader, or not in any language."""

    def __init__(self, file: ScanFile, text: str) -> None:
        self._file = file
        self._text = text
        self._part: Paragraphs | None = None
        self._prose: Prose | None = None
        self._code = CodeProse(text, is_for_agent=file.is_obeyed) if self._is_code else None
        self._words: list[Fact] = []
        self._shown: list[Fact] = []
        if not self._is_code and suffix_of(file.path) not in FORMATS:
            if "\\" in text:  # line ends and other letters, escaped
                text = visible(without_escapes(text))
            self._part = Paragraphs(without_namespaces(text), 1)
            self._prose = Prose(self._part)

    def views(self) -> list[SearchedView]:
        read = self._code or self._prose
        return read.views() if read else []

    def read_words(self) -> None:
        if self._code:
            self._words, self._shown = self._code.facts()
            self._shown += commands_in_comments(
                self._text, self._code.words, is_obeyed=self._file.is_obeyed
            )
        if self._file.is_obeyed or self._file.role is PartRole.INSTRUCTION:
            self._shown += whole_comments(self._text)
        if self._part and self._prose:
            self._words += self._in_view(self._prose.facts())
            self._words += mentioned_commands(
                self._part, is_obeyed=self._file.role is PartRole.INSTRUCTION
            )

    def facts(self) -> list[LocatedFact]:
        file = self._file
        found = locate(read_any_text(self._text, is_code=self._is_code), file)
        if suffix_of(file.path) not in FORMATS:
            found += locate(read_as_settings(self._text), file)
        found += locate(code_signs(self._text), file) if self._is_code else []
        found += locate(self._words, file, PartRole.QUOTED if self._is_code else file.role)
        found += locate(self._shown, file, role_of_words(file))
        for line, code in () if self._is_code else elements(self._text):
            found += locate(read_unlabelled(code), file, shift=line - 1)
        for line, code in () if self._is_code else page_scripts(self._text):
            found += locate(code_signs(code), file, PartRole.SCRIPT, shift=line - 1)
        return found + (locate(encoded_in(self._text, 1), file) if self._is_code else [])

    def _in_view(self, words: list[Fact]) -> list[Fact]:
        """Leave out addresses that only the scripts of a page use: they are no instructions."""
        outside = "" if self._file.is_obeyed else without_page_scripts(self._text)
        if not outside:
            return words
        named = {host for *_, host in doubtful_addresses(outside)}
        return [fact for fact in words if fact.act is not Act.TOLD_ADDRESS or fact.host in named]

    @property
    def _is_code(self) -> bool:
        return is_program(self._file.path) or self._file.is_run


class _Code:
    """A file in a language that has a reader."""

    def __init__(self, file: ScanFile, text: str) -> None:
        self._file = file
        self._text = text
        self._code = CodeProse(text, is_for_agent=file.is_obeyed)
        self._words: list[Fact] = []
        self._shown: list[Fact] = []

    def views(self) -> list[SearchedView]:
        return self._code.views()

    def read_words(self) -> None:
        self._words, self._shown = self._code.facts()
        self._shown += commands_in_comments(
            self._text, self._code.words, is_obeyed=self._file.is_obeyed
        )
        if self._file.is_obeyed:
            self._shown += whole_comments(self._text)

    def facts(self) -> list[LocatedFact]:
        file = self._file
        found = locate([*self._read(), *code_signs(self._text)], file)
        if file.language == "shell":
            found += locate(read_here_documents(self._text), file)
        found += locate(self._words, file, PartRole.QUOTED)
        found += locate(self._shown, file, role_of_words(file))
        if file.language == "powershell":  # and batch, without a reader of its own
            found += locate(read_any_text(self._text, is_code=True), file)
        if file.language == "python":
            for line, text in tool_texts(self._text):
                found += locate(read_prose(Paragraphs(text, line)), file)
        return found + locate(encoded_in(self._text, 1), file)

    def _read(self) -> list[Fact]:
        reader = reader_of(self._file.language)
        try:
            return reader(commands_of(self._file.path, self._text)) if reader else []
        except Unparsed as error:
            unread = Fact(act=Act.OPAQUE, line=1, text=str(error), detail="unparsed")
            return [*error.facts, unread]
