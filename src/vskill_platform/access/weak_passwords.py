"""Detect weak passwords: common words, keyboard runs and repetition, in any spelling."""

import re
import unicodedata
from itertools import pairwise

#: Alphabet, digits, and rows and columns of keyboards; used in both directions.
_ROWS = (
    "abcdefghijklmnopqrstuvwxyz", "01234567890",
    "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm",
    "1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm",
)  # fmt: skip
_NEIGHBOURS = frozenset(pair for row in _ROWS for way in (row, row[::-1]) for pair in pairwise(way))
#: Shorter runs are ignored: many words contain two neighbouring characters.
_SHORTEST_RUN = 3
#: Common words in lists of leaked passwords; each counts as one guess.
_COMMON_WORDS = """
and are bad big black blue boy car cat code cool day dog for free fun game girl god good green hot
house key king lady life little lucky man mine money music new night nothing old one own queen red
sex star sun the this three time two very web white woman word words world yes you zero
access account admin administrator agent alpha apple april august autumn baby bailey baseball
basketball batman beautiful blink bonjour boss bunny butterfly change changeit changeme charlie
cheese chelsea chocolate computer company cookie daniel dallas database default december demo
diamond docker donald dragon dummy eagle easter elephant enter example family february flower
football forever freedom friday friend friends george ginger google guest hallo hannah happy
harley heaven hello hockey home hunter iloveyou internet jackson january jasmine jennifer
jessica jesus jordan joshua july june justin killer kitty letmein linux liverpool local login
london love lovely lovers maggie manager march master matrix matthew maverick merlin michael
michelle mickey mobile monday monkey monster mother mustang mypass mypassword nicole november
number october office operator oracle orange owner pass passe passwd password passwort patrick
peanut pepper person phoenix please pokemon power princess private public publisher purple
qwerty reader registry reviewer robert root samsung saturday school secret secure security
september server service shadow silver skill skills snoopy soccer spring starwars success summer
sunday sunshine super superman superuser support sweet sysadmin system temp temporary test
testing thank thomas thunder thursday ticket tiger today tomorrow trustno tuesday user username
vskill wednesday welcome whatever william windows winter wizard wordpass work your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_LONGEST_WORD = max(map(len, _COMMON))
_SHORTEST_WORD = 3
#: Digits and symbols used for letters, such as 0 for o; a 1 can be an l or an i.
_SPELLINGS = tuple(
    str.maketrans("@4830!517$29()|+", f"aabeo{one}s{other}tszgcdit")
    for one, other in (("i", "i"), ("l", "l"), ("i", "l"))
)
#: Separators between or after words, which attackers also try.
_BETWEEN = frozenset(" -_.,:;+*#!?/")
_YEAR = re.compile(r"(?:19|20)\d\d")


def repeats_a_piece(password: str, *, shorter_than: int) -> bool:
    """Return whether it repeats one short piece; the last repetition may be incomplete."""
    text = password.lower()
    longest = min(shorter_than - 1, len(text) // 2)
    return any(text[length:] == text[:-length] for length in range(1, longest + 1))


def count_guesses(password: str, *, names: frozenset[str] = frozenset()) -> int:
    """Count the guesses if each common word, keyboard run and year is one guess.

    *names* are words that an attacker who knows the account would try.
    """
    text = _plain(password)
    readings = (text, *(text.translate(spelling) for spelling in _SPELLINGS))
    guesses = at = 0
    while at < len(text):
        if text[at] in _BETWEEN:
            at += 1
            continue
        at += max(_length_of_run(text, at), _length_of_word(readings, at, names), 1)
        guesses += 1
    return guesses


def _plain(password: str) -> str:
    """Return it in lower case, without accents and with compatibility characters normalized."""
    parts = unicodedata.normalize("NFKD", password.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def _length_of_word(readings: tuple[str, ...], start: int, names: frozenset[str]) -> int:
    """Return the length of the longest word at *start*, in any spelling; 0 if there is none."""
    if _YEAR.match(readings[0], start):
        return 4
    longest = max(_LONGEST_WORD, *map(len, names)) if names else _LONGEST_WORD
    for length in range(longest, _SHORTEST_WORD - 1, -1):
        for reading in readings:
            piece = reading[start : start + length]
            if len(piece) == length and (piece in _COMMON or piece in names):
                return length
    return 0


def _length_of_run(text: str, start: int) -> int:
    """Return the length of a run of neighbouring or equal keys; 0 if it is too short."""
    end = start + 1
    while end < len(text) and _continues(text[end - 1], text[end]):
        end += 1
    return end - start if end - start >= _SHORTEST_RUN else 0


def _continues(before: str, after: str) -> bool:
    return before == after or (before, after) in _NEIGHBOURS
