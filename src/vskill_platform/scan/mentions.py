"""Words that a text speaks about: quoted as something to look for, or done by an attacker."""

import re

import re2

from vskill_platform.scan.facts import Act

#: What a text can speak about without saying it to its reader.
_MENTIONED = frozenset(
    {Act.TELL_OVERRIDE, Act.TELL_CONCEAL, Act.TELL_LEAK, Act.TELL_SHARE, Act.TELL_DISARM}
)
#: How far before the words their quotation marks and what is said about them are looked for.
_REACH = 400
_QUOTES = {'"': '"', "“": "”", "`": "`", "«": "»", "'": "'"}
#: Says that what follows in quotation marks is to be found or refused.
_ABOUT = re2.compile(
    r"(?i)\b(?:detect(?:s|ed|ing|ion)?|flag(?:s|ged)?|block(?:s|ed)?|reject(?:s|ed)?|refuse|avoid|"
    r"red flags?|suspicious|injections?|jailbreaks?|attack(?:s|er|ers)?|malicious|adversarial|"
    r"(?:look|watch|scan|check|search|grep) for|phrases? (?:like|such as)|patterns? (?:like|such as))\b"
)
#: Somebody else does it: "malware can disable …", "probes that bypass …".
_BY_OTHERS = re2.compile(
    r"(?i)\b(?:attackers?|adversar(?:y|ies)|malware|ransomware|(?:malicious|threat) \w+|insiders?|"
    r"intruders?|jailbreaks?|probes?|injections?)\b[^.;:!?\n]{0,60}"
    r"\b(?:can|could|may|might|that|which|who|(?:attempts?|try|tries|trying|attempting) to)\s+$"
)
_ATTEMPTS = re2.compile(r"(?i)\b(?:jailbreak|injection) (?:attempts?|patterns?|phrases?) ?\($")


def is_mention(act: Act, text: str, start: int, end: int) -> bool:
    """Tell that the words from *start* to *end* are spoken about.

    That lowers what they count for, and removes nothing.
    """
    if act not in _MENTIONED:
        return False
    before = text[max(start - _REACH, 0) : start]
    sentence = before.rpartition("\n")[2]
    if _BY_OTHERS.search(sentence) or _ATTEMPTS.search(sentence):
        return True
    return _is_quoted(sentence, text, end) and _ABOUT.search(before) is not None


def _is_quoted(sentence: str, text: str, end: int) -> bool:
    """Tell that quotation marks are open before the words and closed behind them."""
    after = text[end : end + _REACH].partition("\n")[0]
    for opening, closing in _QUOTES.items():
        if opening == "'":
            is_open = len(re.findall(r"(?<!\w)'(?=\w|$)", sentence)) > len(
                re.findall(r"(?<=[\w.!?,])'(?!\w)", sentence)
            )
            is_closed = re.search(r"(?<=[\w.!?,])'(?!\w)", text[end - 1 : end] + after) is not None
        elif opening == closing:
            is_open = sentence.count(opening) % 2 == 1
            is_closed = closing in after
        else:
            is_open = sentence.count(opening) > sentence.count(closing)
            is_closed = closing in after
        if is_open and is_closed:
            return True
    return False
