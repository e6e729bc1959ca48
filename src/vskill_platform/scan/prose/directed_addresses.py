"""Find addresses that a sentence tells its reader to use: to send, fetch, run or connect.

Whether the address is related to the skill is decided for the whole skill, in
collect/undeclared_addresses.py.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import re2

from vskill_platform.scan.facts.addresses import doubtful_addresses
from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.registered_domain import registered_domain
from vskill_platform.scan.prose.inflect import verb_forms
from vskill_platform.scan.prose.negations import is_negated

#: `re` takes a fifth of the time of re2 here.
_SENTENCE_END = re.compile(r"[.!?](?=[\s\"'”’)]|$)|[。！？\n]")  # noqa: RUF001 - these are meant
#: How far from the address the words may be, before and after it.
_BEFORE, _BEHIND = 200, 140
#: This many addresses in one paragraph are a list or a table.
_MANY, _MOST = 3, 400
#: Names that only institutions can register.
_OFFICIAL = (".gov", ".edu", ".mil", ".int", ".gov.uk", ".ac.uk")
#: A query for the agent to fill in.
_FILLED_IN = re.compile(
    r"[^\s?]*\?[^\s<{]{0,80}="
    r"(?:<[^<>\n]{0,80} [^<>\n]{0,80}>|\{[^{}\n]{0,80} [^{}\n]{0,80}\}|…|\.\.\.)"
)
#: The rest of an address.
_PATH = re.compile(r"^[^\s)>\"']*")
_QUOTED = re.compile(r"[\"'][\w.-]{1,40}[\"']\s*[:=]\s*[\"']?(?:https?://)?$")
_LABEL_END = re.compile(r"[(<:>→–—-]\s*(?:https?://|mailto:)?$")  # noqa: RUF001 - these are meant
_LABEL = re.compile(r"(?P<words>[^.!?;]*?)(?:\s*[(<]|:\s*<?|\s[-–—>→]+\s*)(?:https?://|mailto:)?$")  # noqa: RUF001 - these are meant
#: A data file that is only fetched is neither run nor obeyed.
_DATA = re.compile(
    r"(?i)\.(?:csv|tsv|parquet|png|jpe?g|gif|webp|mp[34]|wav|pdf|xlsx|geojson|ttf|woff2?|tiff?|nc"
    r"|jsonl|ndjson|fa|fasta|fastq|gff3?|gtf|vcf|bam|bed|pdb|pbf|osm|shp|gpkg|safetensors|gguf)"
    r"(?:\.(?:gz|bz2|xz|zst))?$"
)
#: The next sentence says to move something to the page, or to obey the file.
_SENT_THERE = re.compile(
    r"(?i)\b(?:go(?:es)?|sen[dt]s?|post\w*|upload\w*|deliver\w*|forward\w*|push\w*|submit\w*"
    r"|put\w*|copy|copied|mirror\w*|hand\w*|belong\w*)\b[^.!?\n]{0,80}\b(?:there"
    r"|to (?:it|them|the (?:hub|desk|site|page|service|server|host|endpoint|address)))\b"
)
_OBEYED = re.compile(
    r"(?i)\b(?:your|as|the) (?:orders|instructions|tasks|rules|commands)\b|\b(?:follow|obey|execute"
    r"|carry out|act on)\b"
)
_NEXT = 160
#: The user visits the address, so nothing is moved.
_VISITED = re.compile(
    r"(?i)\b(?:(?:sign|log)[ -]?(?:in|up)|create an account|visit|(?:go|navigate|head|browse) to)\b"
)
_SIGN_IN = re.compile(r"(?i)\b(?:sign|log|register|enrol)(?:s|ged|ing)?[ -]?(?:in|up|on|into)\b")
#: The word before an address in a sentence; in a table it is any word.
_NAMED = re.compile(
    r"(?:[(<\[\"'“;:]|\b(?:to|at|from|via|with|on|onto|into|in|through|by|of|for|using|over|is|are|be|as|or|and"
    r"|whatever|what|the|our|curl|wget|visit|open|paste|bcc|cc|server|host|endpoint|url|uri|service|site|page|gateway"
    r"|relay|bucket|account|mailbox|webhook|hook|bot|copy|image|picture|script|link|repo|repository|archive|address"
    r"|source|proxy|key|wallet|contact|member|have|hit|call|query|get|use|under|toward|towards|against|inside|known))\s*[(<\[\"'“:]*(?:https?://|wss?://|mailto:|s3://|git\+|https?://www\.)*$",
    re.IGNORECASE,
)
#: Something is moved to the address: "to https://…", "to the desk (https://…". Titles of links are
#: capitalised: "How to Detect Fakes (https://…".
_TOWARD = re.compile(
    r"\b(?:[Tt]o|into|onto|[Vv]ia|through)(?:\s+[a-z][a-z-]*){0,3}\s*[(<\[\"'“]*(?:\w{2,5}:/+)?$"
)
#: The title of a link in front of its address.
_NAME_OF_LINK = re.compile(
    r"(?P<name>[\w.+-]{2,40}(?: [\w.+-]{2,40}){0,2}) [(<](?:https?://)?(?:www\.)?$"
)
#: Emoji in front of a sentence.
_EMOJI = re.compile(r"^(?:[^\w\x00-\x7f]+\s*)+")
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_SHORT_LABEL = 3
_CODE_SIGN = re.compile(r"[={}\[\]$]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MIN_WORDS = 5
_FEW = 3
_LEADS = "then|please|first|next|now|and|or|also|always|you"
_LETTERS = re.compile(r"[^\W\d_]+")


class Directed(NamedTuple):
    """An address, and the words around it that say what to do with it."""

    start: int
    end: int
    host: str
    #: Whether other words of the sentence make it doubtful that this is an order.
    is_doubtful: bool


def find_directed(text: str) -> Iterator[Directed]:
    """Yield the addresses that a text tells its reader to use."""
    for first, line in _hinted(text):
        found = list(islice(doubtful_addresses(line), _MOST))
        for start, stop, host in found:
            before = line[max(start - _BEFORE, 0) : start]
            # Many addresses are a list of references, unless something is moved to one of them.
            is_used = len(found) < _MANY or _TOWARD.search(before)
            if is_used and not _is_familiar(host):
                yield from _directed(text, first + start, first + stop, host)


def _hinted(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start of each line with a sign of an address, and the line."""
    raw = text.encode(errors="replace")  # the engine searches bytes faster
    at = first = end = 0
    while hint := _lexicon().hints.search(raw, end):
        begin = raw.rfind(b"\n", 0, hint.start()) + 1
        end = raw.find(b"\n", hint.end())
        end = len(raw) if end < 0 else end
        first += len(raw[at:begin].decode())
        at = begin
        yield first, raw[begin:end].decode()


def names_used_address(passage: str) -> bool:
    """Return whether a passage names an address other than as a reference."""
    lexicon = _lexicon()
    for start, end, host in doubtful_addresses(passage):
        first, last = _sentence(passage, start, end)
        before = passage[first:start]
        is_page = _VISITED.search(before) or _is_home_page(lexicon, before, host, passage[end:last])
        if not is_page and not _is_reference(lexicon, before):
            return True
    return False


def _is_familiar(host: str) -> bool:
    known = _lexicon().familiar
    return host in known or registered_domain(host) in known or host.endswith(_OFFICIAL)


def _directed(text: str, start: int, end: int, host: str) -> Iterator[Directed]:
    lexicon = _lexicon()
    first, last = _sentence(text, start, end)
    before, behind = text[first:start], text[end:last]
    path = _PATH.match(behind)
    is_data = path is not None and _DATA.search(path[0].rstrip(".,")) is not None
    if _QUOTED.search(before):
        return
    following = text[last : last + _NEXT]
    if (_OBEYED if is_data else _SENT_THERE).search(following):
        yield Directed(first, last, host, is_doubtful=False)
        return
    if (is_data and not _TOWARD.search(before)) or _is_home_page(lexicon, before, host, behind):
        return
    around = _SIGN_IN.sub("", f"{before} {behind[path.end() :] if path else behind}")
    if not _FILLED_IN.match(behind):
        is_told = not _is_reference(lexicon, before) and (
            _is_told(lexicon, before, around)
            or _is_told_in_other_language(lexicon, around)
            or (_is_full(text[start:end]) and _is_no_reading(lexicon, before, around))
        )
        if not is_told:
            return
    yield Directed(first, last, host, lexicon.doubts.search(around) is not None)


def _is_home_page(lexicon: "_Lexicon", before: str, host: str, behind: str) -> bool:
    """Return whether an address is only the home page of something that the sentence names.

    "Works with [Acme](https://acme.dev)": the page has no path, so it is neither a file nor an API.
    If the reader is to get something there, the name proves nothing: anybody can register it.
    """
    named = _NAME_OF_LINK.search(before)
    path = _PATH.match(behind)
    if named is None or (path and path[0].rstrip(".,;:*_)>`/")):
        return False
    label = registered_domain(host).partition(".")[0].replace("-", "")
    name = _NO_LETTER.sub("", named["name"].lower())
    is_its_name = len(label) >= _SHORT_LABEL and (label in name or name.startswith(label))
    return is_its_name and not lexicon.verbs.search(f"{before} {behind}")


def _is_title(words: str) -> bool:
    """Return whether most of several words are capitalised."""
    known = _WORD.findall(words)
    return len(known) > _FEW and sum(map(str.istitle, known)) * 2 > len(known)


def _is_told(lexicon: "_Lexicon", before: str, around: str) -> bool:
    if not _is_named(lexicon, before):
        return False
    return any(not is_negated(around, *verb.span()) for verb in lexicon.verbs.finditer(around))


def _is_told_in_other_language(lexicon: "_Lexicon", around: str) -> bool:
    if not (_is_foreign(around, names=True) or lexicon.small.search(around)):
        return False
    return any(not is_negated(around, *verb.span()) for verb in lexicon.other.finditer(around))


def _is_foreign(words: str, *, names: bool = False) -> bool:
    """Return whether words have letters beyond ASCII, and not only dashes, arrows and emoji.

    The names of people and places in an English text also have such letters.
    """
    if words.isascii():
        return False
    return any(
        not word.isascii() and (names or not word[0].isupper()) for word in _LETTERS.findall(words)
    )


def _is_full(address: str) -> bool:
    """Return whether an address cannot be mistaken for anything else, such as a name in code."""
    return ":/" in address or "@" in address or address.startswith("0x")


def _is_no_reading(lexicon: "_Lexicon", before: str, around: str) -> bool:
    """Return whether a sentence neither says to read a page nor shows what addresses look like."""
    if _CODE_SIGN.search(around) or lexicon.reading.search(around):
        return False
    if _is_foreign(around) or lexicon.small.search(around):
        return True
    return _is_named(lexicon, before) and len(_WORD.findall(around)) >= _MIN_WORDS


def _is_named(lexicon: "_Lexicon", before: str) -> bool:
    if not before.strip() or _NAMED.search(before):
        return True
    return lexicon.last.search(before) is not None


def _is_reference(lexicon: "_Lexicon", before: str) -> bool:
    """Return whether an address belongs to a title or a label: "Docs: …", "Style guide (…"."""
    # A label seldom ends the text; to search for one in any text takes many times as long.
    label = _LABEL.search(before) if _LABEL_END.search(before) else None
    if label is None or _is_foreign(label["words"]):
        return False
    words = _EMOJI.sub("", label["words"].strip())
    if _TOWARD.search(words) and not lexicon.reading.search(words):
        return False
    if " " not in words or _is_title(words):
        return True
    return lexicon.start.match(words) is None and lexicon.passive.search(words) is None


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    before = text[max(start - _BEFORE, 0) : start]
    ends = list(_SENTENCE_END.finditer(before))
    first = start - len(before) + (ends[-1].end() if ends else 0)
    behind = text[end : end + _BEHIND]
    stop = _SENTENCE_END.search(behind)
    return first, end + (stop.start() if stop else len(behind))


class _Lexicon(NamedTuple):
    #: Signs of an address.
    hints: Any
    verbs: Any
    #: Verbs of other languages, and small words that distinguish these from English.
    other: Any
    small: Any
    #: A verb directly before an address.
    last: Any
    #: A verb at the start of a label.
    start: Any
    #: Words for actions on the address.
    passive: Any
    reading: Any
    doubts: Any
    familiar: frozenset[str]


@cache
def _lexicon() -> _Lexicon:
    data = load_data("directed.toml")
    base = data["verbs"].split()
    verbs = "|".join(sorted({form for verb in base for form in verb_forms(verb)}))
    phrases = "|".join(re.escape(" ".join(one.split())) for one in data["phrases"].split(","))
    start = rf"(?i)(?:(?:{_LEADS})\s+)*(?:{'|'.join(base)})\b"
    return _Lexicon(
        hints=re2.compile(data["hints"]),
        verbs=re2.compile(rf"(?i)\b(?:{verbs}|{phrases})\b"),
        other=re2.compile(f"(?i){data['other']}"),
        small=re2.compile(f"(?i){data['small']}"),
        last=re2.compile(rf"(?i)\b(?:{verbs})\s+[(<`\"'\[]*(?:https?://|wss?://)?$"),
        start=re2.compile(start),
        passive=re2.compile(rf"(?i)\b(?:is|are|be|been|gets?)\s+(?:\w+\s+)?(?:{verbs})\b"),
        reading=re2.compile(f"(?i){data['reading']}"),
        doubts=re2.compile(f"(?i){data['doubts']}"),
        familiar=frozenset(data["familiar"].split()),
    )
