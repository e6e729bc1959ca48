"""Find instructions against the user by the meaning of a sentence, in any words and order.

A frame names the classes of words that must be close together: a verb of sending, something
private, a recipient outside. A class contains the common vocabulary of one meaning in all
inflections, so even an unforeseen phrasing is found if its words are known. Most paragraphs are
dismissed by one check of the set of their words.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from vskill_platform.scan.facts.addresses import names_address, names_destination, names_mailbox
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.prose.directed_addresses import names_used_address
from vskill_platform.scan.prose.frame_index import union_of
from vskill_platform.scan.prose.frame_lexicon import (
    CompiledFrame,
    Instruction,
    Lexicon,
    Phrase,
    load_lexicon,
)

#: Words, file names, and the marks that end a clause.
_TOKEN = re.compile(
    r"[.~]?[a-z0-9](?:[a-z0-9’'./-]*[a-z0-9])?|[,;:()–—%]|[.!?]"  # noqa: RUF001 - these characters are meant
)
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
#: "Email: me@host" is a contact, not an order, and a link with a title is a reference.
_MIN_WORDS = 4
#: How many words a negation applies to.
_NEGATED = 9
#: A list continues if there is an "or" among this many words.
_LIST = 9
#: Compounds that name neither a secret nor what somebody has said.
_COMPOUND = re.compile(
    r"\b(?:(?P<chat>chat) (?=(?:ids?|names?|titles?|bots?|apps?|models?|interfaces?|ui|windows?"
    r"|platforms?|completions?|templates?|widgets?)\b)"
    r"|(?P<token>tokens?) (?=(?:counts?|usage|limits?|budgets?|costs?|efficien\w+|consumption"
    r"|savings?|overhead|lengths?|symbols?|prices?|holders?|supply)\b)"
    r"|(?P<gatekeeper>gatekeeper) (?=(?:config\w*|constraints?|polic(?:y|ies)|templates?|audits?"
    r"|librar(?:y|ies))\b)"
    r"|(?P<on>on) (?=demand\b)|(?P<more>no more) (?=ransom\b)|(?P<any>anything) (?=above ~?\$?\d)"
    r"|(?P<opened>opens?) (?=(?:\w+ly )?in\b)|(?P<mining>mining) (?=(?:steps?|phase)\b)"
    r"|(?P<kind>design|stop|special|gas|governance|native|input|output|completion|reasoning|cached)"
    r" (?=tokens?\b)|(?P<context>context) (?=windows? (?:limit|size|budget|length|usage)s?\b)"
    r"|(?P<rules>cookie|password) (?=(?:banners?|consent|polic(?:y|ies)|strength|fields?)\b)"
    r"|(?P<group>\b(?:to|in|into) (?:(?:the|your|a|their|my) )?"
    r"(?:telegram|slack|discord|teams|whatsapp|group|signal)) (?=chats?\b))"
)
#: What separates the parts of a list, and what makes its verbs abilities.
_LISTED, _ABLE = frozenset({",", "and", "or"}), frozenset({"can", "could", "may", "might"})
_BREAKS = frozenset(",;:()–—.!?")  # noqa: RUF001 - these characters are meant
_ENDS = frozenset(".!?")


#: Start and end of a line, or of a sentence in a long line, and the needs that it meets. A tuple,
#: because there are too many for a class.
_Unit = tuple[int, int, int]


def find_frames(text: str) -> Iterator[Instruction]:
    """Yield the acts that the sentences and passages of a text express."""
    lexicon = load_lexicon()
    index = lexicon.frame_index
    units: list[_Unit] = []
    told: list[Instruction] = []
    shift = 0
    for paragraph, met in zip(text.split("\n"), index.met_in(text), strict=True):
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
        words = _Words(lexicon, text[start:end].replace("\n", " .\n"), frames) if frames else None
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
                words = _Words(lexicon, sentence, [frame])
                # "The address is …" says only where something goes that was named before.
                told = sentence if words.names(verbs) or not verbs else f"{before} {sentence}"
                if _REFERS_BACK.search(told) or _Words(lexicon, told, [frame]).names(what):
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
    words = _Words(lexicon, sentence, possible)
    acts: dict[Act, bool] = {}
    for frame in possible:
        if words.express(frame):
            is_doubtful = words.is_lowered(frame)
            acts[frame.act] = acts.get(frame.act, True) and is_doubtful
    return acts


def _joined(sentence: str) -> str:
    """Join compounds, whose parts mean something else: "chat id" is no chat."""
    return _COMPOUND.sub(lambda found: f"{found[0][:-1]}-", sentence)


class _Hit(NamedTuple):
    place: int
    #: The class, shifted for a negated word.
    bit: int
    is_order: bool


class _Words:
    """The words of one sentence that some frames need, by class."""

    def __init__(self, lexicon: Lexicon, sentence: str, frames: list[CompiledFrame]) -> None:
        self._lexicon = lexicon
        self._sentence = sentence
        self._tokens: list[str] = _TOKEN.findall(_joined(sentence.lower()))
        self._wanted = union_of(frame.wanted for frame in frames)
        self._hits = list(self._read())
        self._bits = union_of(bit for _, bit, _ in self._hits)
        #: The first and last word of what expresses a frame.
        self._spans: dict[CompiledFrame, tuple[int, int]] = {}

    @cached_property
    def _everywhere(self) -> int:
        """The classes of the recipients that the sentence names."""
        if sum(map(str.isalpha, self._tokens)) < _MIN_WORDS:
            return 0
        address = self._lexicon.address if names_address(self._sentence) else 0
        if not address:
            return 0
        mailbox = self._lexicon.mailbox if names_mailbox(self._sentence) else 0
        destination = self._lexicon.destination if names_destination(self._sentence) else 0
        return address | mailbox | destination

    def express(self, frame: CompiledFrame) -> bool:
        """Return whether all words that a frame needs are close together."""
        lexicon = self._lexicon
        recipients = lexicon.address | lexicon.mailbox | lexicon.destination
        if not all(need & (self._bits | recipients) for need in frame.needs):
            return False
        for first, hit in enumerate(self._hits):
            if not hit.bit & union_of(frame.needs):
                continue
            bits, told = self._everywhere, 0
            for place, bit, is_order in self._hits[first:]:
                if place > hit.place + frame.within:
                    break
                bits |= bit
                told |= bit if is_order else 0
                if self._is_met(frame, bits, told):
                    self._spans[frame] = hit.place, place
                    return True
            if self._is_met(frame, bits, told):
                self._spans[frame] = hit.place, hit.place + frame.within
                return True
            if len(self._tokens) <= frame.within:
                return False
        return False

    @staticmethod
    def _is_met(frame: CompiledFrame, bits: int, told: int) -> bool:
        return all(need & bits for need in frame.needs) and (
            not frame.told or frame.told & told != 0
        )

    def is_lowered(self, frame: CompiledFrame) -> bool:
        """Return whether a sentence that expresses a frame also has a word that lowers it.

        Words of warning lower it from any sentence, because a description of attacks has several,
        and so do all words if an address is used: where its key comes from is another sentence.
        """
        anywhere = frame.lowered_by
        if not frame.is_addressed:
            anywhere &= self._lexicon.warning
        if any(bit & anywhere for _, bit, _ in self._hits):
            return True
        first, last = self._spans[frame]
        while first > 0 and self._tokens[first - 1] not in _ENDS:
            first -= 1
        while last < len(self._tokens) and self._tokens[last] not in _ENDS:
            last += 1
        lowered_by = frame.lowered_by
        return any(bit & lowered_by and first <= place <= last for place, bit, _ in self._hits)

    def names(self, classes: int) -> bool:
        return bool(self._bits & classes)

    def _read(self) -> Iterator[_Hit]:
        grammar, starts, wanted = self._lexicon.grammar, self._lexicon.starts, self._wanted
        negated_from = negated_until = -1
        for place, word in enumerate(self._tokens):
            if word in _BREAKS:
                if not (word == "," and "or" in self._tokens[place + 1 : place + _LIST]):
                    negated_until = -1
                continue
            if word in grammar["negations"] or word.endswith(("n't", "n’t")):  # noqa: RUF001 - these characters are meant
                negated_from, negated_until = place, place + _NEGATED
            phrases = list(self._phrases_at(place, word)) if starts.get(word, 0) & wanted else []
            if "/" in word:
                for part in word.split("/"):
                    if starts.get(part, 0) & wanted:
                        phrases += self._phrases_at(place, part)
            for phrase in phrases:
                if not phrase.bit & wanted or self._is_target(place, phrase):
                    continue
                is_negated = phrase.is_polar and negated_from < place <= negated_until
                bit = phrase.bit << (self._lexicon.width if is_negated else 0)
                yield _Hit(place, bit, self._is_order(place, is_base=phrase.is_base))

    def _phrases_at(self, place: int, word: str) -> Iterator[Phrase]:
        pairs = self._lexicon.phrases[word]
        yield from pairs.get("", ())
        rest = self._tokens[place + 1 : place + 2]
        for phrase in pairs.get(rest[0], ()) if rest else ():
            end = place + 1 + len(phrase.tail)
            if tuple(self._tokens[place + 1 : end]) == phrase.tail:
                yield phrase

    def _is_target(self, place: int, phrase: Phrase) -> bool:
        if not phrase.bit & self._lexicon.objects or not place:
            return False
        return self._tokens[place - 1] in self._lexicon.grammar["targets"]

    def _is_ability(self, place: int) -> bool:
        """Return whether a verb belongs to a list: "any user can read, change and delete it"."""
        tokens, grammar = self._tokens, self._lexicon.grammar
        for at in range(place - 1, max(place - _NEGATED * 3, 0), -1):
            if tokens[at] in _BREAKS and tokens[at] != ",":
                return False
            if tokens[at] in _ABLE:
                is_list = "," in tokens[at:place] and not _LISTED.isdisjoint(tokens[place:])
                return is_list and tokens[at - 1] not in grammar["actors"] | {"it", "this", ","}
        return False

    def _is_order(self, place: int, *, is_base: bool) -> bool:
        """Return whether a verb is an order, and not a statement or a possibility."""
        grammar = self._lexicon.grammar
        before = self._tokens[max(place - 3, 0) : place]
        if not grammar["possible"].isdisjoint(before):
            return False
        last = before[-1] if before else ","
        if last in _LISTED and self._is_ability(place):
            return False
        if last in grammar["actors"]:
            return True
        if not is_base:
            return not grammar["modals"].isdisjoint(before)
        if last == "to":
            return len(before) > 1 and before[-2] in grammar["obliged"]
        is_start = last in _BREAKS or last.isdigit()  # the number of a step
        return is_start or last in grammar["leads"] or last.endswith("ly")
