"""What a text tells its reader to do, by the words it uses."""

import re
from functools import cache
from typing import Any, NamedTuple

import re2

from vskill_platform.scan.data_files import load_data
from vskill_platform.scan.facts import Act, Fact, shorten
from vskill_platform.scan.hosts import HostClass, classify_host, hosts_in
from vskill_platform.scan.places import may_name_secrets, secrets_in


class _Patterns(NamedTuple):
    act: Act
    pattern: Any
    #: One of these must be there, so that most texts are never searched.
    hints: tuple[str, ...]


@cache
def _patterns() -> tuple[_Patterns, ...]:
    tables = load_data("prose.toml")
    words = tables.pop("words")
    return tuple(
        _Patterns(
            Act[name],
            re2.compile(
                "(?im)" + "|".join(_expand(pattern, words) for pattern in table["patterns"])
            ),
            tuple(table["hints"]),
        )
        for name, table in tables.items()
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


class ProseReader:
    """Reads the parts of one text; what nowhere in it is spoken of is looked for in no part."""

    def __init__(self, whole: str) -> None:
        lowered = whole.lower()
        self._patterns = [
            (act, pattern)
            for act, pattern, hints in _patterns()
            if any(hint in lowered for hint in hints)
        ]
        self._has_links = "http" in lowered
        self._may_name_secrets = may_name_secrets(whole)

    def read(self, text: str, first_line: int) -> list[Fact]:
        """Return what the lines of a part tell their reader."""
        places = [
            (act, found.start())
            for act, pattern in self._patterns
            for found in pattern.finditer(text)
            if not _is_negated(act, text, found.start())
        ]
        if self._may_name_secrets:
            places += [(Act.TELL_SECRET, start) for start in secrets_in(text)]
        facts = [_fact(act, *_line_at(text, start, first_line)) for act, start in places]
        if self._has_links and "http" in text:
            for number, line in enumerate(text.split("\n"), start=first_line):
                if "http" in line:
                    facts += _downloads(line, number)
        return facts


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


def _line_at(text: str, start: int, first_line: int) -> tuple[int, str]:
    """Return the number and the text of the line that *start* lies in."""
    start += (
        len(text[start:]) - len(text[start:].lstrip()) if text[start : start + 1].isspace() else 0
    )
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    return first_line + text.count("\n", 0, start), text[begin : end if end >= 0 else len(text)]


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
    is_setup = _SETUP.search(line) is not None
    is_told = is_setup or _DOWNLOAD.search(line) is not None
    facts = []
    for link in _LINK.findall(line):
        artefact = _ARTEFACT.search(link)
        host = next(iter(hosts_in(link)), None)
        if host is None or not (is_told or artefact):
            continue
        host_class = classify_host(host)
        if host_class in {HostClass.LOCAL, HostClass.PLACEHOLDER}:
            continue
        facts.append(
            Fact(
                act=Act.TELL_DOWNLOAD,
                line=number,
                text=shorten(line),
                host=host,
                host_class=host_class,
                detail="file" if artefact else "setup" if is_setup else "page",
            )
        )
    return facts
