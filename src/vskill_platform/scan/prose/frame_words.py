"""The words of a sentence that frames need: what they mean, whether negated, and how close."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from vskill_platform.scan.facts.addresses import names_address, names_destination, names_mailbox
from vskill_platform.scan.prose.frame_index import union_of
from vskill_platform.scan.prose.frame_lexicon import CompiledFrame, Lexicon, Phrase

#: Words, file names, and the marks that end a clause.
_TOKEN = re.compile(
    r"[.~]?[a-z0-9](?:[a-z0-9’'./-]*[a-z0-9])?|[,;:()–—%]|[.!?]"  # noqa: RUF001 - these characters are meant
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
    r"|(?P<on>on) (?=demand\b(?! of)(?![^.\n]{0,40}"
    r"(?:\bpay|\$|€|\b(?:btc|bitcoin|xmr|usdt?|dollars?|eur|euros|ransom)\b)))"
    r"|(?P<more>no more) (?=ransom\b)|(?P<any>anything) (?=above ~?\$?\d)"
    r"|(?P<kept>encrypted) (?=(?:storage|connections?|channels?|vaults?|at rest|in transit)\b)"
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


def _joined(sentence: str) -> str:
    """Join compounds, whose parts mean something else: "chat id" is no chat."""
    return _COMPOUND.sub(lambda found: f"{found[0][:-1]}-", sentence)


#: An agreement that the author claims to have, or that nobody has to give.
_IS_PRETENDED = re.compile(
    r"(?i)\b(?:they|he|she|which|who|and|it) (?:(?:has|have|did|is|was) )?(?:already|by now)\b"
    r"|\b(?:counts?|treat\w*|regard\w*|takes?|consider\w*)\b[^.\n]{0,40}\b(?:as|for)\b[^.\n]{0,20}"
    r"\b(?:consent|agreement|agreed|approval|approved|permission|such)\b"
    r"|\bassum\w+\b[^.\n]{0,30}\b(?:agree\w*|consent\w*|approv\w*|ha(?:ve|s))\b|\bis the case\b"
    r"|\b(?:consent|agreement|approval|permission) (?:is|was|has been) (?:implied|given|assumed)\b"
)


class _Hit(NamedTuple):
    place: int
    #: The class, shifted for a negated word.
    bit: int
    is_order: bool


class FrameWords:
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
        if _IS_PRETENDED.search(self._sentence):
            return False
        anywhere = lowered_by = frame.lowered_by
        if not frame.is_addressed:
            anywhere &= self._lexicon.warning
        if any(bit & anywhere for _, bit, _ in self._hits):
            return True
        first, last = self._spans[frame]
        while first > 0 and self._tokens[first - 1] not in _ENDS:
            first -= 1
        while last < len(self._tokens) and self._tokens[last] not in _ENDS:
            last += 1
        return any(bit & lowered_by and first <= place <= last for place, bit, _ in self._hits)

    def names(self, classes: int) -> bool:
        return bool(self._bits & classes)

    def _read(self) -> Iterator[_Hit]:
        starts, wanted = self._lexicon.starts, self._wanted
        negated = range(0)
        for place, word in enumerate(self._tokens):
            if word in _BREAKS:
                if not (word == "," and "or" in self._tokens[place + 1 : place + _LIST]):
                    negated = range(0)
                continue
            negated = self._negated_by(place, word, negated)
            phrases = list(self._phrases_at(place, word)) if starts.get(word, 0) & wanted else []
            if "/" in word:
                for part in word.split("/"):
                    if starts.get(part, 0) & wanted:
                        phrases += self._phrases_at(place, part)
            for phrase in phrases:
                if not phrase.bit & wanted or self._is_target(place, phrase):
                    continue
                is_negated = phrase.is_polar and place in negated
                bit = phrase.bit << (self._lexicon.width if is_negated else 0)
                yield _Hit(place, bit, self._is_order(place, is_base=phrase.is_base))

    def _negated_by(self, place: int, word: str, negated: range) -> range:
        """Return the places that are negated behind a word: "never", but not "never forget"."""
        grammar = self._lexicon.grammar
        if word in grammar["negations"] or word.endswith(("n't", "n’t")):  # noqa: RUF001 - these characters are meant
            return range(place + 1, place + _NEGATED + 1)
        return range(0) if word in grammar["undone"] else negated

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
        actor = before[-2] if last.endswith("ly") and len(before) > 1 else last
        if actor in grammar["actors"]:
            return True
        if not is_base:
            return not grammar["modals"].isdisjoint(before)
        if last == "to":
            return len(before) > 1 and before[-2] in grammar["obliged"]
        is_start = last in _BREAKS or last.isdigit()  # the number of a step
        return is_start or last in grammar["leads"] or last.endswith("ly")
