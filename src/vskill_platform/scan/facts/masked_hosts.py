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
_PRECHECK = Precheck(
    ["(?i)" + each.pattern for each in (_AFTER_SCHEME, _ALONE, _NAMED, _SCHEME, _DOT)]
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
    return _SCHEME.sub(r"http\1", text) if "xp" in text or "**p" in text else text


def _named(found: re.Match[str]) -> str:
    return f"https://{MASKED_HOST}" if found["what"] in {"URL", "ENDPOINT"} else MASKED_HOST
