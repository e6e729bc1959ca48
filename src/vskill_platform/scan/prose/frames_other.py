"""Frames in languages other than English: the meaning of a sentence by the stems of its words.

Only sentences that are not English are examined: those with letters beyond ASCII, or with the small
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
from vskill_platform.scan.facts.pattern_set import lines_with
from vskill_platform.scan.facts.required_words import required_words
from vskill_platform.scan.facts.word_index import WordIndex
from vskill_platform.scan.prose.concepts import (
    OF_LANGUAGE,
    concept_classes,
    concept_frames,
    concept_patterns,
    polar_concepts,
)
from vskill_platform.scan.prose.frame_lexicon import ADDRESS, Frame, Instruction
from vskill_platform.scan.prose.negated_clauses import is_in_negated_clause
from vskill_platform.scan.prose.negations import is_negated

#: `re` takes a fifth of the time of re2 here.
_SENTENCE_END = re.compile(r"[.!?](?:[ \t\n\r\f]|\Z)|[。！？\n]")  # noqa: RUF001 - other scripts
_MAX_SENTENCE = 600
#: How many sentences a passage may have.
_MAX_SENTENCES = 3
#: Classes of verbs that can be negated; the other classes are nouns, or contain their negation.
_VERBS = frozenset(
    {"send", "demand", "keep", "off", "obey", "write", "ruin", "move_money", *polar_concepts()}
)
_CONCEPTS = frozenset(concept_classes())
_UNTOLD = frozenset({"untold", "untold_at_all"})
_WITHOUT_CONSENT = frozenset({"no_asking", "no_consent"})
#: A need for a negated word of a class.
_NEGATED = "no "
#: A negation before "without": "Delete nothing without permission" requires permission.
_WITHOUT = re2.compile(
    r"(?i)^(?:sin|sem|sans|senza|ohne|bez|未经|不经|没有|確認せず|許可|同意|承認|без)"
)
_NEVER = re2.compile(
    r"(?i)(?:^|[^\pL])(?:no|non|não|nao|nunca|jamás|jamais|ne|n'|nicht|nie|niemals|kein\w*|mai|не|ни|никогда)"
    r"[^\pL]|不得|不要|禁止|切勿|请勿|严禁|不能|不可|ないで|しないこと|禁じ"
)
#: "Never send it without a copy to …" is an order, "never send it without being asked" is not.
_UNLESS_ASKED = (
    r"[^.;:!?]{0,40}(?:ped|peç|pid|preg|perg|solicit|consen|autori|permi|apro|verlang|wünsch|erlaub"
    r"|zustimm|demand|accord|chied|richie|frag|bestätig|confirm|conferm)"
)
_ASKED_FOR = re.compile(f"(?i){_UNLESS_ASKED}")
_EXCEPTION = re.compile(
    r"(?i)\b(?:ohne|außer|weniger|sin|salvo|excepto|menos|sem|exceto|sans|sauf|moins|senza"
    rf"|tranne|meno)\b(?!{_UNLESS_ASKED})"
    r"|без|кроме|меньше|除|不带|以外|なし|없이|외에"
)
_NEVER_BEHIND = re2.compile(
    r"不得|不要|禁止|切勿|请勿|严禁|不能|不可|ないで|しないこと|禁じ|ません"
)
#: "Führe keine Anweisungen aus": the negation is at the object.
_NONE_OF_IT = re.compile(
    r"(?i)\w{0,6}\W{1,2}(?:\w+\W){0,2}(?:kein\w*|ningun\w*|ningún|nenhum\w*|aucun\w*|nessun\w*|никак\w+)\b"
)
_CLAUSE = re.compile(r"[.;:!?。；！？\n]")  # noqa: RUF001 - other scripts
#: Letters of other scripts, accented letters, and words that every longer sentence contains. In a
#: name such as `example.com` they are not words.
_FOREIGN = re2.compile(
    r"[\x{c0}-\x{24f}\x{400}-\x{4ff}\x{600}-\x{6ff}\x{900}-\x{97f}\x{3040}-\x{30ff}\x{4e00}-\x{9fff}"
    r"\x{ac00}-\x{d7a3}]"
    r"|(?i:(?:^|\s)(?:der|das|dass|al|esta|este|wurde|ist|im|nach|wird|auch|sie|bei|und|ein|nicht|dem|den|jede[mnrs]?|diese[mnrs]?|alle|von|mit|auf|zur|zum|ohne|el|los|las"
    r"|una|del|que|con|para|sus?|le|les|des|une|est|sur|avec|pour|dans|il|gli|che|uma|dos|por|com"
    r"|seus?|suas?|ao|senza|sans|sin|sem|anche|también|também|aussi|eine[nmrs]?|gegen|für|chaque|cada"
    r"|ogni|todos|todas|tous|toutes|tutti|tutte|sempre|siempre|toujours|immer|della|nella|questo|questa"
    r"|cette|kein|keine[nm]?|usuario|utente|nutzer|copia|pas|ne|sera)(?:\s|$))"
)


class _Frame(NamedTuple):
    act: Act
    #: One word of each of these classes.
    needs: tuple[frozenset[str], ...]
    #: The same classes, negated or not.
    names: tuple[frozenset[str], ...]
    lowered_by: frozenset[str]
    is_passage: bool


class _Lexicon:
    """Patterns of the words of each class, compiled when a text contains letters that they need."""

    def __init__(self) -> None:
        data = load_data("frames_other.toml")
        self._texts = _patterns()
        self._names = list(self._texts)
        self._index = WordIndex([required_words(text) for text in self._texts.values()])
        self._compiled: dict[str, Any] = {}
        self.frames = [
            _Frame(
                act=Act[one.act],
                needs=tuple(frozenset(need.split("|")) for need in one.needs),
                names=tuple(
                    frozenset(name.removeprefix(_NEGATED) for name in need.split("|"))
                    for need in one.needs
                ),
                lowered_by=frozenset(one.lowered_by),
                is_passage=one.passage,
            )
            for one in msgspec.convert([*data["frame"], *concept_frames()], list[Frame])
        ]

    def possible_in(self, text: str) -> dict[str, list[str]]:
        """Return the classes of which a text may contain a word, each with its patterns."""
        possible: dict[str, list[str]] = {}
        for place in sorted(self._index.possible(self._index.met_in(text.encode()))):
            name = self._names[place]
            possible.setdefault(name.partition(OF_LANGUAGE)[0], []).append(name)
        return possible

    def pattern(self, name: str) -> Any:
        if name not in self._compiled:
            self._compiled[name] = re2.compile(self._texts[name])
        return self._compiled[name]


def foreign_patterns() -> list[str]:
    """Return the patterns of all classes."""
    return list(_patterns().values())


def _patterns() -> dict[str, str]:
    words = load_data("frames_other.toml")["words"]
    return {name: f"(?i){text}" for name, text in words.items()} | {
        name: f"(?im){text}" for name, text in concept_patterns().items()
    }


@cache
def _lexicon() -> _Lexicon:
    return _Lexicon()


def find_foreign_frames(text: str) -> Iterator[Instruction]:
    """Yield the acts that the sentences and passages in other languages express."""
    foreign_lines = _foreign_lines(text)
    if not foreign_lines:
        return
    start = foreign_until = number = 0
    before: list[tuple[int, str]] = []
    told: dict[Act, int] = {}
    for end in (*(found.end() for found in _SENTENCE_END.finditer(text)), len(text)):
        sentence = text[start:end][:_MAX_SENTENCE]
        if number in foreign_lines and _FOREIGN.search(sentence):
            foreign_until = end
            for act, is_doubtful in _Sentence(sentence).acts(is_passage=False).items():
                told[act] = end
                yield Instruction(act, start, end, is_doubtful)
        if sentence.strip():
            before = [one for one in before[1 - _MAX_SENTENCES :] if end - one[0] <= _MAX_SENTENCE]
            before.append((start, sentence))
            first = before[0][0]
            if foreign_until > first:
                passage = _Sentence("".join(part for _, part in before))
                for act, is_doubtful in passage.acts(is_passage=True).items():
                    if told.get(act, -1) <= first:
                        told[act] = end
                        yield Instruction(act, first, end, is_doubtful)
        number += text.count("\n", start, end)
        start = end


def _foreign_lines(text: str) -> set[int]:
    """Return the lines, counted from 0, that may have a foreign word.

    A match may begin with the line end before the word.
    """
    numbers = {number for number, _ in lines_with(_FOREIGN, text)}
    return {number + shift for number in numbers for shift in (-1, 0)}


class _Sentence:
    """A sentence whose words are searched when a frame needs them, and only once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._patterns = _lexicon().possible_in(text)
        self._possible = {ADDRESS, *self._patterns}
        self._found: dict[str, bool] = {}

    def acts(self, *, is_passage: bool) -> dict[Act, bool]:
        acts: dict[Act, bool] = {}
        for frame in _lexicon().frames:
            if (
                frame.is_passage is is_passage
                and not any(map(self._possible.isdisjoint, frame.names))
                and all(any(map(self._has, need)) for need in frame.needs)
            ):
                is_doubtful = any(map(self._has, frame.lowered_by))
                acts[frame.act] = acts.get(frame.act, True) and is_doubtful
        return acts

    def _has(self, name: str) -> bool:
        if name.removeprefix(_NEGATED) not in self._possible:
            return False
        if name not in self._found:
            self._found[name] = (
                names_address(self._text)
                if name == ADDRESS
                else any(
                    self._counts(name, *found.span())
                    for pattern in self._patterns[name.removeprefix(_NEGATED)]
                    for found in _lexicon().pattern(pattern).finditer(self._text)
                )
            )
        return self._found[name]

    def _counts(self, name: str, start: int, end: int) -> bool:
        """Return whether a word is not a negated verb, or is one if that is what is needed."""
        if (plain := name.removeprefix(_NEGATED)) in _CONCEPTS:
            start += not self._text[start].isalpha()
            return (plain != name) is (
                plain in _VERBS and is_in_negated_clause(self._text, start, end)
            )
        if name in _VERBS:
            return self._is_verb_meant(start, end)
        if name == "hidden_copy":
            # "Never without a hidden copy" is an order, "never a copy without asking" is not.
            is_excepted = _EXCEPTION.search(self._text, 0, start) is not None
            return is_excepted or not is_in_negated_clause(self._text, start, end)
        if name in _WITHOUT_CONSENT and _WITHOUT.search(self._text[start:end]):
            return self._is_deed_meant(start, end)
        if name == "asks_first":
            return not is_in_negated_clause(self._text, start, end)
        return name not in _UNTOLD or _ASKED_FOR.match(self._text, end) is None

    def _is_verb_meant(self, start: int, end: int) -> bool:
        is_none = _NONE_OF_IT.match(self._text, end) is not None
        if is_none or is_negated(self._text, start, end):
            return _EXCEPTION.search(self._text) is not None
        return not is_in_negated_clause(self._text, start, end)

    def _is_deed_meant(self, start: int, end: int) -> bool:
        """Return whether what is done "without asking" is not forbidden."""
        clause = _CLAUSE.split(self._text[:start])[-1]
        if _NEVER.search(clause):
            return False
        after = _CLAUSE.split(self._text[end:])[0]
        return _NEVER_BEHIND.search(after) is None
