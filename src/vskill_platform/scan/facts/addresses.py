"""Find names to which data can be sent: hosts, mailboxes, addresses and wallets."""

import re
from collections.abc import Iterator
from functools import cache

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.hosts import (
    HOST,
    USER,
    VOUCHED_FOR,
    HostClass,
    classify_host,
    end_of_host,
    is_documentation,
    plain_host,
)
from vskill_platform.scan.facts.registered_domain import registered_domain

_ADDRESS = re.compile(
    rf"(?P<link>(?:https?|wss?|s?ftps?|(?:git\+)?ssh|git(?:\+https?)?|rsync|davs?|smb|tcp|udp):[/\\]{{1,3}}"
    rf"|(?<![\w:/.])//(?=[a-z0-9-]{{1,60}}\.[a-z0-9.-]{{2,60}}(?:[/:\s]|$))){USER}(?P<site>{HOST})"
    r"|(?:s3|gs|gcs|r2|b2|oss|cos|wasbs?|abfss?)://(?P<bucket>[a-z0-9][a-z0-9.@-]{2,62})"
    r"|(?P<box>[\w.+-]{1,60})@(?P<mail>[a-z0-9-]{1,60}(?:\.[a-z0-9-]{1,60}){0,3}\.[a-z][a-z-]{1,20})"
    r"|(?<![a-z0-9@./-])(?P<host>(?:[a-z0-9-]{1,60}\.){1,4}"
    r"(?P<last>[a-z]{2,13}))(?![a-z0-9_(-])"
    r"|(?<![a-z0-9.])(?P<ip>\d{1,3}(?:\.\d{1,3}){3})(?!\.?[a-z0-9])"
    r"|(?P<wallet>\b0x[0-9a-f]{8,}\b)",
    re.IGNORECASE,
)

#: Names of buckets in manuals. A common word inside a name says nothing: everyone can choose it.
_ANY_BUCKET = re.compile(
    r"(?:arn|(?:my|your|our|the|some|example|acme|company|target)[.-].*|.*[.-]buckets?"
    r"|(?:my|your|our|the|example|test|sample|demo)?[.-]?buckets?(?:[.-]?(?:name|\d))?"
    r"|my|your|our|the|some|example|demo|test|sample|amzn|company|org|acme|project|account|name"
    r"|data|source|src|dest\w*|target|foo|bar|path|public|landsat-pds|gcp-public-data[\w-]*)",
    re.IGNORECASE,
)
#: Shorter numbers are ordinary numbers in code.
_WALLET = 34
_WORD = re.compile(r"\S+")
#: Every address has one of these.
_SIGN = re.compile(r"\.(?=\S)|:/|0[xX]")
#: In front of a name that may be one of code, such as `torch.distributed.run`, or behind it.
_TO_HOST = re.compile(
    r"(?i)\b(?:to|into|onto|at|from|via|through|toward|towards|visit|curl|wget|ssh|ping|dig"
    r"|hosts?|servers?|endpoint|address|domain|site|relay|collector|gateway|mirror)"
    r"[\s(<\[\"'“:=]*(?:(?:https?|wss?):/+|www\.)?$"
)
_NEAR = 24
_HOST_BEHIND = re.compile(r":\d|/")
#: How much text before an address is searched for its purpose.
_REACH = 160
_CLAUSE = re.compile(r"[.!?;](?=\s)|\n")
_TOWARD = re.compile(
    r"\b(?:to|into|onto|with|at|let|reach|reaches)\s+(?:(?:the|our|a|an|my|this|its|their)\s+)?"
    r"(?:[\w-]+\s+){0,3}?(?:at\s+)?[(<`\[\"']?$",
    re.IGNORECASE,
)
#: The reader visits the address, or gets something from it.
_VISIT = re.compile(
    r"\b(?:go|navigate|visit|head|open|browse|sign|log|login|refer|see|according|back|connect|connects|point|points"
    r"|access|sourced?|docs?|documentation|available|found|hosted?|published|learn|create|register|registered|get|gets|fetch|obtain|read"
    r"|details|more|install|download|clone|requests?|calls?|queries|query|proxy|proxies|resolves?|redirects?|endpoint|api|url|link|links"
    r"|example|powered|built|made|maintained|running|runs|deployed|live|lives|used|equal|similar|moved|migrated|set|defaults?|listens?|served|check|generate|consult|manage|view|prefix"
    r"|try|using|start|begin|ranges?|rotate|scored?|rated?)\b",
    re.IGNORECASE,
)


def may_name_address(text: str) -> bool:
    """Return whether a text contains one of the signs that every address has."""
    return "." in text or "0x" in text or ":/" in text


def names_address(sentence: str) -> bool:
    """Return whether a sentence names an untrusted recipient."""
    return may_name_address(sentence) and any(map(_is_doubtful, _addresses(sentence)))


def names_mailbox(sentence: str) -> bool:
    """Return whether a sentence names a mailbox at a domain that exists."""
    return "@" in sentence and any(
        found["mail"] and _is_doubtful(found) for found in _addresses(sentence)
    )


def names_destination(sentence: str) -> bool:
    """Return whether something is to be moved to an untrusted recipient."""
    return any(
        _is_doubtful(found) and _leads_to(sentence[: found.start()])
        for found in _addresses(sentence)
    )


def doubtful_addresses(sentence: str) -> Iterator[tuple[int, int, str]]:
    """Yield the positions of untrusted recipients, and their hosts."""
    for found in _addresses(sentence):
        is_short = found["wallet"] and len(found["wallet"]) < _WALLET
        if not is_short and _is_doubtful(found):
            yield found.start(), _end(found), _host(found)


def _addresses(sentence: str) -> Iterator[re.Match[str]]:
    """Yield what may be addresses; only words with a sign of one are searched letter by letter."""
    end = 0
    for sign in _SIGN.finditer(sentence):
        start = sign.start()
        if start < end:  # of the word that was searched last
            continue
        while start > end and not sentence[start - 1].isspace():
            start -= 1
        word = _WORD.match(sentence, start)
        end = word.end() if word else sign.end()
        yield from _ADDRESS.finditer(sentence, start, end)


def _leads_to(before: str) -> bool:
    clause = _CLAUSE.split(before[-_REACH:])[-1]
    return _TOWARD.search(clause) is not None and _VISIT.search(clause) is None


def _is_doubtful(found: re.Match[str]) -> bool:
    if found["wallet"]:
        return True
    if found["bucket"]:
        return _ANY_BUCKET.fullmatch(found["bucket"]) is None
    if found["mail"] and _is_example(found["box"].lower(), found["mail"].lower()):
        return False
    if found["host"] and not _may_be_host(found):
        return False
    host = _host(found)
    if not found["mail"] and is_documentation(host):  # people also have mailboxes at such domains
        return False
    return classify_host(host) not in VOUCHED_FOR | {HostClass.PLACEHOLDER}


def _is_example(box: str, domain: str) -> bool:
    """Return whether a mailbox is one of manuals; whoever has a domain could choose that name."""
    domains = _words("box_domains")
    return box in _words("boxes") and not domains.isdisjoint({domain, registered_domain(domain)})


def _may_be_host(found: re.Match[str]) -> bool:
    """Return whether a name without a scheme is a host, and not a file or a name in code."""
    name, last = found["host"], found["last"].lower()
    if name != name.lower() or last not in _words("domains"):
        return False
    if last not in _words("files"):
        return True
    return name.count(".") > 1 and _is_used_as_host(found)


def _is_used_as_host(found: re.Match[str]) -> bool:
    """Return whether a name that code and files may also have is used like a host."""
    before = found.string[max(found.start() - _NEAR, 0) : found.start()]
    is_behind = _HOST_BEHIND.match(found.string, found.end()) is not None
    return is_behind or _TO_HOST.search(before) is not None


def _end(found: re.Match[str]) -> int:
    if found["site"]:
        return found.start("site") + end_of_host(found["site"])
    return found.end()


def _host(found: re.Match[str]) -> str:
    if found["site"]:
        return plain_host(found["site"])
    if found["bucket"]:  # the registered part of a host that is named after it
        return f"{found['bucket'].lower().replace('.', '-')}.bucket"
    return (found["mail"] or found["host"] or found["ip"] or found["wallet"]).lower()


@cache
def _words(kind: str) -> frozenset[str]:
    """Return a list of domain endings, of endings that files also have, or of mailboxes."""
    return frozenset(load_data("hosts.toml")["addresses"][kind].split())
