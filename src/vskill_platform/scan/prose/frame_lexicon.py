"""The vocabulary of frames.toml: classes of words, and the frames that combine them."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from string import ascii_lowercase, digits
from typing import Any, NamedTuple

import msgspec
import re2

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.prose.inflect import noun_forms, verb_forms

#: Everything but letters, digits and line ends becomes a space.
_SEPARATED = bytes(
    code if chr(code) in f"{ascii_lowercase}{digits}\n" else ord(" ") for code in range(256)
)
ADDRESS, MAILBOX, DESTINATION = "address", "mailbox", "destination"


class Instruction(NamedTuple):
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
    #: The classes one verb of which must be an order, not a statement about somebody.
    told: str = ""
    #: Over how many words it may extend.
    within: int = 28
    #: Whether the classes may be in several sentences or list items that follow each other.
    passage: bool = False


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
    #: All classes that it asks for, whether negated or not.
    wanted: int
    is_passage: bool
    #: What a passage must contain for those needs that are listed as whole phrases.
    hints: tuple[Any, ...]


class Lexicon(NamedTuple):
    #: By their first two words; the second is empty for single words.
    phrases: dict[str, dict[str, list[Phrase]]]
    #: The classes of phrases by their first word.
    starts: dict[str, int]
    #: The longest words of the phrases that frames need.
    known: frozenset[bytes]
    #: What such a word, an address or a mailbox is needed for: see `_found_by`.
    found: dict[bytes | str | None, int]
    most_needs: int
    frames: list[CompiledFrame]
    #: Which frames are about passages, as bits.
    passages: int
    #: Which frames need an address, as bits.
    addressed: int
    #: The words that tell an order from a statement, and what is not to be done.
    grammar: dict[str, frozenset[str]]
    #: How far the class of a negated word is shifted.
    width: int
    address: int
    mailbox: int
    #: The classes of what is moved, as bits: after `to` it is the target instead.
    objects: int
    #: An address that something is moved to.
    destination: int


@cache
def load_lexicon() -> Lexicon:
    data = load_data("frames.toml")
    places = {
        name: place for place, name in enumerate([*data["class"], ADDRESS, MAILBOX, DESTINATION])
    }
    phrases: dict[str, dict[str, list[Phrase]]] = {}
    #: The classes of phrases by their longest word.
    classes: dict[bytes | str, int] = {
        ADDRESS: 1 << places[ADDRESS] | 1 << places[DESTINATION],
        MAILBOX: 1 << places[MAILBOX],
    }
    for name, table in data["class"].items():
        bit, is_polar = 1 << places[name], table.get("polar", False)
        for form, is_base in set(_forms(table)):
            first, *tail = form.split()
            pairs = phrases.setdefault(first, {}).setdefault(tail[0] if tail else "", [])
            pairs.append(Phrase(tuple(tail), bit, is_polar, is_base))
            longest = max(words_of(form).split(), key=len)
            classes[longest] = classes.get(longest, 0) | bit
    recipients = union_of(1 << places[name] for name in (ADDRESS, MAILBOX, DESTINATION))
    listed = {name: _hint_of(table) for name, table in data["class"].items()}
    frames = [_compiled(one, places, listed) for one in msgspec.convert(data["frame"], list[Frame])]
    found = _found_by(frames, classes)
    return Lexicon(
        phrases=phrases,
        starts={
            first: union_of(phrase.bit for listed in pairs.values() for phrase in listed)
            for first, pairs in phrases.items()
        },
        known=frozenset(word for word in found if isinstance(word, bytes)),
        found=found,
        most_needs=max(len(frame.loose) for frame in frames),
        frames=frames,
        passages=union_of(1 << place for place, one in enumerate(frames) if one.is_passage),
        addressed=union_of(
            1 << place
            for place, frame in enumerate(frames)
            if any(not need & ~recipients for need in frame.loose)
        ),
        grammar={name: frozenset(text.split()) for name, text in data["grammar"].items()},
        width=len(places),
        address=1 << places[ADDRESS],
        mailbox=1 << places[MAILBOX],
        objects=union_of(
            1 << places[name] for name, table in data["class"].items() if "object" in table
        ),
        destination=1 << places[DESTINATION],
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


def _hint_of(table: dict[str, Any]) -> tuple[str, ...]:
    """Return patterns of the phrases of a class; none if it lists other words, too."""
    if table.keys() - {"phrases", "polar"}:
        return ()
    return tuple(
        "[^a-z0-9]+".join(map(re.escape, phrase.split())) for phrase in _listed(table["phrases"])
    )


def _hints(frame: Frame, listed: dict[str, tuple[str, ...]]) -> Iterator[Any]:
    for need in frame.needs if frame.passage else ():
        classes = [listed.get(name.removeprefix("no "), ()) for name in need.split("|")]
        if all(classes):
            yield re2.compile("|".join(phrase for phrases in classes for phrase in phrases))


def _compiled(
    frame: Frame, places: dict[str, int], listed: dict[str, tuple[str, ...]]
) -> CompiledFrame:
    count = len(places)
    low = (1 << count) - 1

    def bit(name: str) -> int:
        shift = count if name.startswith("no ") else 0
        return 1 << places[name.removeprefix("no ")] + shift

    needs = tuple(union_of(map(bit, need.split("|"))) for need in frame.needs)
    lowered_by = union_of(map(bit, frame.lowered_by))
    told = union_of(map(bit, frame.told.split("|"))) if frame.told else 0
    loose = [need & low | need >> count for need in needs]
    return CompiledFrame(
        act=Act[frame.act],
        needs=needs,
        lowered_by=lowered_by,
        told=told,
        within=frame.within,
        loose=tuple(loose),
        wanted=union_of((*loose, told)) | lowered_by & low | lowered_by >> count,
        is_passage=frame.passage,
        hints=tuple(_hints(frame, listed)),
    )


def union_of(bits: Iterable[int]) -> int:
    union = 0
    for bit in bits:
        union |= bit
    return union


def words_of(text: str) -> bytes:
    """Return a text whose words are separated by spaces, and its lines as before."""
    return text.lower().encode("ascii", "replace").translate(_SEPARATED)


def needs_met(lexicon: Lexicon, words: Iterable[bytes], text: str) -> int:
    """Return what the words of a text are needed for, as bits: see `_found_by`."""
    found = lexicon.found
    seen = found[ADDRESS] if "." in text or "0x" in text else found[None]
    if "@" in text:
        seen |= found[MAILBOX]
    for word in lexicon.known & set(words):
        seen |= found[word]
    return seen


def possible_frames(lexicon: Lexicon, seen: int) -> int:
    """Return the frames all of whose needs are met, in whatever order, as bits."""
    possible = seen
    for place in range(1, lexicon.most_needs):
        possible &= seen >> place * len(lexicon.frames)
    return possible & (1 << len(lexicon.frames)) - 1


def _found_by(
    frames: list[CompiledFrame], classes: dict[bytes | str, int]
) -> dict[bytes | str | None, int]:
    """Return the needs that each word meets: a bit for each need of each frame.

    All first needs come first, then all second ones, so a few operations on integers tell which
    frames are possible. None stands for what no word has to meet.
    """
    most, count = max(len(frame.loose) for frame in frames), len(frames)
    needs = [
        (1 << place * count + number, frame.loose[place] if place < len(frame.loose) else 0)
        for number, frame in enumerate(frames)
        for place in range(most)
    ]
    met = union_of(bit for bit, need in needs if not need)
    by_classes = {  # most words share theirs with others
        its: met | union_of(bit for bit, need in needs if need & its)
        for its in set(classes.values())
    }
    found: dict[bytes | str | None, int] = {word: by_classes[its] for word, its in classes.items()}
    return {word: bits for word, bits in found.items() if bits != met} | {None: met}
