"""Find instructions by the words that occur together in one sentence, in any order.

A pattern in prose.toml has one order of words. Here each act has an anchor, a rare word or a URL,
and kinds of words that must be in the same sentence. Only sentences with an anchor are examined.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import re2

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import (
    VOUCHED_FOR,
    classify_host,
    hosts_in,
    is_documentation,
)
from vskill_platform.scan.prose.mentions import is_mention
from vskill_platform.scan.prose.negations import is_negated

#: A sentence is cut off this far from its anchor.
_REACH = 240
#: `re` takes less than half of the time of re2 for texts as short as a sentence.
_SENTENCE_END = re.compile(r"[.!?](?:[ \t\n\r\f]|\Z)|[。！？\n]")  # noqa: RUF001 - other scripts
_CLAUSE_END = re.compile(r"[;:]\s|\s[–—-]\s|[，；：]|,\s(?=(?:then|and then|see|but)\b)")  # noqa: RUF001 - these characters are meant
_ASIDE = re.compile(r"\([^()]{0,200}\)")
#: A negation applies to the words after it.
_NEGATION = re.compile(
    r"(?i)never|not to|don.t|do not|must not|should not|cannot|can.t(?: \w+)?|do not \w+|don.t \w+"
)
_GOVERNED = 40
#: "Do not tell users to run it" is about actions of users, not about their knowledge.
FOR_USERS = re.compile(
    r"s?\b (?:to|how to) [\"'“]?(?:run|use|install|open|click|copy|paste|edit|restart|upgrade|go"
    r"|check|contact|visit|execute|type|manually|do|try|create|set|add|download|configure|enable"
    r"|log in|update|reload|reopen|refresh|select|choose|navigate|press|build|deploy|wait|read|look"
    r"|write|(?:save|delete|remove) (?:the|their|it|them|files?|this|that))\b"
)
_LINK = re.compile(r"https?://[^\s)\]\"'`<>，。、]+")  # noqa: RUF001 - other scripts
_SUFFIX = re.compile(r"\.\w{2,8}$")
#: A line of code is not a sentence.
_CODE = re.compile(r"[={}\\;|]|--\w|\$\w")
_MANY_SIGNS = 4


class Combination(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kinds": "with"}
):
    """An act, and the kinds of words that express it in one sentence."""

    act: str
    anchor: str
    #: Kinds of words, all of which must occur.
    kinds: list[str]
    #: Kinds of words that must not occur, because they make the same words harmless.
    unless: list[str] = []
    #: Whether the sentence must name an untrusted host.
    host: bool = False
    #: How many sentences are examined, up to that of the anchor.
    sentences: int = 1


@cache
def load_anchors() -> dict[str, list[Combination]]:
    """Return the patterns of all anchors, each with its possible combinations."""
    by_anchor: dict[str, list[Combination]] = defaultdict(list)
    for one in msgspec.convert(load_data("sentences.toml")["sentence"], list[Combination]):
        by_anchor[one.anchor].append(one)
    return dict(by_anchor)


@cache
def _words() -> dict[str, Any]:
    words = load_data("sentences.toml")["words"]
    return {name: re2.compile(f"(?i){text}") for name, text in words.items()}


class Sentences:
    """The sentences of a text, each examined once for the same anchor, from first to last."""

    def __init__(self, text: str) -> None:
        self._text = text
        #: How far the text has been examined, for each anchor.
        self._read: dict[str, int] = {}

    def acts_at(
        self, combinations: list[Combination], start: int, end: int
    ) -> Iterator[tuple[Act, int, int]]:
        """Yield the acts that the sentence of an anchor expresses, and their positions."""
        anchor = combinations[0].anchor
        if start < self._read.get(anchor, 0):
            return
        if is_negated(self._text, start, end) or FOR_USERS.match(self._text, end):
            return
        first, last = self._bounds(start, end, combinations[0].sentences)
        # A sentence that was cut off is examined again where it continues.
        is_cut = last == end + _REACH
        self._read[anchor] = last - _REACH // 2 if is_cut else last
        for act in _acts(combinations, self._text[first:last]):
            # The anchor decides whether the words are only mentioned.
            is_mentioned = is_mention(act, self._text, start, end)
            yield (act, start, end) if is_mentioned else (act, first, last)

    def _bounds(self, start: int, end: int, sentences: int) -> tuple[int, int]:
        text = self._text
        first = max(start - _REACH, 0)
        line = text.rfind("\n", first, start) + 1 or first
        before = [line, *(line + end.end() for end in _SENTENCE_END.finditer(text[line:start]))]
        after = _SENTENCE_END.search(text[end : end + _REACH])
        last = end + after.start() if after else min(end + _REACH, len(text))
        return before[-min(sentences, len(before))], last


def _acts(combinations: list[Combination], sentence: str) -> Iterator[Act]:
    words = _words()
    is_doubtful = _names_doubtful_host(sentence)
    possible = [one for one in combinations if is_doubtful or not one.host]
    if not possible:
        return
    plain = _LINK.sub(_without_path, sentence)
    if len(_CODE.findall(plain)) >= _MANY_SIGNS:
        return
    for one in possible:
        if all(_says(words[kind], plain) for kind in one.kinds) and not _is_excused(one, plain):
            yield Act[one.act]


def _is_excused(one: Combination, sentence: str) -> bool:
    """Return whether words make the sentence harmless, in the same clause as the order.

    "See the guide" before a colon says nothing about the order after it.
    """
    words = _words()
    excuses = [words[kind] for kind in one.unless if words[kind].search(sentence)]
    if not excuses:
        return False
    told = [words[kind] for kind in one.kinds]
    clauses = _CLAUSE_END.split(
        _ASIDE.sub(lambda aside: _order_in_parentheses(aside[0], told), sentence)
    )
    return any(
        _governs(found, clause, told, is_alone=len(clauses) == 1)
        for clause in clauses
        for excuse in excuses
        for found in excuse.finditer(clause)
    )


def _order_in_parentheses(aside: str, told: list[Any]) -> str:
    """Return the text in parentheses if it is a part of the order."""
    return aside if any(kind.search(aside) for kind in told) else " "


def _governs(found: Any, clause: str, told: list[Any], *, is_alone: bool) -> bool:
    """Return whether a harmless word applies to the order in the clause."""
    if not _NEGATION.fullmatch(found[0]):
        return is_alone or any(kind.search(clause) for kind in told)
    near = clause[found.end() : found.end() + _GOVERNED]
    return any(kind.search(near) for kind in told)


def _names_doubtful_host(sentence: str) -> bool:
    if "." not in sentence:
        return False
    return any(
        classify_host(host) not in VOUCHED_FOR and not is_documentation(host)
        for host in hosts_in(sentence)
    )


def _without_path(link: re.Match[str]) -> str:
    """Return the words of a URL that matter: the type of its file, but not its path."""
    suffix = _SUFFIX.search(link[0])
    return f" https:// {suffix[0] if suffix else ''} "


def _says(pattern: Any, sentence: str) -> bool:
    return any(not is_negated(sentence, *one.span()) for one in pattern.finditer(sentence))
