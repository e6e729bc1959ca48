"""Distinguish mentioned words (an example, a quotation of an attacker) from instructions.

Only words that do nothing by themselves can be mentions: an instruction to send a secret is one
even in quotes.
"""

import re

import re2

from vskill_platform.scan.facts.facts import Act

_FLAG_ACTS = frozenset({Act.TELL_SKIP, Act.TELL_UNASKED})
_QUOTED_ACTS = frozenset({Act.TELL_OVERRIDE, Act.TELL_CONCEAL, Act.TELL_DENY})
_OTHERS_ACTS = frozenset({Act.TELL_OVERRIDE, Act.TELL_DISARM})
#: How far around the words to search for quotation marks and their introduction.
_REACH = 400
_QUOTES = {'"': '"', "“": "”", "`": "`", "«": "»"}
_OPENING = re.compile(r"(?<!\w)'(?=\w|$)")
_CLOSING = re.compile(r"(?<=[\w.!?,])'(?!\w)")
#: Words that say to detect or refuse the quoted text.
_ABOUT = re2.compile(
    r"(?i)\b(?:detect(?:s|ed|ing|ion)?|flag(?:s|ged)?|block(?:s|ed)?|reject(?:s|ed)?|refuse|avoid|"
    r"red flags?|suspicious|injections?|jailbreaks?|attack(?:s|er|ers)?|malicious|adversarial|"
    r"(?:look|watch|scan|check|search|grep) for|(?:phrases?|patterns?) (?:like|such as)|"
    r"(?:warn|alert) (?:the )?(?:user|operator|owner)s? (?:when|if|about)|"
    r"(?:do not|don't|never) (?:put|write|use|include|add|say|accept|allow|trust)|"
    r"prompts? that|phrases? (?:in|of)|tr(?:y|ies|ying) to|attempts? to)\b"
)
#: Somebody else says the words: "when a page says …", "text that contains …". An author could
#: claim that the user says something, so that does not count.
_SAID_BY_OTHERS = re2.compile(
    r"(?i)\b(?:an?|any|some|if|when|whenever|where|which|these|those) "
    r"(?:(?:the|a|an|its|their|any) )?(?:\w+ )?(?:users?|customers?|players?|callers?|"
    r"visitors?|strangers?|someone|somebody|anyone|pages?|websites?|e?-?mails?|issues?|"
    r"tickets?|messages?|comments?|documents?|texts?|inputs?|contents?|results?|contracts?|agreements?|clauses?|prompts?)\b[^.:;!?\n]{0,30}"
    r"\b(?:says?|said|contains?|containing|reads?|asks?|tells? (?:you|it)|includes?|including|"
    r"claims?|writes?|types?|saying|reading)\b(?: (?:that|something|anything|like|such as)){0,3}"
    r"[ ,:([]*$"
)
#: An item that names orders of others: "Requests to ignore …".
_ORDERS_OF_OTHERS = re.compile(
    r"(?i)\W*(?:(?:any|all|hidden|embedded|direct|explicit|user) ){0,2}(?:instructions?|requests?|"
    r"attempts?|directives?|commands?|prompts?|phrases?|texts?|contents?|messages?)"
    r"(?: (?:that (?:tr(?:y|ies)|attempts?|asks?)|trying|attempting|asking|telling)"
    r"(?: (?:you|it|them|the (?:agent|model|assistant)|agents|models))?)? to\s+"
)
#: "If a page says …, do not obey it": text of others that the reader must not follow.
_QUOTES_OTHERS = re2.compile(
    r"(?i)\b(?:if|when|whenever)\b[^\n]{0,80}\b(?:says?|contains?|reads?|asks?|tells? you|"
    r"includes?|claims?|instructs?|orders?)\b"
)
_REFUSED = re.compile(
    r"(?i)\b(?:do not|don't|never|must not|refuse to) (?:obey|follow|execute|apply|act on|"
    r"comply with|carry out) (?:it|them|this|that|those|such \w+)\b"
)
#: Words that say to follow the quoted text after all.
_OBEYED = re2.compile(
    r"(?i)\b(?:follow|obey|execute|apply|perform|comply|carry out|act on|adopt|remember|do|begin|"
    r"start|your (?:\w+ )?(?:rule|task|goal|instruction)s?)\b"
)
#: Words that give a text authority, in the same line or in the next ones.
_ENDORSED = re2.compile(
    r"(?i)\b(?:highest priority|takes? (?:precedence|priority)"
    r"|(?:is|are|as) (?:always )?(?:binding|authoritative|legitimate|mandatory)"
    r"|(?:do|act|behave) (?:(?:exactly|just|precisely) )?(?:as|what) (?:it|they|that)"
    r" (?:says?|tells?|asks?)|you (?:should|must|may|shall|will) (?:do so |do it )?(?:as well|too)"
    r"|(?:wants?|expects?|needs?) you to (?:behave|act|work)"
    r"|(?:obey|follow|act on|comply with|adopt|carry out)"
    r" (?:it|them|these|those|each|the \w+ above)"
    r"|then (?:run|do|execute|follow|obey) (?:it|them|so|that)|the agent (?:complies|obeys)"
    r"|holds? for you|as your own|against yourself|after you (?:ignored?|followed|did))\b"
)
_NOT_ENDORSED = re.compile(
    r"(?i)\b(?:not?|never|\w{2,5}n['’]t|nor|cannot|refus\w+|without|than|avoid"  # noqa: RUF001 - typed so
    r"|whether|would|could|might|may|tries|try|attempts?)\b[^.:;!?\n]{0,40}$"
)
#: Another actor: "malware can disable …", "probes that bypass …".
_BY_OTHERS = re2.compile(
    r"(?i)\b(?:attackers?|adversar(?:y|ies)|malware|ransomware|(?:malicious|threat) \w+|insiders?|"
    r"intruders?|jailbreaks?|probes?|injections?|(?:user|untrusted|external|fetched|retrieved) "
    r"(?:text|input|content|data|messages?|prompts?))\b[^.;:!?\n]{0,60}"
    r"\b(?:can|could|may|might|that|which|who|(?:attempts?|try|tries|trying|attempting) to|often"
    r"|commonly|typically|usually|frequently|sometimes)\b(?:[^.;:!?\n]{1,60}\b(?:or|and))?\s+$"
)
_ATTEMPTS = re2.compile(r"(?i)\b(?:jailbreak|injection) (?:attempts?|patterns?|phrases?) ?\($")
#: How far in front of an option it is said not to use it.
_NEAR = 40
_FLAG_REFUSED = re.compile(
    r"(?i)\b(?:never|not|don't|avoid|refuse to)\s+(?:ever\s+)?"
    r"(?:(?:run|us(?:e|ing)|pass(?:ing)?|add|set|start)"
    r"(?:\s+(?:it|them|agents?|with|the|flags?|options?)){0,3}\s+)?[`\"'(]*$"
)
_QUOTATION = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`")
#: "Never commit `.env`", and words that say to move it nevertheless.
_FORBIDS = re.compile(
    r"(?i)\b(?:never|do not|don['’]t|must not)\s+(?:ever\s+)?"  # noqa: RUF001 - as people type it
    r"(?:commit|check in|print|log|read|touch|open|edit|share|expose|upload|copy|include|push|show"
    r"|store|display|output|paste|delete)\b"
)
_MOVES = re.compile(
    r"(?i)\b(?:but|instead|rather|except|unless|until|only|then|send|upload|post|copy|forward|push"
    r"|transmit|paste|put|share|curl|attach|append|encode|read|cat)\w{0,3}\b|://|@"
)
#: Where a quotation opens, after words in front of it.
_OPENING_INSIDE = re.compile(r"[\"“«](?=\w)")
_HAS_WORDS = re.compile(r"\w")
_SENTENCE_END = re.compile(r"[.!?;]\s+")
#: Words that say not to run a command, or to search for it.
_NEVER_RUN = re.compile(
    r"(?i)\b(?:never|not|don't|avoid|refuse to)\s+(?:ever\s+|blindly\s+)?"
    r"(?:run(?:ning)?|execut(?:e|ing)|us(?:e|ing)|pip(?:e|ing)|paste|start|install)\b|\bavoid\b"
)
_WARNS = re.compile(
    r"(?i)\b(?:flags?|report|detects?|rejects?|blocks?|refuse|"
    r"(?:look|watch|scan|check|search|grep) for|dangerous|risky|unsafe|suspicious|malicious|"
    r"red flags?|anti-?patterns?|(?:if|when|whether) (?:a|the|it|any) (?:\w+ )?(?:command|script|"
    r"line|diff|code|file)s? (?:contains?|includes?|matches))\b"
)
_RUNS = re.compile(
    r"(?i)\b(?:run|execute|paste|enter|type|start|launch|use|call|"
    r"(?:install|set up)\w* (?:it |this )?(?:with|via|by|using))\b"
)


def is_mention(act: Act, text: str, start: int, end: int) -> bool:
    """Return whether the words from *start* to *end* are only mentioned.

    A mention lowers their weight, but removes nothing.
    """
    if act in _FLAG_ACTS or act is Act.TELL_SECRET:
        return _is_refused(text, start) if act in _FLAG_ACTS else _is_forbidden(text, start)
    is_quotable = act in _QUOTED_ACTS or act in _OTHERS_ACTS
    if not is_quotable or _is_endorsed(text[end : end + _REACH]):
        return False
    *earlier, before = text[max(start - _REACH, 0) : start].split("\n")
    if act in _OTHERS_ACTS and (_BY_OTHERS.search(before) or _ATTEMPTS.search(before)):
        return True
    after = text[end : end + _REACH].partition("\n")[0]
    is_item = _ORDERS_OF_OTHERS.fullmatch(_SENTENCE_END.split(before)[-1])
    if act in _OTHERS_ACTS and is_item and not _OBEYED.search(after):
        return True
    if opening := _OPENING_INSIDE.search(text, start, end):
        before += text[start : opening.end()]
    if act not in _QUOTED_ACTS or not _is_quoted(before, text[end - 1 : end] + after):
        return False
    # Between quotation marks that belong to other items of a list, nothing is said.
    sentence = _SENTENCE_END.split(_QUOTATION.sub("", before))[-1]
    is_said = _HAS_WORDS.search(sentence)
    said = sentence if is_said else _introduction(earlier)
    is_refused = _QUOTES_OTHERS.search(said) and _REFUSED.search(after)
    if is_refused:
        after = _REFUSED.sub("", after)
    is_about = is_refused or _is_about(said) or _is_about(_introduction(earlier))
    return bool(is_about) and not _OBEYED.search(f"{said}\n{after}")


def _is_about(said: str) -> bool:
    """Return whether words introduce a quotation as something to detect, or as said by others."""
    said = said.rstrip("\"“`«'")
    return _ABOUT.search(said) is not None or _SAID_BY_OTHERS.search(said) is not None


def _is_endorsed(behind: str) -> bool:
    """Return whether the words behind a quotation tell the reader to follow it."""
    return any(
        not _NOT_ENDORSED.search(behind[: found.start()]) for found in _ENDORSED.finditer(behind)
    )


def _is_refused(text: str, start: int) -> bool:
    """Return whether it is said not to use an option: "never use --yolo"."""
    before = _SENTENCE_END.split(text[max(start - _NEAR, 0) : start].rpartition("\n")[2])[-1]
    return _FLAG_REFUSED.search(before) is not None


def _is_forbidden(text: str, start: int) -> bool:
    """Return whether a sentence only says not to use the secret at *start*."""
    before = text[max(start - _REACH, 0) : start].rpartition("\n")[2]
    sentence = _SENTENCE_END.split(before)[-1]
    after = _SENTENCE_END.split(text[start : start + _REACH].partition("\n")[0])[0]
    forbidden = _FORBIDS.search(sentence)
    return forbidden is not None and not _MOVES.search(f"{sentence[forbidden.end() :]} {after}")


def is_command_mention(text: str, start: int) -> bool:
    """Return whether a command at *start* is named as something to find, report or avoid.

    Only words in the same sentence count, and none of them may tell the reader to run it.
    """
    *earlier, before = text[max(start - _REACH, 0) : start].split("\n")
    sentence = _SENTENCE_END.split(before)[-1]
    if not _HAS_WORDS.search(_QUOTATION.sub("", sentence)):
        sentence = _introduction(earlier)
    rest = _NEVER_RUN.sub("", sentence)
    is_warned = rest != sentence or _WARNS.search(sentence) is not None
    return is_warned and _RUNS.search(rest) is None


def _introduction(earlier: list[str]) -> str:
    """Return the line that introduces a list of quotations."""
    for line in reversed(earlier):
        if line.rstrip().endswith(":"):
            return line
        if line.strip() and not _QUOTATION.search(line):
            break
    return ""


def _is_quoted(before: str, after: str) -> bool:
    """Return whether quotation marks open before the words and close after them."""
    if len(_OPENING.findall(before)) > len(_CLOSING.findall(before)) and _CLOSING.search(after):
        return True
    for opening, closing in _QUOTES.items():
        count = before.count(opening)
        is_open = count % 2 == 1 if opening == closing else count > before.count(closing)
        if is_open and closing in after:
            return True
    return False
