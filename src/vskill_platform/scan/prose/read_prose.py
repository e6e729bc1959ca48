"""Find instructions in prose by their wording: what a text tells its reader to do."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, Protocol

import msgspec
import re2

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import VOUCHED_FOR, classify_host, hosts_in
from vskill_platform.scan.prose.directed_addresses import find_directed
from vskill_platform.scan.prose.discouraged_lines import lines_without_discouraged, with_lines
from vskill_platform.scan.prose.downloads_in_prose import downloads
from vskill_platform.scan.prose.find_instructions import find_instructions
from vskill_platform.scan.prose.mentions import is_mention
from vskill_platform.scan.prose.other_spellings import other_spellings
from vskill_platform.scan.prose.paragraphs import CodeWords, Paragraphs, View
from vskill_platform.scan.prose.prose_patterns import load_patterns, places_of
from vskill_platform.scan.prose.reversals import says_otherwise
from vskill_platform.scan.prose.search_views import SearchedView, search_views
from vskill_platform.scan.prose.sentences import Sentences
from vskill_platform.scan.prose.words_in_code import words_in_code

#: A comment that names the agent as its reader.
_TO_AGENT = re2.compile(
    r"(?i)\b(?:notes?|instructions?|hints?|messages?|reminders?|rules?|orders?|guidance|notices?"
    r"|attention) (?:for|to)"
    r" (?:the |any |all |every |an |our |your )?(?:ai |coding |llm )?"
    r"(?:agents?|assistants?|ais?|llms?|models?|claude|copilot|codex|cursor|gemini)\b"
    r"|(?m:^\W{0,6}(?:ai |coding )?(?:agents?|assistants?|ai|llm|claude|copilot|codex|gemini)"
    r"(?: note)?[:,])"
    r"|\bif you are an? (?:ai|agent|assistant|llm|language model)\b"
)
_HOST_REACH = 260
#: Cloud machines ask these for credentials; nobody receives anything there.
_METADATA = frozenset({"169.254.169.254", "metadata.google.internal", "100.100.100.200"})
#: How many lines a list may have whose items are read as one.
_LIST_LINES = 24
#: How far after a negated match another match that starts inside it may end.
_FURTHER = 400
_BLANK = re.compile(r"\s*")
#: How often the same act counts in one line: some rules need it twice, none more than that.
_MAX_IN_A_LINE = 3
#: Images and scripts are read with their markup.
_MARKED = frozenset({Act.TELL_IMAGE, Act.TELL_PLANT})
_MAY_LOAD_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)
_ESCAPED_SCRIPT = re.compile(
    r"&(?:lt|#60|#x3c);?s|&#(?:115|83|x73|x53);?|<s\w{0,5}<!--", re.IGNORECASE
)


#: Acts that words inside code can express to an agent; other acts are found in the code itself.
ACTS_OF_WORDS_IN_CODE = frozenset(
    {
        Act.TELL_OVERRIDE,
        Act.TELL_CONCEAL,
        Act.TELL_DENY,
        Act.TELL_LEAK,
        Act.TELL_AUTHORITY,
        Act.TELL_DISARM,
        Act.TELL_IMAGE,
        Act.TELL_LOCK,
        Act.TELL_MINE,
        Act.TELL_RECORD,
        Act.TELL_OBEY,
        Act.TELL_VOUCH,
    }
)


class _Text(Protocol):
    """A text whose views map back to its lines."""

    def line_at(self, view: View, position: int) -> int: ...

    def lines_between(self, view: View, start: int, end: int) -> str: ...


class _Spelling:
    """A part of a text in one spelling."""

    def __init__(self, part: Paragraphs, *, is_for_agent: bool) -> None:
        self.part = part
        self.is_for_agent = is_for_agent
        self.plain = SearchedView(part.plain, has_frames=is_for_agent, has_secrets=True)
        unlinked = part.unlinked
        self.unlinked = SearchedView(unlinked, has_frames=is_for_agent) if unlinked else None

    @cached_property
    def rows(self) -> dict[int, str]:
        """The table rows and list items that say what not to do, without that."""
        return lines_without_discouraged(self.part.text)

    def views(self) -> Iterator[SearchedView]:
        yield self.plain
        if self.unlinked:
            yield self.unlinked


class Prose:
    """Paragraphs, also in other spellings, to be searched together with other texts."""

    def __init__(self, part: Paragraphs, *, is_for_agent: bool = True) -> None:
        """Prepare the search; what sentences tell someone else is no order to the agent."""
        first = _Spelling(part, is_for_agent=is_for_agent)
        others = [
            Paragraphs(text, part.first_line)
            for text in other_spellings(with_lines(part.text, first.rows))
        ]
        self._spellings = [
            first, *(_Spelling(one, is_for_agent=is_for_agent) for one in others),
        ]  # fmt: skip

    def views(self) -> list[SearchedView]:
        return [view for one in self._spellings for view in one.views()]

    def facts(self) -> list[Fact]:
        """Return what the paragraphs tell their reader, after their views were searched."""
        first, *others = self._spellings
        facts = _read_as_spelled(first)
        for spelling in others:
            known = {_key(fact) for fact in facts}
            found = _read_as_spelled(spelling)
            facts += [_as_known(fact, facts) for fact in found if _key(fact) not in known]
        return facts


def read_prose(part: Paragraphs, *, is_for_agent: bool = True) -> list[Fact]:
    """Return what paragraphs tell their reader, also in other spellings."""
    prose = Prose(part, is_for_agent=is_for_agent)
    search_views(prose.views())
    return prose.facts()


def _as_known(fact: Fact, known: list[Fact]) -> Fact:
    """Return a fact of joined list items, as a mention if one of the items is one."""
    last = fact.line + _LIST_LINES
    is_mentioned = any(
        one.act is fact.act and one.is_mention and fact.line <= one.line <= last for one in known
    )
    return msgspec.structs.replace(fact, is_mention=True) if is_mentioned else fact


def _key(fact: Fact) -> tuple[Act, int, str | None, str]:
    return fact.act, fact.line, fact.host, fact.detail


def _read_as_spelled(spelling: _Spelling) -> list[Fact]:
    part, plain = spelling.part, spelling.plain
    places = _acts_at(plain.view.text, plain.matches)
    places += [(Act.TELL_SECRET, start, start + 1) for start in plain.secrets]
    facts = _facts_at(part, plain.view, places)
    unlinked = spelling.unlinked
    if unlinked and (others := _acts_at(unlinked.view.text, unlinked.matches)):
        known = {_key(fact) for fact in facts}
        found = _facts_at(part, unlinked.view, others)
        facts += [fact for fact in found if _key(fact) not in known]
    marked = part.marked
    if "![" in marked.text or _MAY_LOAD_SCRIPT.search(marked.text):
        facts += _facts_at(part, marked, _find(marked.text, _MARKED))
    may_be_escaped = "&" in marked.text or "<!--" in marked.text
    if may_be_escaped and _ESCAPED_SCRIPT.search(marked.text):
        decoded = part.decoded
        facts += _facts_at(part, decoded, _find(decoded.text, _MARKED))
    told = _acts_in_sentences(spelling, places) if spelling.is_for_agent else []
    return facts + told + downloads(part)


def _acts_in_sentences(spelling: _Spelling, places: list[tuple[Act, int, int]]) -> list[Fact]:
    """Return the acts that sentences express, unless their wording already shows the same."""
    facts: dict[tuple[Act, int], Fact] = {}
    part, searched = spelling.part, [(spelling.plain, places)]
    if spelling.unlinked:  # first, because the addresses of links separate words
        searched.insert(0, (spelling.unlinked, []))
    rows = spelling.rows
    for (view, met), known in (((one.view, one.met), known) for one, known in searched):
        for act, start, end, is_doubtful in find_instructions(view.text, known, met):
            lines = part.lines_between(view, start, end)
            host = _least_trusted(hosts_in(view.text[start:end]))
            line = part.line_at(view, start)
            row = rows.get(line - part.first_line)
            is_discouraged = row is not None and host is None and not _expresses(row, act)
            is_mentioned = is_doubtful or is_discouraged
            found = _fact(act, line, host, lines, is_mentioned=is_mentioned)
            facts.setdefault((act, line), found)
    for view in (one.view for one, _ in searched):
        for one in find_directed(view.text):
            lines = part.lines_between(view, one.start, one.end)
            line = part.line_at(view, one.start)
            found = _fact(Act.TOLD_ADDRESS, line, one.host, lines, is_mentioned=one.is_doubtful)
            facts.setdefault((Act.TOLD_ADDRESS, line), found)
    return list(facts.values())


def _expresses(row: str, act: Act) -> bool:
    return any(one.act is act for one in find_instructions(row, []))


class WordsInCode(NamedTuple):
    """What code tells its reader: anywhere in it, and in the parts for readers."""

    told: list[Fact]
    #: In comments, docstrings and printed strings.
    shown: list[Fact]


class CodeProse:
    """The words in code, to be searched together with other texts."""

    def __init__(self, text: str, *, is_for_agent: bool = False) -> None:
        """Prepare the search.

        A message of a program is for its user, unless the agent is told to follow the file.
        """
        self.words = words = words_in_code(text)
        is_for_agent = is_for_agent or _TO_AGENT.search(words.encode(errors="replace")) is not None
        has_words = bool(words.strip())
        self._shown = Prose(Paragraphs(words, 1), is_for_agent=is_for_agent) if has_words else None
        self._code = CodeWords(text, 1)
        only = places_of(ACTS_OF_WORDS_IN_CODE)
        self._searched = SearchedView(self._code.view, only=only, has_frames=False)

    def views(self) -> list[SearchedView]:
        return [self._searched, *(self._shown.views() if self._shown else ())]

    def facts(self) -> WordsInCode:
        """Return what the words tell their reader; no fact is in both lists."""
        shown = self._shown.facts() if self._shown else []
        view = self._code.view
        told = _facts_at(self._code, view, _acts_at(view.text, self._searched.matches))
        # A rule may count occurrences, so the same words must not count twice.
        known = {(fact.act, fact.line) for fact in shown}
        return WordsInCode([fact for fact in told if (fact.act, fact.line) not in known], shown)


def read_words_in_code(text: str, *, is_for_agent: bool = False) -> WordsInCode:
    """Return what the words in code tell their reader."""
    code = CodeProse(text, is_for_agent=is_for_agent)
    search_views(code.views())
    return code.facts()


def _find(text: str, acts: frozenset[Act]) -> list[tuple[Act, int, int]]:
    """Return which of *acts* a text expresses, and their positions."""
    return _acts_at(text, load_patterns().patterns.finds(text, places_of(acts)))


def _acts_at(text: str, matches: list[tuple[int, int, int]]) -> list[tuple[Act, int, int]]:
    """Return the acts that matches of patterns express, and their positions."""
    meanings, patterns = load_patterns()
    sentences = Sentences(text)
    found: list[tuple[Act, int, int]] = []
    for place, start, end in matches:
        act = meanings[place]
        if not isinstance(act, Act):
            found += sentences.acts_at(act, start, end)
            continue
        span = start, end
        if says_otherwise(act, text, *span):
            # "Never skip this: ignore …" negates one verb, but the same words may contain another.
            limit = text.find("\n", end)
            limit = min(limit if limit >= 0 else len(text), end + _FURTHER)
            span = patterns.find_between(place, text, start + 1, limit) or span
        if span[0] < end and not says_otherwise(act, text, *span):
            found.append((act, *span))
    return found


def _facts_at(text: _Text, view: View, places: list[tuple[Act, int, int]]) -> list[Fact]:
    """Convert matches in a view to facts, with a limit on repetitions per line.

    A decoy must not replace what follows it on its line. So facts also differ by the hosts that
    they name, and by whether they are only mentioned.
    """
    known: dict[tuple[Act, int, str | None, bool], Fact] = {}
    counts: Counter[tuple[Act, int]] = Counter()
    facts = []
    for act, start, end in places:
        blank = _BLANK.match(view.text, start, end)
        begin = min(blank.end() if blank else start, end - 1)
        line = text.line_at(view, begin)
        counts[act, line] += 1
        if counts[act, line] <= _MAX_IN_A_LINE:
            host = _least_trusted(hosts_in(view.text[begin:end])) or _host_behind(view, end)
            if act is Act.TELL_SEND and host in _METADATA:
                continue
            is_mentioned = is_mention(act, view.text, begin, end)
            kind = (act, line, host, is_mentioned)
            if kind not in known:
                lines = text.lines_between(view, begin, end)
                known[kind] = _fact(act, line, host, lines, is_mentioned=is_mentioned)
            facts.append(known[kind])
    return facts


def _host_behind(view: View, end: int) -> str | None:
    """Return the host of a URL in which the match ends; in the file it may be encoded."""
    start = max(end - len("https://"), 0)
    if not view.text[start:end].endswith("://"):
        return None
    return next(iter(hosts_in(view.text[start : end + _HOST_REACH].partition("\n")[0])), None)


def _fact(act: Act, number: int, host: str | None, lines: str, *, is_mentioned: bool) -> Fact:
    host = host or _least_trusted(hosts_in(lines))
    return Fact(
        act=act,
        line=number,
        text=shorten(lines),
        host=host,
        host_class=classify_host(host) if host else None,
        is_mention=is_mentioned,
    )


def _least_trusted(hosts: list[str]) -> str | None:
    """Return the first untrusted host, or else the first host."""
    doubtful = (host for host in hosts if classify_host(host) not in VOUCHED_FOR)
    return next(doubtful, hosts[0] if hosts else None)
