"""The vocabulary of frames.toml: classes of words, and the frames that combine them."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.inflect import noun_forms, verb_forms

WORD = re.compile(r"[a-z0-9](?:[a-z0-9’'-]*[a-z0-9])?")  # noqa: RUF001 - as typed
ADDRESS, MAILBOX = "address", "mailbox"


class Told(NamedTuple):
    """An act that a sentence expresses, and where."""

    act: Act
    start: int
    end: int
    #: Whether other words of the sentence make that doubtful.
    is_doubtful: bool


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An act, and the classes of words that express it.

    `a|b` means any of them, `no a` that a word of the class is negated.
    """

    act: str
    needs: list[str]
    #: Classes that make the same words doubtful: the author writes them, so they only lower.
    lowered_by: list[str] = []
    #: The class whose verb must be an order, not a statement about somebody.
    told: str = ""
    #: Over how many words it may extend.
    within: int = 28


class Phrase(NamedTuple):
    tail: tuple[str, ...]
    bit: int
    is_polar: bool
    is_base: bool


class CompiledFrame(NamedTuple):
    act: Act
    needs: tuple[int, ...]
    lowered_by: int
    told: int
    within: int
    #: What a text must contain, whether it is negated or not.
    loose: tuple[int, ...]


class Lexicon(NamedTuple):
    #: By their first two words; the second is empty for single words.
    phrases: dict[str, dict[str, list[Phrase]]]
    #: The classes of phrases by their longest word.
    bits: dict[str, int]
    frames: list[CompiledFrame]
    #: The words that tell an order from a statement, and what is not to be done.
    grammar: dict[str, frozenset[str]]
    #: The classes of which a text must contain one to be looked at any further.
    keys: int
    #: How far the class of a negated word is shifted.
    width: int
    address: int
    mailbox: int


@cache
def load_lexicon() -> Lexicon:
    data = load_data("frames.toml")
    places = {name: place for place, name in enumerate([*data["class"], ADDRESS, MAILBOX])}
    phrases: dict[str, dict[str, list[Phrase]]] = {}
    bits: dict[str, int] = {}
    #: How many phrases each class has: what has fewest is looked for first.
    sizes: dict[int, int] = {}
    for name, table in data["class"].items():
        bit, is_polar = 1 << places[name], table.get("polar", False)
        for form, is_base in set(_forms(table)):
            first, *tail = words = form.split()
            pairs = phrases.setdefault(first, {}).setdefault(tail[0] if tail else "", [])
            pairs.append(Phrase(tuple(tail), bit, is_polar, is_base))
            longest = max((word for one in words for word in WORD.findall(one)), key=len)
            bits[longest] = bits.get(longest, 0) | bit
            sizes[bit] = sizes.get(bit, 0) + 1
    frames = [_compiled(one, places, sizes) for one in msgspec.convert(data["frame"], list[Frame])]
    return Lexicon(
        phrases=phrases,
        bits=bits,
        frames=frames,
        grammar={name: frozenset(text.split()) for name, text in data["grammar"].items()},
        keys=union_of(frame.loose[0] for frame in frames),
        width=len(places),
        address=1 << places[ADDRESS],
        mailbox=1 << places[MAILBOX],
    )


def _forms(table: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for verb in _listed(table.get("verbs", "")):
        yield from ((form, form == verb) for form in verb_forms(verb))
    for noun in _listed(table.get("nouns", "")):
        yield from ((form, False) for form in noun_forms(noun))
    for phrase in _listed(table.get("phrases", "")):
        yield phrase, False


def _listed(text: str) -> list[str]:
    return [" ".join(one.split()) for one in text.split(",") if one.strip()]


def _compiled(frame: Frame, places: dict[str, int], sizes: dict[int, int]) -> CompiledFrame:
    count = len(places)
    low = (1 << count) - 1

    def bit(name: str) -> int:
        shift = count if name.startswith("no ") else 0
        return 1 << places[name.removeprefix("no ")] + shift

    def size_of(need: int) -> int:
        return sum(size for one, size in sizes.items() if one & need)

    needs = tuple(union_of(map(bit, need.split("|"))) for need in frame.needs)
    return CompiledFrame(
        act=Act[frame.act],
        needs=needs,
        lowered_by=union_of(map(bit, frame.lowered_by)),
        told=bit(frame.told) if frame.told else 0,
        within=frame.within,
        loose=tuple(sorted((need & low | need >> count for need in needs), key=size_of)),
    )


def union_of(bits: Iterable[int]) -> int:
    union = 0
    for bit in bits:
        union |= bit
    return union


def possible_frames(lexicon: Lexicon, text: str) -> list[CompiledFrame]:
    """Return the frames whose words all occur in a text, in whatever order."""
    words = lexicon.bits.keys() & set(WORD.findall(text.lower()))
    if not words:
        return []
    seen = lexicon.address if "." in text or "0x" in text else 0
    if "@" in text:
        seen |= lexicon.mailbox
    for word in words:
        seen |= lexicon.bits[word]
    if not seen & lexicon.keys:
        return []
    found = []
    for frame in lexicon.frames:
        for need in frame.loose:
            if not need & seen:
                break
        else:
            found.append(frame)
    return found
