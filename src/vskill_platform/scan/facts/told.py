"""Find what the sentences of a text are about, in all languages, next to what patterns found."""

import re
from collections.abc import Iterator

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.frame_lexicon import Told
from vskill_platform.scan.facts.frames import find_frames
from vskill_platform.scan.facts.frames_other import find_foreign_frames
from vskill_platform.scan.facts.mentions import is_mention

#: A script in a page is no sentence: it has such a sign every few words.
_CODE_SIGN, _WORD = re.compile(r"[={};]"), re.compile(r"[^\W\d_]{2,}")
_MANY_SIGNS, _WORDS_PER_SIGN = 6, 4

#: Acts that a frame expresses, too; their rules are at least as severe.
_SURER = {
    Act.TOLD_COLLECT: frozenset({Act.TELL_ASK_SECRET}),
    Act.TOLD_DEFER: frozenset({Act.TELL_OBEY}),
    Act.TOLD_KEEP_QUIET: frozenset({Act.TELL_DENY}),
    Act.TOLD_LOOSEN: frozenset({Act.TELL_DISARM, Act.TELL_SKIP}),
    Act.TOLD_MISLEAD: frozenset({Act.TELL_VOUCH, Act.TELL_DENY}),
    Act.TOLD_OUTRANK: frozenset({Act.TELL_OVERRIDE}),
    Act.TOLD_PASS_ON: frozenset({Act.TELL_LEAK}),
    Act.TOLD_REPROGRAM: frozenset({Act.TELL_POISON}),
}


def find_told(text: str, places: list[tuple[Act, int, int]]) -> Iterator[Told]:
    """Yield what sentences are about; *places* is what the wording of the text expresses.

    If the wording of a sentence says the same, nothing is yielded. If the wording is only
    mentioned, so is what the sentence is about.
    """
    for told in (*find_frames(text), *find_foreign_frames(text)):
        if _is_code(text[told.start : told.end]):
            continue
        same = [
            is_mention(act, text, start, end)
            for act, start, end in places
            if told.start <= start < told.end and act in _SURER.get(told.act, ())
        ]
        if all(same):
            sentence = text[told.start : told.end]
            start = told.end - len(sentence.lstrip())
            is_doubtful = told.is_doubtful or bool(same)
            yield Told(told.act, start, told.end, is_doubtful)


def _is_code(sentence: str) -> bool:
    signs = len(_CODE_SIGN.findall(sentence))
    return signs >= _MANY_SIGNS and signs * _WORDS_PER_SIGN >= len(_WORD.findall(sentence))
