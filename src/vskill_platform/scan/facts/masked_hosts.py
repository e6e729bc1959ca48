"""Read masked addresses: `[REDACTED].example.com`, `hxxp://`, `evil[.]com`.

A masked address cannot be checked, so its host counts as untrusted. Lines stay lines.
"""

import re

from vskill_platform.scan.facts.pattern_set import Precheck

#: The replacement for a masked host; a name that can never be registered.
MASKED_HOST = "masked.invalid"

_MASK = r"\[(?:REDACTED|MASKED|REMOVED|CENSORED|HIDDEN|DEFANGED)(?P<what>[\w -]{0,40})\]"
_AFTER_SCHEME = re.compile(r"(?<=://)" + _MASK)
_ALONE = re.compile(_MASK + r"(?=/[\w.-])")
_NAMED = re.compile(
    r"\[(?:REDACTED|MASKED)[\w -]{0,30}(?P<what>URL|ENDPOINT|HOST|DOMAIN|SERVER|IP)\]"
)
_SCHEME = re.compile(r"\bh[x*]{2}p(s?)(?=\[?:)", re.IGNORECASE)
_DOT = re.compile(r"(?<=\w)(?:\[\.\]|\(\.\)|\[dot\])(?=\w)", re.IGNORECASE)
#: "archive at acme-copies dot dev": how people write an address that no program is to find.
_LAST = (
    r"(?:com|net|org|io|dev|app|ai|co|me|sh|cc|pw|xyz|site|top|ru|cn|info|biz|online|cloud"
    r"|link)"
)
_SPOKEN_DOT = re.compile(
    r"(?<=\w)\s?(?:\[dot\]|\(dot\)|\{dot\}|<dot>|\[\.\]|\(\.\))\s?(?=\w)"
    rf"|(?<=[a-z0-9]) dot (?=(?:[a-z0-9-]{{1,60}} dot ){{0,4}}{_LAST}\b)",
    re.IGNORECASE,
)
#: Words in front of "dot net" that name the platform, and "dot com" as a word.
_NO_LABEL = re.compile(
    r"(?i)\b(?:a|an|the|in|on|of|for|with|use|uses|using|and|or|to|from|your|our|asp|microsoft|this"
    r"|is|by|as|at|polka|version|core|early|every|each)$"
)
#: How much text in front of "dot" such a word has at most.
_WORD_REACH = 20
_SPOKEN_AT = re.compile(
    rf"(?<=\w) (?:at|\(at\)|\[at\]) (?=[a-z0-9-]{{1,60}}(?:\.[a-z0-9-]{{1,60}}){{0,3}}\.{_LAST}\b)",
    re.IGNORECASE,
)
_MASKS = (_AFTER_SCHEME, _ALONE, _NAMED, _SCHEME, _DOT)
_PRECHECK = Precheck(
    [*("(?i)" + each.pattern for each in _MASKS), r"(?i)[\[({< ]dot[\])}> ]|[\[(]\.[\])]"]
)


def read_masked_hosts(text: str) -> str:
    """Rewrite every masked address so that it can be parsed as one."""
    if not _PRECHECK.possible_in(text):
        return text
    if "[" in text or "(." in text:
        text = _AFTER_SCHEME.sub(MASKED_HOST, text)
        text = _ALONE.sub(f"https://{MASKED_HOST}", text)
        text = _NAMED.sub(_named, text)
        text = _DOT.sub(".", text)
    if "dot" in text or "DOT" in text or "Dot" in text or "(." in text or "[." in text:
        text = _with_spoken_dots(text)
    return _SCHEME.sub(r"http\1", text) if "xp" in text or "**p" in text else text


def _with_spoken_dots(text: str) -> str:
    def dot(found: re.Match[str]) -> str:
        is_word = found[0] == " dot " and _NO_LABEL.search(
            text[max(found.start() - _WORD_REACH, 0) : found.start()]
        )
        return found[0] if is_word else "."

    spoken = _SPOKEN_DOT.sub(dot, text)
    if spoken == text:
        return text
    return "\n".join(
        _SPOKEN_AT.sub("@", line) if line != before else line
        for line, before in zip(spoken.split("\n"), text.split("\n"), strict=True)
    )


def _named(found: re.Match[str]) -> str:
    return f"https://{MASKED_HOST}" if found["what"] in {"URL", "ENDPOINT"} else MASKED_HOST
