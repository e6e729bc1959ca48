"""The frames in languages other than English: what a sentence is about, by the stems of its words.

Only sentences that are not English are looked at: with letters beyond ASCII, or with the small
words of another language.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec
import re2

from vskill_platform.scan.facts.addresses import names_address
from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.frame_lexicon import ADDRESS, Frame, Instruction
from vskill_platform.scan.facts.negations import is_negated

#: `re` takes a fifth of the time of re2 here.
_SENTENCE_END = re.compile(r"[.!?](?:[ \t\n\r\f]|\Z)|[。！？\n]")  # noqa: RUF001 - other scripts
_MAX_SENTENCE = 600
#: Verbs that an author can forbid; the other classes are nouns, or contain their negation.
_VERBS = frozenset({"send", "demand", "keep", "off", "obey", "write"})
#: "Never send it without a copy to …" is an order.
_EXCEPTION = re2.compile(
    r"(?i)\b(?:ohne|außer|weniger|sin|salvo|excepto|menos|sem|exceto|sans|sauf|moins|senza"
    r"|tranne|meno)\b"
    r"|без|кроме|меньше|除|不带|以外|なし|없이|외에"
)
#: Letters of other scripts, accented letters, and words that every longer sentence has. In a name
#: such as `example.com` they are no words.
_FOREIGN = re2.compile(
    r"[\x{c0}-\x{24f}\x{400}-\x{4ff}\x{3040}-\x{30ff}\x{4e00}-\x{9fff}\x{ac00}-\x{d7a3}]"
    r"|(?i:(?:^|\s)(?:der|das|und|ein|nicht|dem|den|jede[nrs]?|alle|von|mit|auf|zur|zum|ohne|el|los|las"
    r"|una|del|que|con|para|sus?|le|les|des|une|est|sur|avec|pour|dans|il|gli|che|uma|dos|por|com"
    r"|seus?|suas?|ao)(?:\s|$))"
)


class _Lexicon(NamedTuple):
    words: dict[str, Any]
    frames: list[Frame]


@cache
def _lexicon() -> _Lexicon:
    data = load_data("frames_other.toml")
    words = {name: re2.compile(f"(?i){text}") for name, text in data["words"].items()}
    return _Lexicon(words, msgspec.convert(data["frame"], list[Frame]))


def find_foreign_frames(text: str) -> Iterator[Instruction]:
    """Yield the acts that the sentences in other languages express."""
    if not _FOREIGN.search(text):
        return
    start = 0
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    for end in (*ends, len(text)):
        sentence = text[start:end][:_MAX_SENTENCE]
        if _FOREIGN.search(sentence):
            for act, is_doubtful in _Sentence(sentence).acts().items():
                yield Instruction(act, start, end, is_doubtful)
        start = end


class _Sentence:
    """A sentence whose words are searched when a frame asks for them, and only once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, bool] = {}

    def acts(self) -> dict[Act, bool]:
        acts: dict[Act, bool] = {}
        for frame in _lexicon().frames:
            if all(any(map(self._has, need.split("|"))) for need in frame.needs):
                act = Act[frame.act]
                acts[act] = acts.get(act, True) and any(map(self._has, frame.lowered_by))
        return acts

    def _has(self, name: str) -> bool:
        if name not in self._found:
            self._found[name] = (
                names_address(self._text)
                if name == ADDRESS
                else any(
                    self._counts(name, *found.span())
                    for found in _lexicon().words[name].finditer(self._text)
                )
            )
        return self._found[name]

    def _counts(self, name: str, start: int, end: int) -> bool:
        """Tell whether a word is no verb whose opposite is told."""
        if name not in _VERBS or not is_negated(self._text, start, end):
            return True
        return _EXCEPTION.search(self._text) is not None
