"""Find instructions against the user by the meaning of a sentence, in any words and order.

A frame names the classes of words that must be close together: a verb of sending, something
private, a recipient outside. A class contains the common vocabulary of one meaning in all
inflections, so even an unforeseen phrasing is found if its words are known. Most paragraphs are
dismissed by one check of the set of their words.
"""

import re
from collections.abc import Iterator

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.prose.directed_addresses import names_used_address
from vskill_platform.scan.prose.frame_index import union_of
from vskill_platform.scan.prose.frame_lexicon import (
    CompiledFrame,
    Instruction,
    Lexicon,
    load_lexicon,
)
from vskill_platform.scan.prose.frame_words import FrameWords

_SENTENCE_END = re.compile(r"[.!?](?=[\s\"'”’)]|$)")  # noqa: RUF001 - these characters are meant
_MAX_SENTENCE = 600
#: How long a passage may be, and how many lines or sentences it may have.
_LONG, _MAX_UNITS, _PAIR = 700, 4, 2
#: What stands for something that another sentence has named.
_REFERS_BACK = re.compile(
    r"(?i)\b(?:it|them|they|both|everything|whatever|what (?:you|they|was|is|has)|all of|the lot"
    r"|(?:this|that|these|those)(?=\s*(?:to|via|at|over|on|into|is|are|goes|go|with|and|[.,;:]|$))"
    r"|(?:the|this|that|each|every|its|their|a) (?:\w+ )?(?:results?|outcome|files?|archive|output"
    r"|cop(?:y|ies)|bundle|package|parcel|text|data|summary|contents?|folder|findings?|dump|log"
    r"|record|lines?|values?|string|blob|material|report|collection|list|notes?|entr(?:y|ies)"
    r"|messages?|payload|destination|recipient|addressee|address|place))\b"
)
#: Start and end of a line, or of a sentence in a long line, and the needs that it meets. A tuple,
#: because there are too many for a class.
_Unit = tuple[int, int, int]


def find_frames(text: str, met_by_lines: list[int] | None = None) -> Iterator[Instruction]:
    """Yield the acts that the sentences and passages of a text express.

    The needs that each line meets are searched unless they are given.
    """
    lexicon = load_lexicon()
    index = lexicon.frame_index
    met_by_lines = index.met_in(text) if met_by_lines is None else met_by_lines
    units: list[_Unit] = []
    told: list[Instruction] = []
    shift = 0
    for paragraph, met in zip(text.split("\n"), met_by_lines, strict=True):
        if not paragraph:
            shift += 1
            continue
        is_known = index.is_known(met)
        is_possible = is_known and index.possible(met, lexicon.sentences)
        is_long = is_known and len(paragraph) > _LONG
        sentences = list(_sentences(paragraph)) if is_possible or is_long else []
        if is_possible:
            for start, end in sentences:
                for act, is_doubtful in _acts(lexicon, paragraph[start:end]).items():
                    told.append(Instruction(act, shift + start, shift + end, is_doubtful))
        if is_long:
            each = index.met_in("\n".join(paragraph[start:end] for start, end in sentences))
            for (start, end), its_met in zip(sentences, each, strict=True):
                units.append((shift + start, shift + end, its_met))
        else:
            units.append((shift, shift + len(paragraph), met))
        shift += len(paragraph) + 1
    yield from told
    yield from _in_passages(lexicon, text, units, told)


def _in_passages(
    lexicon: Lexicon, text: str, units: list[_Unit], told: list[Instruction]
) -> Iterator[Instruction]:
    """Yield what several consecutive units express, unless one sentence of them expresses it."""
    done: dict[Act, int] = {}
    for start, end, met_by in _passages(lexicon, units):
        possible = met_by
        if met_by & lexicon.addressed and not names_used_address(text[start:end]):
            possible &= ~lexicon.addressed
        if not possible:
            continue
        frames = [
            frame
            for place, frame in enumerate(lexicon.frames)
            if possible >> place & 1 and done.get(frame.act, 0) <= start
        ]
        words = (
            FrameWords(lexicon, text[start:end].replace("\n", " .\n"), frames) if frames else None
        )
        for frame in frames:
            if words is None or done.get(frame.act, 0) > start or not words.express(frame):
                continue
            if frame.is_addressed and not _is_linked(lexicon, text[start:end], frame):
                continue
            done[frame.act] = end
            if not any(
                one.act is frame.act and one.start < end and start < one.end for one in told
            ):
                yield Instruction(frame.act, start, end, words.is_lowered(frame))


def _is_linked(lexicon: Lexicon, passage: str, frame: CompiledFrame) -> bool:
    """Return whether a sentence that names an address is about what the passage is about.

    Steps that follow each other may name a secret and, for something else, an address.
    """
    what, *others = frame.needs
    verbs = union_of(others[:-1])
    before = ""
    for line in passage.split("\n"):
        for start, end in _sentences(line):
            sentence = line[start:end]
            if names_used_address(sentence):
                words = FrameWords(lexicon, sentence, [frame])
                # "The address is …" says only where something goes that was named before.
                told = sentence if words.names(verbs) or not verbs else f"{before} {sentence}"
                if _REFERS_BACK.search(told) or FrameWords(lexicon, told, [frame]).names(what):
                    return True
            before = sentence
    return False


def _passages(lexicon: Lexicon, units: list[_Unit]) -> Iterator[tuple[int, int, int]]:
    """Yield start and end of the overlapping passages that may express frames, and these frames."""
    index, first = lexicon.frame_index, 0
    while first < len(units):
        start, end, met = units[first]
        if index.is_empty(met):
            first += 1
            continue
        parts = 1
        for _, its_end, its_met in units[first + 1 : first + _MAX_UNITS]:
            if its_end - start > _LONG:
                break
            parts, end, met = parts + 1, its_end, met | its_met
        if possible := index.possible(met, lexicon.passages):
            yield start, end, possible
        # For long units, each pair of neighbours is in one passage.
        first += 2 if parts > _PAIR else 1


def _sentences(paragraph: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(paragraph):
        # No further, because otherwise a line without sentences would be read to its end for each
        # part.
        limit = min(start + _MAX_SENTENCE, len(paragraph))
        found = _SENTENCE_END.search(paragraph, start, limit)
        end = found.end() if found else limit
        yield start, end
        start = end


def _acts(lexicon: Lexicon, sentence: str) -> dict[Act, bool]:
    """Return the acts of a sentence, and whether each is doubtful."""
    (met,) = lexicon.frame_index.met_in(sentence)
    found = lexicon.frame_index.possible(met, lexicon.sentences)
    if not found:
        return {}
    possible = [frame for place, frame in enumerate(lexicon.frames) if found >> place & 1]
    words = FrameWords(lexicon, sentence, possible)
    acts: dict[Act, bool] = {}
    for frame in possible:
        if words.express(frame):
            is_doubtful = words.is_lowered(frame)
            acts[frame.act] = acts.get(frame.act, True) and is_doubtful
    return acts
