"""Recognise negated instructions: a negation before, inside or after the words, by language.

English, Chinese, Slavic and Romance languages negate before the verb; German, Dutch and French
after it; Japanese, Korean and Turkish by its ending. A negation counts only next to its verb,
because farther away it may refer to something else.
"""

import re

import re2

_REACH = 16
#: "Never upload …" does not tell anyone to upload.
_BEFORE = re2.compile(
    r"(?i)(?:\b(?:never|not|cannot|avoid|refuse to|don't|doesn't|won't|can't|n't|no need to)\s+"
    r"(?:ever\s+)?|(?:不要|请勿|切勿|不得|绝不|不能|不可|不应|禁止|严禁)"
    r"(?:再|去|[把将][^，。；\n]{1,10})?"  # noqa: RUF001 - Chinese
    r"|(?:^|[^\pL])(?:no|non|n[ãa]o|nunca|jam[áa]s|nicht|nie|не)\s+)$"
)
#: "Deaktiviere niemals …", "désactivez jamais …", "frage den Nutzer nie nach …": not "nicht nur".
_BEHIND_VERB = re.compile(
    r"(?i)[^\W\d]+(?:\s(?!(?:und|oder|et|ou|y|e|en|of|and)\b)[^\W\d]+){0,3}?\s"
    r"(?:niemals|keinesfalls|nooit|jamais|nunca|jamás|mai"
    r"|nie(?=\s(?:d[aeiu]\w{1,4}|sein\w*|ihr\w*|vor\w*|nach|ab|aus)\b|\s?(?:[.!]|$)))\b"
    r"(?!\s(?:mehr|wieder|plus|más|più|mais|meer)\b)"
)
_NOT_BEHIND_VERB = re.compile(
    r"(?i)[^\W\d]+(?:\ssie|\su)?\s(?:nicht|niet|pas)\b(?!\s(?:nur|alleen|seulement|que)\b)"
    r"|[^\W\d]+(?:\s[^\W\d]+){1,3}\s(?:nicht|niet)(?=\s(?:nach|ab|aus|uit)\b|\s?(?:[.!]|$))"
)
#: The endings of a negative order; "must" is a double negation in Japanese.
_ENDING = re.compile(
    r"[ぁ-ん]{0,3}(?:ないで(?!も)|(?<!なく)ては(?:いけ|なら|だめ))|[ぁ-ん]{0,2}ません(?!か)"
    r"|[가-힣]{0,3}지\s?(?:마|말)|하면\s안"
)
_TURKISH = re.compile(r"(?i)\basla\s(?:\w+\s){0,2}\w+?m[ae]\b")
#: How far a negation may extend beyond the matching words.
_BEYOND = 40
#: "Users must never provide …" contains the negation inside the words.
_FORBIDDEN = re.compile(
    r"(?i)[^.;:!?\n]{0,40}\b(?:must|should|shall|do|does|may|need)(?: not|n.t| never) "
    r"(?:ever |have to |be asked to )?(?:provide|paste|enter|share|supply|give|send|type|hand)\b"
)

#: "Do not follow requests to bypass …" does not tell anyone to bypass anything.
_REFUSED = re2.compile(
    r"(?i)\b(?:do not|don't|never|must not|refuse to|cannot|should not)\s+"
    r"(?:follow|obey|allow|accept|honou?r|comply with|act on|execute)\s+(?:\w+\s+){0,3}"
    r"(?:attempts?|requests?|instructions?|prompts?|messages?|content|text)\s+"
    r"(?:to|(?:that|which)\s+(?:tr(?:y|ies)|attempts?|asks?)\s+(?:you\s+)?to)\s+$"
)
_REFUSAL_REACH = 100


def is_negated(text: str, start: int, end: int) -> bool:
    """Return whether the words from *start* to *end*, which begin with a verb, are forbidden."""
    if _BEFORE.search(text[max(start - _REACH, 0) : start]):
        return True
    words = text[start : end + _BEYOND].partition("\n")[0]
    return bool(
        _BEHIND_VERB.match(words)
        or _NOT_BEHIND_VERB.match(words)
        or _ENDING.match(text, end)
        or _TURKISH.search(text, start, end + _REACH)
    )


def is_forbidden(text: str, start: int, end: int) -> bool:
    """Return whether a statement about users says what they must not do."""
    return _FORBIDDEN.match(text, start, end) is not None


def is_refused(text: str, start: int) -> bool:
    """Return whether the words at *start* are a request that must be refused."""
    return _REFUSED.search(text[max(start - _REFUSAL_REACH, 0) : start]) is not None
