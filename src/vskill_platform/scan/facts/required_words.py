"""Derive the words that a text must contain for a pattern to match it.

For all patterns of prose this takes half a second, so their words are stored in a data file, by the
digest of the pattern. The words of other patterns are derived when they are loaded.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from vskill_platform.scan.facts.data_files import DATA_FOLDER

#: One of these words must occur.
AnyOf = tuple[str, ...]
#: The needs of each alternative of a pattern; a matching text meets all needs of at least one.
Needs = list[list[AnyOf]]

_STORED = "required_words.json"
_MAX_NEEDS = 3
#: Literals and character classes are expanded to at most this many strings.
_MAX_STRINGS, _MAX_CLASS, _MAX_OPTIONAL = 32, 6, 8
#: The largest group of alternatives that is expanded together with its context.
_MAX_APART = 24
_LETTERS = re.compile(r"\[(\^?)\\pL\\pN_\]")
_CODE_POINT = re.compile(r"\\x\{([0-9A-Fa-f]+)\}")
#: Too frequent to distinguish texts.
_FREQUENT_WORDS = """
    a after all also an and any are as at be before by call can code cre cri das data del der des
    die do each ein every file for form from get has have he her his host how if in into is ist it
    its les line link los made make must name need never new no not of on one only or our out over
    que read run say ses set she should sin so such take tell tes text that the their them then
    there they this to una up use used user uses via was we what when where which will with work
    would you your
"""
_FREQUENT = frozenset(_FREQUENT_WORDS.split())
_LONG, _SHORT, _ENOUGH = 7, 3, 3


class _Stored(msgspec.Struct, frozen=True):
    needs: list[AnyOf]
    #: Positions in *needs*, by the digest of a pattern.
    patterns: dict[str, list[list[int]]]


def required_words(pattern: str) -> Needs:
    """Return the words that a text must contain for a pattern to match, stored or derived."""
    stored = _stored()
    if found := stored.patterns.get(digest_of(pattern)):
        return [[stored.needs[place] for place in places] for places in found]
    return derive_words(pattern)


def digest_of(pattern: str) -> str:
    return hashlib.blake2b(pattern.encode(), digest_size=8).hexdigest()


def write_words(patterns: Iterable[str], folder: Path = DATA_FOLDER) -> None:
    """Store the words of *patterns*."""
    derived = {digest_of(pattern): derive_words(pattern) for pattern in patterns}
    alternatives = (one for needs in derived.values() for one in needs)
    needs = sorted({need for one in alternatives for need in one})
    places = {need: place for place, need in enumerate(needs)}
    stored = _Stored(
        needs,
        {
            digest: [[places[need] for need in one] for one in its_needs]
            for digest, its_needs in sorted(derived.items())
        },
    )
    text = msgspec.json.encode(stored).decode()
    text = text.replace('],["', '],\n["').replace(']],"', ']],\n"')
    (folder / _STORED).write_text(f"{text}\n", encoding="utf-8")


@cache
def _stored() -> _Stored:
    return msgspec.json.decode((DATA_FOLDER / _STORED).read_bytes(), type=_Stored)


def derive_words(pattern: str) -> Needs:
    """Derive the words that a text must contain for a pattern of `re2` to match, in folded case."""
    plain = _CODE_POINT.sub(lambda code: re.escape(chr(int(code[1], 16))), pattern)
    # A private module, needed only for patterns that are not stored; Python has no public one.
    parser = import_module("re._parser")
    tree = parser.parse(_LETTERS.sub(lambda letter: r"\W" if letter[1] else r"\w", plain))
    return [_chosen(sequence) for sequence in _apart(list(tree))]


def _chosen(sequence: list[Any]) -> list[AnyOf]:
    """Return the rarest needs of an alternative."""
    strings, needs = _read(sequence)
    if strings is not None:
        needs = [strings]
    ordered = sorted({tuple(sorted(need)) for need in needs if "" not in need}, key=_order)
    rare = [need for need in ordered if _rarity(need) >= _ENOUGH]
    return (rare or ordered)[:_MAX_NEEDS]


def _order(need: AnyOf) -> tuple[int, int, AnyOf]:
    return -_rarity(need), len(need), need


def _rarity(need: Iterable[str]) -> int:
    return min(map(_rarity_of, need))


def _rarity_of(word: str) -> int:
    core = word.strip()
    if core in _FREQUENT:
        return 1
    if len(word.encode()) < _SHORT:
        return _ENOUGH if "@" in core or any(map(str.isdigit, core)) else 0
    return min(len(core.encode()), _LONG)


def _apart(sequence: list[Any]) -> Iterator[list[Any]]:
    """Split a pattern into its alternatives."""
    for place, part in enumerate(sequence):
        branches = _branches(part)
        is_all = all(str(name) == "AT" for name, _ in (*sequence[:place], *sequence[place + 1 :]))
        is_apart = len(branches) <= _MAX_APART and any(_read(one)[0] is None for one in branches)
        if branches and (is_all or is_apart):
            for branch in branches:
                yield from _apart([*sequence[:place], *branch, *sequence[place + 1 :]])
            return
    yield sequence


def _branches(part: tuple[Any, Any]) -> list[list[Any]]:
    name, value = str(part[0]), part[1]
    if name == "BRANCH":
        return [list(branch) for branch in value[1]]
    if name == "SUBPATTERN":
        inside = list(value[3])
        return _branches(inside[0]) if len(inside) == 1 else []
    return []


#: The strings that a part of a pattern matches, if there are few; otherwise its needs.
_Read = tuple[set[str] | None, list[set[str]]]


def _read(sequence: Iterable[Any]) -> _Read:
    strings: set[str] = {""}
    needs: list[set[str]] = []
    is_exact = True
    for part in sequence:
        those, others = _read_part(part)
        if those is not None and len(strings) * len(those) <= _MAX_STRINGS:
            strings = {first + second for first in strings for second in those}
            continue
        is_exact = False
        needs += [strings, *others]
        strings = those or {""}
    return (strings, []) if is_exact else (None, [*needs, strings])


def _read_part(part: tuple[Any, Any]) -> _Read:
    name, value = str(part[0]), part[1]
    read: _Read
    match name:
        case "LITERAL" | "IN":
            read = _characters([part] if name == "LITERAL" else value), []
        case "AT":
            read = {""}, []
        case "SUBPATTERN":
            read = _read(value[3])
        case "BRANCH":
            read = _read_branches([_read(branch) for branch in value[1]])
        case "MAX_REPEAT" | "MIN_REPEAT":
            read = _read_repeat(*value)
        case _:
            read = None, []
    return read


def _characters(members: list[tuple[Any, Any]]) -> set[str] | None:
    characters: set[str] = set()
    for kind, value in members:
        if str(kind) == "LITERAL":
            characters.add(chr(value).casefold())
        elif str(kind) == "RANGE" and value[1] - value[0] <= _MAX_CLASS:
            characters |= {chr(code).casefold() for code in range(value[0], value[1] + 1)}
        else:
            return None
    # A text is searched in pieces that end at line ends, so words contain no line end.
    return characters if len(characters) <= _MAX_CLASS and "\n" not in characters else None


def _read_branches(branches: list[_Read]) -> _Read:
    exact = [strings for strings, _ in branches if strings is not None]
    if len(exact) == len(branches):
        return set().union(*exact), []
    rarest: set[str] = set()
    for strings, needs in branches:
        possible = [need for need in (*needs, strings) if need and "" not in need]
        if not possible:
            return None, []
        rarest |= min(possible, key=lambda need: _order(tuple(sorted(need))))
    return None, [rarest]


def _read_repeat(least: int, most: int, inside: Iterable[Any]) -> _Read:
    strings, needs = _read(inside)
    if least == 0:
        is_small = most == 1 and strings is not None and len(strings) <= _MAX_OPTIONAL
        return ({*strings, ""}, []) if is_small and strings is not None else (None, [])
    if strings is None or most == 1:
        return strings, needs
    return None, [strings]
