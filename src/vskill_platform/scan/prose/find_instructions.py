"""Find what the sentences of a text tell their reader to do, in any language."""

import re
from collections.abc import Iterator

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.prose.frame_lexicon import Instruction
from vskill_platform.scan.prose.frames import find_frames
from vskill_platform.scan.prose.frames_other import find_foreign_frames
from vskill_platform.scan.prose.mentions import is_mention

#: Scripts in a page are not sentences: they contain such a sign every few words.
_CODE_SIGN, _WORD = re.compile(r"[={};]"), re.compile(r"[^\W\d_]{2,}")
_MANY_SIGNS, _WORDS_PER_SIGN = 6, 4

#: Acts that a frame also expresses; their rules are at least as severe.
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


def find_instructions(
    text: str, places: list[tuple[Act, int, int]], met: list[int] | None = None
) -> Iterator[Instruction]:
    """Yield the instructions in sentences; *places* are the acts that patterns found in the text.

    *met* are the needs of frames that each line meets, if they were searched before.

    Sentences in which a pattern found the same act are left out. If the pattern found only a
    mention, the instruction is yielded as doubtful.
    """
    for one in (*find_frames(text, met), *find_foreign_frames(text)):
        if _is_code(text[one.start : one.end]):
            continue
        same = [
            is_mention(act, text, start, end)
            for act, start, end in places
            if one.start <= start < one.end and act in _SURER.get(one.act, ())
        ]
        if all(same):
            sentence = text[one.start : one.end]
            start = one.end - len(sentence.lstrip())
            is_doubtful = one.is_doubtful or bool(same)
            yield Instruction(one.act, start, one.end, is_doubtful)


def _is_code(sentence: str) -> bool:
    signs = len(_CODE_SIGN.findall(sentence))
    return signs >= _MANY_SIGNS and signs * _WORDS_PER_SIGN >= len(_WORD.findall(sentence))
