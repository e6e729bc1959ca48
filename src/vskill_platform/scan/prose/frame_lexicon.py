"""The English vocabulary of frames: classes of words, and the frames that need them."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.prose.concepts import concept_classes, concept_frames
from vskill_platform.scan.prose.frame_index import FrameIndex, union_of
from vskill_platform.scan.prose.inflect import noun_forms, verb_forms

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

    `a|b` means either class, `no a` a negated word of the class.
    """

    act: str
    needs: list[str]
    #: Classes that make the same words doubtful; authors can write them, so they only lower
    #: severity.
    lowered_by: list[str] = []
    #: Classes of which one verb must be an order, not a statement about someone.
    told: str = ""
    #: The maximum number of words that it may span.
    within: int = 28
    #: Whether the classes may be in several consecutive sentences or list items.
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
    #: All classes that it needs, negated or not.
    wanted: int
    is_passage: bool
    #: Whether it is a passage that names an address which something goes to.
    is_addressed: bool


class Lexicon(NamedTuple):
    #: The phrases by their first two words; the second is empty for single words.
    phrases: dict[str, dict[str, list[Phrase]]]
    #: The classes of phrases by their first word.
    starts: dict[str, int]
    #: Finds the possible frames.
    frame_index: FrameIndex
    frames: list[CompiledFrame]
    #: The frames about sentences, and those about passages, as bits.
    sentences: int
    passages: int
    #: The frames that need an address, as bits.
    addressed: int
    #: The words that distinguish an order from a statement, and negated verbs.
    grammar: dict[str, frozenset[str]]
    #: By how much the class of a negated word is shifted.
    width: int
    address: int
    mailbox: int
    #: The classes of things that are moved, as bits; after `to` they are the target instead.
    objects: int
    #: An address to which something is moved.
    destination: int
    #: Words of warning.
    warning: int


@cache
def load_lexicon() -> Lexicon:
    data, of_machine = load_data("frames.toml"), load_data("frames_machine.toml")
    tables = _united(data["class"], of_machine["class"], concept_classes())
    names = [*tables, ADDRESS, MAILBOX, DESTINATION]
    places = {name: place for place, name in enumerate(names)}
    phrases: dict[str, dict[str, list[Phrase]]] = {}
    #: The classes of each inflected form.
    classes: dict[str, int] = {}
    for name, table in tables.items():
        bit, is_polar = 1 << places[name], table.get("polar", False)
        for form, is_base in set(_forms(table)):
            first, *tail = form.split()
            pairs = phrases.setdefault(first, {}).setdefault(tail[0] if tail else "", [])
            pairs.append(Phrase(tuple(tail), bit, is_polar, is_base))
            classes[form] = classes.get(form, 0) | bit
    recipients = union_of(1 << places[name] for name in (ADDRESS, MAILBOX, DESTINATION))
    listed = msgspec.convert([*data["frame"], *of_machine["frame"], *concept_frames()], list[Frame])
    frames = [_compiled(one, places) for one in listed]
    grammar = {name: frozenset(text.split()) for name, text in data["grammar"].items()}
    return Lexicon(
        phrases=phrases,
        starts={
            first: union_of(phrase.bit for listed in pairs.values() for phrase in listed)
            for first, pairs in phrases.items()
        },
        frame_index=FrameIndex(
            [frame.needs for frame in frames],
            classes,
            address=1 << places[ADDRESS] | 1 << places[DESTINATION],
            mailbox=1 << places[MAILBOX],
            width=len(places),
            negations=grammar["negations"],
        ),
        frames=frames,
        sentences=union_of(1 << place for place, one in enumerate(frames) if not one.is_passage),
        passages=union_of(1 << place for place, one in enumerate(frames) if one.is_passage),
        addressed=union_of(
            1 << place
            for place, frame in enumerate(frames)
            if any(not need & ~recipients for need in frame.needs)
        ),
        grammar=grammar,
        width=len(places),
        address=1 << places[ADDRESS],
        mailbox=1 << places[MAILBOX],
        objects=union_of(1 << places[name] for name, table in tables.items() if "object" in table),
        destination=1 << places[DESTINATION],
        warning=1 << places["careful"],
    )


def _united(*tables: dict[str, Any]) -> dict[str, Any]:
    united: dict[str, Any] = {}
    for classes in tables:
        if both := united.keys() & classes.keys():
            raise ValueError(f"two classes of frames have the same name: {', '.join(sorted(both))}")
        united |= classes
    return united


def _forms(table: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for verb in _listed(table.get("verbs", "")):
        yield from ((form, form == verb) for form in verb_forms(verb))
    for noun in _listed(table.get("nouns", "")):
        yield from ((form, False) for form in noun_forms(noun))
    for phrase in _listed(table.get("phrases", "")):
        yield phrase, False


def _listed(text: str) -> list[str]:
    return [" ".join(one.split()) for one in text.split(",") if one.strip()]


def _compiled(frame: Frame, places: dict[str, int]) -> CompiledFrame:
    count = len(places)
    low = (1 << count) - 1

    def bit(name: str) -> int:
        shift = count if name.startswith("no ") else 0
        return 1 << places[name.removeprefix("no ")] + shift

    needs = tuple(union_of(map(bit, need.split("|"))) for need in frame.needs)
    lowered_by = union_of(map(bit, frame.lowered_by))
    told = union_of(map(bit, frame.told.split("|"))) if frame.told else 0
    asked = union_of((*needs, told, lowered_by))
    is_addressed = any({"address", "destination"} & {*need.split("|")} for need in frame.needs)
    return CompiledFrame(
        act=Act[frame.act],
        needs=needs,
        lowered_by=lowered_by,
        told=told,
        within=frame.within,
        wanted=asked & low | asked >> count,
        is_passage=frame.passage,
        is_addressed=frame.passage and is_addressed,
    )
