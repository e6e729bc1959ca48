"""Find acts that several files of a skill perform only together.

One file reads a secret and another one sends it, or one file sends and another one says when to run
it. Each file looks harmless by itself. If no file does both, the read also counts in the file that
sends, so that rules about a single file match.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from vskill_platform.scan.facts.facts import Act, LocatedFact, PartRole
from vskill_platform.scan.facts.hosts import ANONYMOUS, HostClass, classify_host, hosts_in
from vskill_platform.scan.facts.sensitive_paths import may_name_secrets, secret_in
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.skill_files import ScanFile, suffix_of

_DONE = frozenset({PartRole.SCRIPT, PartRole.INSTRUCTION})
_DOUBTFUL = ANONYMOUS | {HostClass.UNKNOWN, HostClass.FREE, HostClass.PLACEHOLDER}
_UNTRUSTED = ANONYMOUS | {HostClass.FREE}
#: How many standing orders are examined, and how many lines below one may name its script.
_MAX_ORDERS, _REACH = 50, 6
_READS = frozenset({Act.READ_SECRET, Act.READ_ALL_ENV})
_SENDS = frozenset({Act.SEND, Act.TELL_SEND})
_TAKE = re.compile(
    r"\b(?:read|open|take|copy|load|get|collect|note|store|keep|hold|remember|extract|print|cat)\b",
    re.IGNORECASE,
)
#: Files of values that programs read.
_SETTINGS = frozenset(
    {".json", ".jsonc", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".properties"}
)
_STRANGE = _DOUBTFUL - {HostClass.PLACEHOLDER}
_ADDRESS_VALUE = re.compile(r"[\"'=:][ \t]{0,4}[\"'`]?((?:https?|wss?)://[\w.-]{4,200})")
_PATH_VALUE = re.compile(r"[\"'=:\-,\[][ \t]{0,4}[\"']?((?:~|\$HOME|\.)[\w./~$-]{3,100})")
#: Secrets that programs do not need for their own service.
_FOREIGN = ("ssh", "cloud", "browser", "wallet", "password store", "history", "system")


def flows_across_files(
    files: Iterable[ScanFile], facts: Iterable[LocatedFact]
) -> Iterator[LocatedFact]:
    """Yield facts again in the file that completes them."""
    known = [one for one in facts if one.role in _DONE]
    yield from _standing_orders_to_send(files, known)
    yield from _secrets_across_files(known)
    yield from _secrets_and_addresses_apart(files, known)


def _standing_orders_to_send(
    files: Iterable[ScanFile], known: list[LocatedFact]
) -> Iterator[LocatedFact]:
    """Yield the sends of a script again at an instruction to run the script after every task."""
    orders = [one for one in known if one.fact.act is Act.TELL_ALWAYS]
    sends = {one.path: one for one in known if one.role is PartRole.SCRIPT and _is_untrusted(one)}
    if not orders or not sends:
        return
    lines = {file.path: file.text.split("\n") for file in files}
    for order in orders[:_MAX_ORDERS]:
        start = order.fact.line - 1
        told = "\n".join(lines.get(order.path, [])[start : start + _REACH])
        for path, send in sends.items():
            if path != order.path and path.rpartition("/")[2] in told:
                text = f"{path}: {send.fact.text}"
                fact = msgspec.structs.replace(send.fact, line=order.fact.line, text=text)
                yield LocatedFact(fact=fact, path=order.path, role=order.role, row=order.row)


def _is_untrusted(located: LocatedFact) -> bool:
    is_sent = located.fact.act in {Act.SEND, Act.LEAK}
    return is_sent and located.fact.host_class in _UNTRUSTED


def _secrets_across_files(known: list[LocatedFact]) -> Iterator[LocatedFact]:
    """Yield the first secret that is read again for each other file that sends data."""
    yield from _instructions_across_files(known)
    reads = [one for one in known if one.fact.act in _READS and _is_foreign(one)]
    sends = [one for one in known if _is_doubtful(one)]
    if not reads or not sends:
        return
    reading = {one.path for one in reads}
    if any(one.path in reading for one in sends):
        return
    first = reads[0]
    detail = first.fact.detail or "a secret"
    for path in dict.fromkeys(one.path for one in sends):
        send = next(one for one in sends if one.path == path)
        fact = msgspec.structs.replace(
            first.fact,
            act=Act.READ_SECRET,
            line=send.fact.line,
            text=f"{first.path}: {first.fact.text}",
            detail=f"{detail}, in another file",
        )
        yield LocatedFact(fact=fact, path=path, role=send.role, row=send.row)


def _secrets_and_addresses_apart(
    files: Iterable[ScanFile], known: list[LocatedFact]
) -> Iterator[LocatedFact]:
    """Yield a secret again where a script sends to an address from another file."""
    sends = [one for one in known if one.fact.act is Act.SEND and one.fact.host is None]
    if not sends or any(one.fact.act is Act.LEAK for one in known):
        return
    texts = [file for file in files if file.kind is FileType.TEXT and _holds_values(file)]
    if not any(map(_holds_address, texts)):
        return
    for send in sends[:_MAX_ORDERS]:
        reads = [one for one in known if one.fact.act in _READS and _is_foreign(one)]
        kept = next((one for file in texts if (one := _kept_path(file)) is not None), None)
        secret = f"{reads[0].path}: {reads[0].fact.text}" if reads else kept
        if secret:
            fact = msgspec.structs.replace(
                send.fact, act=Act.READ_SECRET, text=secret, detail="a secret, in another file"
            )
            yield LocatedFact(fact=fact, path=send.path, role=send.role, row=send.row)
            return


def _holds_values(file: ScanFile) -> bool:
    return file.role is PartRole.SCRIPT or suffix_of(file.path) in _SETTINGS


def _holds_address(file: ScanFile) -> bool:
    """Return whether a file contains an address of an untrusted host as a value."""
    if "://" not in file.text:
        return False
    found = {one[1] for one in _ADDRESS_VALUE.finditer(file.text)}
    return any(classify_host(host) in _STRANGE for one in found for host in hosts_in(one)[:1])


def _kept_path(file: ScanFile) -> str | None:
    """Return the path of a secret that is a value in a settings file."""
    if suffix_of(file.path) not in _SETTINGS or not may_name_secrets(file.text):
        return None
    for path in dict.fromkeys(found[1] for found in _PATH_VALUE.finditer(file.text)):
        kind = secret_in(path)
        if kind is not None and any(word in kind.lower() for word in (*_FOREIGN, "tokens")):
            return f"{file.path}: {path}"
    return None


def _instructions_across_files(known: list[LocatedFact]) -> Iterator[LocatedFact]:
    """Yield a secret that one instruction file mentions, again where another file sends data."""
    told = [one for one in known if one.role is PartRole.INSTRUCTION]
    sends = [one for one in told if one.fact.act is Act.TELL_SEND and _is_doubtful(one)]
    if not sends:
        return
    named = [one for one in told if one.fact.act is Act.TELL_SECRET and _is_taken(one)]
    sending = {one.path for one in sends}
    first = next((one for one in named if one.path not in sending), None)
    if first and len(sending) == 1 and not any(one.path in sending for one in named):
        send = sends[0]
        text = f"{first.path}: {first.fact.text}"
        fact = msgspec.structs.replace(first.fact, line=send.fact.line, text=text)
        yield LocatedFact(fact=fact, path=send.path, role=send.role, row=send.row)


def _is_taken(located: LocatedFact) -> bool:
    """Return whether a text says to take what it names, and not only where it is stored."""
    kind = secret_in(located.fact.text)
    is_foreign = kind is not None and any(word in kind.lower() for word in _FOREIGN)
    return is_foreign and _TAKE.search(located.fact.text) is not None


def _is_foreign(located: LocatedFact) -> bool:
    if located.fact.act is Act.READ_ALL_ENV:
        return True
    return any(word in located.fact.detail.lower() for word in _FOREIGN)


def _is_doubtful(located: LocatedFact) -> bool:
    return located.fact.act in _SENDS and located.fact.host_class in _DOUBTFUL
