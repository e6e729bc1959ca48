"""What a text tells its reader to do, by the words it uses."""

import re
from bisect import bisect_right
from collections import Counter
from functools import cache, cached_property
from itertools import accumulate
from typing import NamedTuple

import re2

from vskill_platform.scan.data_files import load_data
from vskill_platform.scan.facts import Act, Fact, shorten
from vskill_platform.scan.hosts import HostClass, classify_host, hosts_in
from vskill_platform.scan.pattern_set import PatternSet
from vskill_platform.scan.places import may_name_secrets, secrets_in


class _Lexicon(NamedTuple):
    """What is looked for: acts with the words that some text must have to speak of them."""

    acts: list[tuple[Act, list[str]]]
    patterns: PatternSet


@cache
def _lexicon(only: frozenset[Act] | None) -> _Lexicon:
    tables = load_data("prose.toml")
    words = tables["words"]
    chosen = {Act[name]: table for name, table in tables.items() if table is not words}
    if only is not None:
        chosen = {act: table for act, table in chosen.items() if act in only}
    return _Lexicon(
        [(act, table["hints"]) for act, table in chosen.items()],
        PatternSet(
            "(?im)" + "|".join(_expand(pattern, words) for pattern in table["patterns"])
            for table in chosen.values()
        ),
    )


def _expand(pattern: str, words: dict[str, str]) -> str:
    for name, meaning in words.items():
        pattern = pattern.replace(f"<{name}>", meaning)
    return pattern


#: "Never bypass …" says the opposite of "bypass …"; a negation anywhere else changes nothing.
_NEGATED = re2.compile(
    r"(?i)(?:\b(?:never|not|cannot|avoid|refuse to|don't|doesn't|won't|can't|n't)\s+(?:ever\s+)?)$"
)
_NEGATION_REACH = 16

_DOWNLOAD = re2.compile(
    r"(?i)\b(?:download(?:ed|s|ing)?|get it|grab|install(?:ed|s|er|ing|ation)?|visit|obtain|fetch|"
    r"setup file|go to|navigate to|open|available (?:at|from|here))\b"
)
#: A line that offers a program, not a page to read.
_SETUP = re2.compile(
    r"(?i)\bdownload (?:and|&) (?:install|run)\b|"
    r"\binstall(?:er|ation)? (?:it )?(?:from|file|package)\b|"
    r"\b(?:quick )?set-?up here\b|\b(?:for|on) (?:windows|mac ?os)\b"
)
_ARTEFACT = re.compile(
    r"\.(?:zip|rar|7z|exe|msi|dmg|pkg|app|deb|rpm|appimage|jar|scr|bat|ps1|iso|tar\.gz|tgz|apk)\b"
    r"|/releases/download/|/snippets/|/raw/",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://[^\s)\]\"'`<>]+")
_BLANK = re.compile(r"\s*")
#: How often the same is counted in one line: some rules need it twice, none more often.
_MAX_IN_A_LINE = 3


class ProseReader:
    """Reads the parts of one text; what nowhere in it is spoken of is looked for in no part."""

    def __init__(self, whole: str) -> None:
        self._whole = whole
        self._spoken_of: dict[Act, bool] = {}

    def read(self, text: str, first_line: int) -> list[Fact]:
        """Return what the lines of a part tell their reader."""
        places = self._find(text, None)
        if self._may_name_secrets:
            places += [(Act.TELL_SECRET, start) for start in secrets_in(text)]
        facts = _Lines(text, first_line).facts_at(places) if places else []
        if "http" in text:
            for number, line in enumerate(text.split("\n"), start=first_line):
                if "http" in line:
                    facts += _downloads(line, number)
        return facts

    def read_some(self, text: str, first_line: int, only: frozenset[Act]) -> list[Fact]:
        """Return what the lines of a part tell their reader by the patterns of some acts."""
        places = self._find(text, only)
        return _Lines(text, first_line).facts_at(places) if places else []

    def _find(self, text: str, only: frozenset[Act] | None) -> list[tuple[Act, int]]:
        acts, patterns = _lexicon(only)
        found = []
        for place, start, _ in patterns.finds(text):
            act, hints = acts[place]
            if self._speaks_of(act, hints) and not _is_negated(act, text, start):
                found.append((act, start))
        return found

    def _speaks_of(self, act: Act, hints: list[str]) -> bool:
        """Look through the whole text once, however often the same is found in it."""
        if act not in self._spoken_of:
            self._spoken_of[act] = any(hint in self._lowered for hint in hints)
        return self._spoken_of[act]

    @cached_property
    def _lowered(self) -> str:
        return self._whole.lower()

    @cached_property
    def _may_name_secrets(self) -> bool:
        return may_name_secrets(self._whole)


class _Lines:
    """The lines of a text by the places in them; each is looked at once, however much it says."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text, self._first_line = text, first_line
        self._lines = text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    def facts_at(self, places: list[tuple[Act, int]]) -> list[Fact]:
        known: dict[tuple[Act, int], Fact] = {}
        counts: Counter[tuple[Act, int]] = Counter()
        facts = []
        for act, start in places:
            where = (act, self._index_of(start))
            counts[where] += 1
            if counts[where] <= _MAX_IN_A_LINE:
                if where not in known:
                    known[where] = _fact(act, self._first_line + where[1], self._lines[where[1]])
                facts.append(known[where])
        return facts

    def _index_of(self, start: int) -> int:
        blank = _BLANK.match(self._text, start)
        return bisect_right(self._starts, blank.end() if blank else start) - 1


def _is_negated(act: Act, text: str, start: int) -> bool:
    if act not in {
        Act.TELL_OVERRIDE,
        Act.TELL_DISARM,
        Act.TELL_LEAK,
        Act.TELL_SHARE,
        Act.TELL_SEND,
    }:
        return False
    return _NEGATED.search(text[max(start - _NEGATION_REACH, 0) : start]) is not None


def _fact(act: Act, number: int, line: str) -> Fact:
    host = next(iter(hosts_in(line)), None)
    return Fact(
        act=act,
        line=number,
        text=shorten(line),
        host=host,
        host_class=classify_host(host) if host else None,
    )


def _downloads(line: str, number: int) -> list[Fact]:
    """Return the links of a line that tells to get something from them."""
    links = _LINK.findall(line)
    if not links:
        return []
    is_setup = _SETUP.search(line) is not None
    is_told = is_setup or _DOWNLOAD.search(line) is not None
    text = shorten(line)
    facts = {}
    for link in links:
        artefact = _ARTEFACT.search(link)
        host = next(iter(hosts_in(link)), None)
        if host is None or not (is_told or artefact):
            continue
        host_class = classify_host(host)
        if host_class is HostClass.LOCAL:
            continue
        detail = "file" if artefact else "setup" if is_setup else "page"
        facts[host, detail] = Fact(
            act=Act.TELL_DOWNLOAD,
            line=number,
            text=text,
            host=host,
            host_class=host_class,
            detail=detail,
        )
    return list(facts.values())
