"""Secrets that a program reads and addresses that it sends to, where no value links the two."""

import re

import re2

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import VOUCHED_FOR, HostClass, classify_host
from vskill_platform.scan.languages.flow.network import find_hosts
from vskill_platform.scan.languages.flow.state import Flow
from vskill_platform.scan.languages.flow.values import Value

#: The kinds of secrets in rules; see SKR-READ-001.
ALL_VARIABLES, PRINTED_TOKENS = "every variable of the system", "printed tokens"
_DOUBTFUL = frozenset(HostClass) - VOUCHED_FOR - {HostClass.LOCAL, HostClass.PLACEHOLDER}
_ADDRESS = re.compile(
    r"(?:https?|wss?|ftps?|tcp|mqtts?|amqps?|redis|nats|kafka)://[\w.\[\]:-]{4,200}"
)
#: Calls that send their arguments, in any library.
_SENDS = re2.compile(
    rb"\.(?:send\w*|emit|post|put|publish|write|end|upload\w*|request|push|lpush|produce|sadd|set)\("
)


def loose_secrets(flow: Flow) -> list[Fact]:
    """Return that secrets may be sent, unless that is already known."""
    facts = list(flow.facts.values())
    if any(fact.act is Act.LEAK for fact in facts):
        return []
    variables = next((fact.line for fact in facts if fact.act is Act.READ_ALL_ENV), 0)
    line = variables or flow.printed_tokens
    is_known = any(fact.act is Act.READ_SECRET for fact in facts)
    if not line and not is_known:
        return []
    sent = _sent(flow, facts)
    if sent is None:
        return []
    detail = ALL_VARIABLES if variables else PRINTED_TOKENS
    shown = shorten(flow.line_at(line)) if line else ""
    read = Fact(act=Act.READ_SECRET, line=line, text=shown, detail=detail)
    return [*([read] if line else ()), *([sent] if sent not in facts else ())]


def _sent(flow: Flow, facts: list[Fact]) -> Fact | None:
    """Return that something is sent to an untrusted host."""
    known = [fact for fact in facts if fact.act is Act.SEND]
    if known:
        return next((fact for fact in known if fact.host_class in _DOUBTFUL), None)
    if not flow.contacts or not _SENDS.search(flow.code.encode(errors="replace")):
        return None
    for address, line in flow.contacts.items():
        for host in find_hosts(Value(text=address)) if _ADDRESS.match(address) else ():
            kind = classify_host(host)
            if kind in _DOUBTFUL:
                return Fact(
                    act=Act.SEND, line=line, text=shorten(flow.line_at(line)), host=host,
                    host_class=kind, detail="address",
                )  # fmt: skip
    return None
