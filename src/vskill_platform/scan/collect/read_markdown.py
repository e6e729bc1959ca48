"""Read a Markdown file: prose, code fences, frontmatter and comments.

`scan/read/regions.py` splits it into regions; this module reads each of them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

import msgspec
import re2

from vskill_platform.scan.any_language.code_signs import code_signs, may_have_signs
from vskill_platform.scan.any_language.read_any_text import read_any_text
from vskill_platform.scan.collect.frontmatter_values import FrontmatterValues
from vskill_platform.scan.collect.locate_facts import Fragments, encoded_in, locate, role_of_words
from vskill_platform.scan.collect.recipes import commands_of_fence
from vskill_platform.scan.collect.tool_texts import tool_texts
from vskill_platform.scan.collect.unlabelled_code import (
    code_blocks,
    is_report,
    read_as_settings,
    read_here_documents,
    read_unlabelled,
)
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole
from vskill_platform.scan.facts.hosts import HostClass
from vskill_platform.scan.languages.dispatch import read_shell, reader_of
from vskill_platform.scan.prose.commands_in_prose import commands_in
from vskill_platform.scan.prose.mentions import is_command_mention
from vskill_platform.scan.prose.paragraphs import Paragraphs, View
from vskill_platform.scan.prose.read_prose import CodeProse, Prose, read_prose
from vskill_platform.scan.prose.search_views import SearchedView
from vskill_platform.scan.read.regions import Region, RegionKind, split_markdown
from vskill_platform.scan.read.skill_files import ScanFile

#: Fences that contain words rather than code.
_WORDY = frozenset(
    {"", "markdown", "md", "text", "txt", "yaml", "yml", "json", "xml", "html", "prompt"}
)
#: Text that a person wrote, not the output of a program.
_WRITTEN = frozenset({"markdown", "md", "text", "txt", "prompt"})
#: A sentence that tells its reader to do something, where output or settings are shown.
_ORDER_IN_FENCE = re.compile(
    r"\b(?:after|before|at the (?:start|end) of)[ _](?:each|every|any|all)[ _]|\balways\b"
    r"|\bwhenever\b|\bevery time\b|^\W*(?:\d+[.)]\s*)?(?:send|post|upload|forward|fetch"
    r"|download|submit|report|copy|mail|push)"
    r" (?:the|all|every|each|it|them|a|any|this|your|user)\b",
    re.IGNORECASE | re.MULTILINE,
)
#: Signs of code: lines with them are not part of a paragraph.
_CODE_SIGNS = frozenset("{}();=<>|$")
_MAX_CODE_SHARE = 0.2
#: Acts that do not belong in a comment, where only the agent reads them.
_ORDERS = frozenset(
    {
        Act.TELL_OVERRIDE,
        Act.TELL_CONCEAL,
        Act.TELL_LEAK,
        Act.TELL_REMOTE,
        Act.TELL_SEND,
        Act.TELL_UNASKED,
        Act.TELL_DISARM,
        Act.TELL_OBEY,
        Act.TELL_VOUCH,
        Act.TELL_IMAGE,
    }
)


#: The placeholder host of a command that only shows a form: `curl URL | sh`.
_NO_ADDRESS = frozenset({None, HostClass.PLACEHOLDER})
#: A line that starts like a command and not like a sentence.
_MAY_BE_SHELL = re2.compile(rb"(?m)^[ \t]*(?:[$>#%] )?[a-z_.~/$({:][^\n]*[^\w\s,.)]|[|;&]")
#: Labels that do not name a language with a parser.
_UNLABELLED = frozenset({"", "text", "txt", "plain", "plaintext"})


class Markdown:
    """A Markdown text of a skill, split into regions.

    All regions of a kind are read at once, with each line at its position in the file, because one
    pass over a whole text takes hardly longer than one over a part.
    """

    def __init__(self, file: ScanFile, text: str) -> None:
        self._file = file
        self._text = text
        self._fragments = Fragments()
        self._regions = split_markdown(text)
        self._starts = [region.line for region in self._regions]
        self._wordy = [region for region in self._fences() if region.language in _WORDY]
        self._prose = Paragraphs(self._only(filter(_is_prose, self._regions)), 1)
        fenced = Paragraphs(self._only(self._wordy), 1, _alone(self._wordy))
        code = [region for region in self._fences() if region.language not in _WORDY]
        #: What the prose says, fences of words, and code in comments, docstrings and strings.
        self._told = Prose(self._prose)
        self._told_in_fences = Prose(fenced) if self._wordy else None
        self._told_in_code = CodeProse(self._only(code)) if code else None
        self._values = [
            FrontmatterValues(region)
            for region in self._regions
            if region.kind is RegionKind.FRONTMATTER
        ]
        self._words: list[Fact] = []
        self._words_of_fences: list[Fact] = []
        self._told_by_code: list[Fact] = []
        self._shown_by_code: list[Fact] = []

    def views(self) -> list[SearchedView]:
        """Return what is searched before the words are read."""
        told = (self._told, self._told_in_fences, self._told_in_code, *self._values)
        return [view for one in told if one for view in one.views()]

    def read_words(self) -> None:
        """Read the words of all regions."""
        self._words = self._told.facts()
        if self._told_in_fences:
            self._words_of_fences = [
                fact for fact in self._told_in_fences.facts() if not self._is_printed(fact)
            ]
        if self._told_in_code:
            self._told_by_code, self._shown_by_code = self._told_in_code.facts()

    def _is_printed(self, fact: Fact) -> bool:
        """Return whether an address is in displayed output or settings, and not an order."""
        if fact.act is Act.TELL_SEND:
            return is_report(self._region_at(fact.line).text)
        if fact.act is not Act.TOLD_ADDRESS:
            return False
        if self._region_at(fact.line).language in _WRITTEN:
            return False
        return _ORDER_IN_FENCE.search(fact.text) is None

    def facts(self) -> list[LocatedFact]:
        """Return everything that the text does and says."""
        found = self._located([*self._words, *self._words_of_fences, *self._orders_in_comments()])
        found += locate(self._told_by_code, self._file, PartRole.QUOTED)
        found += locate(self._shown_by_code, self._file, role_of_words(self._file))
        for values in self._values:
            found += locate(values.facts(self._fragments), self._file)
        for region in self._fences():
            found += self._fence(region)
        if self._text.lstrip()[:1] in {"{", "["}:  # settings in a file without a suffix
            found += locate(read_as_settings(self._text), self._file)
        found += self._commands()
        found += self._other_code()
        found += locate(self._fragments.unread(), self._file)
        return self._in_rows(found)

    def _commands(self) -> list[LocatedFact]:
        """Read the commands in the prose."""
        found: list[LocatedFact] = []
        #: For each view, whether any of its commands can have a sign; most texts have none.
        may_have: dict[View, bool] = {}
        for view, start, code in commands_in(self._prose):
            if view not in may_have:
                may_have[view] = may_have_signs(view.text)
            facts = self._fragments.read(read_shell, code)
            if may_have[view]:
                facts = [*facts, *code_signs(code)]
            if facts:
                line = self._prose.line_at(view, start)
                role = self._role_at(line)
                named = facts if is_command_mention(view.text, start) else []
                named = [fact for fact in named if fact.host_class in _NO_ADDRESS]
                told = [fact for fact in facts if fact not in named]
                found += locate(told, self._file, role, shift=line - 1)
                found += locate(named, self._file, PartRole.QUOTED, shift=line - 1)
        return found

    def _other_code(self) -> list[LocatedFact]:
        """Read code that is indented, in HTML or in a quote, and commands that an agent expands."""
        found: list[LocatedFact] = []
        for line, code in code_blocks(self._text):
            facts = self._fragments.read(read_unlabelled, code)
            if _MAY_BE_SHELL.search(code.encode(errors="replace")):
                facts += self._fragments.read(read_shell, code)
            found += locate(facts, self._file, self._role_at(line), shift=line - 1)
        return found

    def _fences(self) -> Iterator[Region]:
        return (region for region in self._regions if region.kind is RegionKind.FENCE)

    def _only(self, regions: Iterable[Region]) -> str:
        """Return the text with the lines outside these regions emptied."""
        lines = [""] * (self._text.count("\n") + 1)
        for region in regions:
            body = region.text.split("\n")
            lines[region.line - 1 : region.line - 1 + len(body)] = body
        return "\n".join(lines)

    def _located(self, facts: Iterable[Fact]) -> list[LocatedFact]:
        return [
            located
            for fact in facts
            for located in locate([fact], self._file, self._role_at(fact.line))
        ]

    def _region_at(self, line: int) -> Region:
        return self._regions[max(bisect_right(self._starts, line) - 1, 0)]

    def _role_at(self, line: int) -> PartRole:
        """Lower the role of tables and quotes, except in a file that is instructions as a whole."""
        is_shown = self._region_at(line).kind in {RegionKind.TABLE, RegionKind.QUOTE}
        is_obeyed = self._file.role is PartRole.INSTRUCTION
        return PartRole.QUOTED if is_shown and not is_obeyed else self._file.role

    def _orders_in_comments(self) -> list[Fact]:
        """Return instructions in comments, which pages do not show but agents read."""
        told = [
            fact for fact in self._words if self._region_at(fact.line).kind is RegionKind.COMMENT
        ]
        for line, text in self._prose.comments:
            told += read_prose(Paragraphs(text, line))
        return [
            msgspec.structs.replace(fact, act=Act.HIDDEN, detail="instruction")
            for fact in told
            if fact.act in _ORDERS
        ][:1]

    def _fence(self, region: Region) -> list[LocatedFact]:
        file, shift = self._file, region.line - 1
        reader = reader_of(region.language)
        code = commands_of_fence(region.language, region.text)
        facts = self._fragments.read(reader, code) if reader else []
        if reader is None:
            facts += read_any_text(region.text, is_code=True)
        if reader is None or region.language in _UNLABELLED:
            facts += read_unlabelled(region.text)
        elif reader is read_shell:
            facts += read_here_documents(region.text)
        found = locate([*facts, *code_signs(region.text)], file, shift=shift)
        if region.language not in _WORDY:
            for line, text in tool_texts(region.text):
                found += locate(read_prose(Paragraphs(text, line)), file, shift=shift)
        return found + locate(encoded_in(region.text, region.line), file)

    def _in_rows(self, found: list[LocatedFact]) -> list[LocatedFact]:
        """Number the rows of facts, so that wrapped and empty lines add no distance."""
        if len(found) <= 1:
            return found
        rows = number_rows(self._text, set(self._prose.continued_lines()))
        return [
            msgspec.structs.replace(located, row=rows[min(located.fact.line, len(rows)) - 1])
            for located in found
        ]


def number_rows(text: str, continued: set[int]) -> list[int]:
    """Number the lines; a line that continues a paragraph gets the number of the line before it."""
    rows, row, was_empty = [], 0, False
    for number, line in enumerate(text.split("\n"), start=1):
        is_empty = not line.strip()
        if number not in continued and not (is_empty and was_empty):
            row += 1
        was_empty = is_empty
        rows.append(row)
    return rows


def _is_prose(region: Region) -> bool:
    return region.kind not in {RegionKind.FENCE, RegionKind.FRONTMATTER}


def _alone(fences: Iterable[Region]) -> set[int]:
    """Return the lines of fences that contain code or data without such a label."""
    alone: set[int] = set()
    for region in fences:
        lines = region.text.split("\n")
        coded = sum(not _CODE_SIGNS.isdisjoint(line) for line in lines)
        if coded > _MAX_CODE_SHARE * len(lines):
            alone.update(range(region.line, region.line + len(lines)))
    return alone
