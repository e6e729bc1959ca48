"""Find addresses in instructions that are unrelated to the rest of the skill.

The service of a skill is in its name or description, or it is mentioned repeatedly. An address for
an attack occurs only where it is used.
"""

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act, LocatedFact
from vskill_platform.scan.facts.hosts import HostClass, classify_host
from vskill_platform.scan.facts.registered_domain import registered_domain
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.scan.read.skill_files import ScanFile

#: How often a skill mentions an undeclared address at most.
_FEW = 2
#: Further addresses are not compared and count as undeclared, because a hostile text may name
#: thousands.
_MAX_DOMAINS = 40
_TITLE = re.compile(r"^# .*", re.MULTILINE)
_HEAD = 4_000
#: A host, a mailbox or a file.
_NAME = re.compile(r"\S+\.\S+")
_NOT_LETTER = re.compile(r"[^a-z0-9]+")
#: Shorter names occur inside other words.
_SHORT = 4
_WORD = re.compile(r"[a-z0-9]{4,}")
#: Users do not see comments in the frontmatter, so these declare nothing.
_COMMENT_LINE = re.compile(r"(?m)(?:^|[ \t])#[^\n]*")
#: Domains in which names that manuals use as placeholders are already taken.
_TAKEN = frozenset(
    {"com", "org", "net", "io", "co", "dev", "ai", "app", "example", "test", "local"}
)
#: Domains of companies that let anyone register a name below them.
_RENTED = frozenset({HostClass.FREE, HostClass.DYNAMIC, HostClass.TUNNEL, HostClass.DRIVE})


def undeclared_addresses(files: list[ScanFile], facts: list[LocatedFact]) -> Iterator[LocatedFact]:
    """Yield a fact for each use of an address that the skill does not declare."""
    used: dict[str, list[LocatedFact]] = {}
    for located in facts:
        if located.fact.act is Act.TOLD_ADDRESS and located.fact.host:
            used.setdefault(_owned_domain(located.fact.host), []).append(located)
    if not used:
        return
    texts = [_without_comments(file.text.lower()) for file in files if file.kind is FileType.TEXT]
    head = next((_head(file.text).lower() for file in files if file.path == MANIFEST), "")
    for number, domain in enumerate(used):
        orders = [one for one in used[domain] if _is_in(head, one)]
        is_one_of_many = number >= _MAX_DOMAINS
        if is_one_of_many or not _is_declared(domain, head, texts, orders=len(orders)):
            for located in used[domain]:
                fact = msgspec.structs.replace(located.fact, act=Act.UNDECLARED_ADDRESS)
                yield msgspec.structs.replace(located, fact=fact)


def _without_comments(text: str) -> str:
    *commented, rest = text.split("-->")
    return " ".join((*(part.partition("<!--")[0] for part in commented), rest))


def _owned_domain(host: str) -> str:
    """Return the part of a host that has one owner, because some domains rent out names."""
    return host if classify_host(host) in _RENTED else registered_domain(host)


def _is_in(head: str, located: LocatedFact) -> bool:
    return located.path == MANIFEST and located.fact.line <= head.count("\n") + 1


def _is_declared(domain: str, head: str, texts: list[str], *, orders: int) -> bool:
    """Return whether the name, description or title, or other texts, mention a domain.

    *orders* is the number of sentences in the description that themselves say to use it.
    """
    label, _, suffix = domain.partition(".")
    is_generic = len(label) == 1 or label in _words("generic")
    named = re.compile(rf"(?<![a-z0-9-]){re.escape(domain)}(?![a-z0-9-])")
    if (is_generic and suffix in _TAKEN) or len(named.findall(head)) > orders:
        return True
    said = _NAME.sub(" ", head)
    if {*label.split("-")} & {*_WORD.findall(said)} - _words("common"):
        return True
    beginning = len(label) >= _SHORT and label not in _words("common")
    if beginning and any(word.startswith(label) for word in _WORD.findall(said)):
        return True
    if len(label) > _SHORT and label.replace("-", "") in _NOT_LETTER.sub("", said):
        return True
    return sum(len(named.findall(text)) for text in texts if domain in text) > _FEW


def _head(manifest: str) -> str:
    """Return the parts of a manifest that describe the skill: frontmatter and title."""
    end = max(manifest.find("\n---", 3), 0)
    title = _TITLE.search(manifest, end)
    front = _COMMENT_LINE.sub("", manifest[:end])
    return f"{front}\n{title[0] if title else ''}"[:_HEAD]


@cache
def _words(kind: str) -> frozenset[str]:
    return frozenset(load_data("directed.toml")[kind].split())
