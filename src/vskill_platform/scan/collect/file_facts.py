"""Facts about whole files: programs, archives, active images, hooks, hidden characters."""

import re
from collections.abc import Iterator
from itertools import islice

import re2

from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole, shorten
from vskill_platform.scan.facts.hidden_text import (
    bidi_lines,
    hidden_message,
    invisible_in_words,
    mixed_words,
    visible,
)
from vskill_platform.scan.facts.hosts import VOUCHED_FOR, HostClass
from vskill_platform.scan.facts.leaked_secrets import find_leaked_secrets
from vskill_platform.scan.languages.dispatch import read_shell
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.prose.read_prose import read_prose
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.skill_files import ScanFile, suffix_of
from vskill_platform.scan.settings_files.dependencies import dependency_facts
from vskill_platform.scan.settings_files.requested_tools import tool_facts

_ACTIVE = re.compile(
    r"<script\b|[\s/\"']on[a-z]{3,30}\s*=|javascript:|vbscript:|<foreignObject\b|<!ENTITY\b"
    r"|href\s*=\s*[\"']?\s*data:(?!image/(?:png|jpe?g|gif|webp))|<(?:iframe|embed|object)\b",
    re.IGNORECASE,
)
_MAX_LEAKED = 50
#: Files that agents read although no instruction says to follow them.
_UNOBEYED = frozenset({PartRole.DOCUMENT, PartRole.REFERENCE, PartRole.SAMPLE})
#: A download that is run, in a text that addresses agents.
_ADDRESSED = re.compile(
    r"(?i)\b(?:agents?|assistants?|LLMs?|claude|codex|copilot|gemini)\b[^\n]{0,160}?"
    r"\b(?:run|execute|paste|start|type|call)\b[^\n]{0,60}?"
    r"((?:curl|wget)[ \t][^\n|]{1,300}\|[ \t]{0,4}(?:sudo[ \t])?(?:ba|z|da)?sh\b)"
)
_ADDRESSES_AGENT = re2.compile(_ADDRESSED.pattern)
_MAX_ADDRESSED = 5
#: A name with so many words may be a sentence.
_WORD_IN_NAME, _SENTENCE = re.compile(r"[^\W\d_]{2,}(?=[ _-])"), 4
_DOUBTFUL = frozenset(HostClass) - VOUCHED_FOR - {HostClass.LOCAL, HostClass.PLACEHOLDER}


def file_facts(files: list[ScanFile]) -> list[LocatedFact]:
    return [located for file in files for located in _facts(file)]


def _facts(file: ScanFile) -> Iterator[LocatedFact]:
    if file.has_archive_behind:
        yield _at(file, Act.OPAQUE, 1, "an archive appended to another file", "code")
    if file.is_disguised:
        yield _at(file, Act.OPAQUE, 1, "text with binary data in it", "broken")
    if file.kind is not FileType.TEXT:
        yield from _binary(file)
        return
    yield from _hidden(file)
    yield from _leaked_secrets(file)
    if file.role in _UNOBEYED:
        yield from _addressed_commands(file)
    yield from dependency_facts(file)
    yield from tool_facts(file)
    if file.is_cut:
        yield _at(file, Act.OPAQUE, 1, "too large: only the beginning was read", "cut")
    suffix = suffix_of(file.path)
    if suffix == ".svg" and (found := _ACTIVE.search(file.text)):
        line = file.text.count("\n", 0, found.start()) + 1
        yield _at(file, Act.ACTIVE, line, found[0], "svg")


def name_facts(files: list[ScanFile]) -> list[LocatedFact]:
    """Return what names tell an agent that lists the files and folders, in the role of orders."""
    named = {name: file.path for file in reversed(files) for name in file.path.split("/")}
    return [
        LocatedFact(fact=fact, path=path, role=PartRole.INSTRUCTION)
        for name, path in named.items()
        if len(_WORD_IN_NAME.findall(name)) >= _SENTENCE
        for fact in read_prose(Paragraphs(_words_of_name(name), 1))
    ]


def _words_of_name(name: str) -> str:
    name = visible(name).replace("\u2215", "/").replace("\u2044", "/")
    stem = name.rpartition(".")[0] or name
    return stem if " " in stem else stem.replace("_", " ").replace("-", " ")


def _addressed_commands(file: ScanFile) -> Iterator[LocatedFact]:
    """Yield commands to agents in a file that no instruction says to follow."""
    if not _ADDRESSES_AGENT.search(file.text.encode(errors="replace")):
        return
    for found in islice(_ADDRESSED.finditer(file.text), _MAX_ADDRESSED):
        try:
            facts = read_shell(found[1])
        except Unparsed as error:
            facts = error.facts
        if any(fact.act is Act.RUN_REMOTE and fact.host_class in _DOUBTFUL for fact in facts):
            line = file.text.count("\n", 0, found.start()) + 1
            yield _at(file, Act.HIDDEN, line, found[0], "instruction")


def _binary(file: ScanFile) -> Iterator[LocatedFact]:
    match file.kind:
        case FileType.EXECUTABLE | FileType.DISK_IMAGE:
            yield _at(file, Act.EXECUTABLE, 1, file.kind, file.kind)
        case FileType.BYTECODE | FileType.ARCHIVE:
            yield _at(file, Act.OPAQUE, 1, file.kind, file.kind)
        case FileType.DATA | FileType.MEDIA | FileType.DOCUMENT if file.is_run:
            yield _at(file, Act.OPAQUE, 1, f"{file.kind}, which the skill runs", "broken")
        case FileType.DATA:
            yield _at(file, Act.OPAQUE, 1, file.kind, "unknown")
        case _:
            return


def _hidden(file: ScanFile) -> Iterator[LocatedFact]:
    message = hidden_message(file.text)
    if message:
        yield _at(file, Act.HIDDEN, 1, message, "instruction")
    if file.text.isascii():
        return
    for line in bidi_lines(file.text)[:1]:
        yield _at(file, Act.HIDDEN, line, "characters that reorder the displayed text", "bidi")
    for line in mixed_words(file.text)[:1] if file.language else ():
        text = file.text.split("\n")[line - 1]
        yield _at(file, Act.HIDDEN, line, shorten(text), "word")
    for line in invisible_in_words(file.text)[:1]:
        text = visible(file.text.split("\n")[line - 1])
        yield _at(file, Act.HIDDEN, line, shorten(text), "word")


def _leaked_secrets(file: ScanFile) -> Iterator[LocatedFact]:
    """Report each leaked secret by its kind; its value is never part of a report."""
    for found in islice(find_leaked_secrets(file.text), _MAX_LEAKED):
        line = file.text.count("\n", 0, found.start) + 1
        yield _at(file, Act.EXPOSED, line, found.name, found.rule)


def _at(file: ScanFile, act: Act, line: int, text: str, detail: str) -> LocatedFact:
    fact = Fact(act=act, line=line, text=shorten(text), detail=detail)
    return LocatedFact(fact=fact, path=file.path, role=file.role)
