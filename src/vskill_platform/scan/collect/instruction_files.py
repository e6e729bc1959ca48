"""Find files that the instructions tell the agent to follow, and treat them as instructions."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec
import re2

from vskill_platform.scan.facts.facts import PartRole
from vskill_platform.scan.facts.pattern_set import lines_with, loosened
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.skill_files import ScanFile, is_prose

#: Words that tell the agent to follow a file, not only to consult it.
_ORDER = re.compile(
    r"\b(?:follow|obey|comply with|carry out|"
    r"do (?:all|everything|exactly|what|(?:the|each|every) step)|perform|"
    r"(?:run|execute) (?:each|every|all)|(?:running|executing) (?:each|every|all)|"
    r"work (?:your way )?through|complete|adhere to|"
    r"before anything else|as your (?:instructions|rules|task))\b"
    r"|\b(?:run|execute|repeat|apply|use|do) (?:\w+ ){0,3}(?:commands?|steps|rules|instructions)"
    r" (?:in|from|of) \W{0,3}[\w./-]+\.\w"
    r"|\b(?:run|execute|paste|type|enter|launch|evaluate|decode)\b[^\n.;]{0,60}"
    r"\b(?:commands?|lines?|snippets?|entr(?:y|ies)|values?|strings?|docstrings?|comments?"
    r"|one-liners?|payload|field)\b[^\n;]{0,40} (?:in|from|of|at|inside|within) \W{0,3}[\w./-]+\.\w"
    r"|\.\w{1,12}\W{1,4}(?:and |then )?(?:run|execute|repeat|apply|do|follow|continue)\b"
    r"[^\n.]{0,24}\b(?:commands?|steps|rules|instructions|text|it|them)\b"
    r"|\b(?:rules|instructions|orders|steps to (?:follow|take))\b[^\n.;]{0,16}"
    r"\b(?:are|live|lie|kept|stored|found|written|listed|defined)\b[^\n.;]{0,24}"
    r" (?:in|at|under|inside) [^\n.;]{0,24}[\w./-]+\.\w"
    r"|\.\w{1,12}\W{1,4}(?:read|load|open|decode|unpack)\b[^\n.]{0,30}"
    r"\b(?:follow|obey|apply|do what)\b"
    r"|\b(?:its|the|their) (?:output|stdout|result|message)s?\b[^\n.;]{0,20}"
    r"\b(?:tells?|says?|lists?|contains?|gives?|shows?|explains?|are|is)\b[^\n.;]{0,30}"
    r"\b(?:next|steps|instructions|orders|what to do|your (?:rules|task))\b"
    r"|\b(?:read|study|open|consult)\b[^\n.;]{0,20}[\w./-]+\.(?:py|m?js|ts|sh|rb|pl|php|go|rs)\b"
    r"[^\n.;]{0,30}\b(?:before|first|carefully|comments?|docstrings?)\b"
    r"|遵循|按照|照做|\bsigue\b|\bsiga\b|\bbefolge\b|следуй|выполни|従って|従い",
    re.IGNORECASE,
)  # fmt: skip
#: Matches a superset of that, many times faster, because it counts no characters.
_MAY_ORDER = re2.compile(loosened(f"(?i){_ORDER.pattern}"))
_FILE = re.compile(r"[\w./!-]{1,200}\.\w{1,12}\b")
_DOCUMENT = re2.compile(r"[\w.-]+\.(?:md|mdx|markdown|txt|rst|adoc|org)\b")
#: What every project has and no agent needs for a task.
_FOR_DEVELOPERS = frozenset(
    {"contributing.md", "changelog.md", "code_of_conduct.md", "security.md", "license.md",
     "license.txt", "authors.md", "history.md", "releasing.md"}
)  # fmt: skip
#: Documents and pictures also contain readable text.
_READABLE = frozenset({FileType.TEXT, FileType.DOCUMENT, FileType.MEDIA})
_LOWER = frozenset({PartRole.REFERENCE, PartRole.DOCUMENT, PartRole.SAMPLE})


def mark_instruction_files(files: list[ScanFile]) -> list[ScanFile]:
    """Return the files; those that the agent is told to follow get the role of instructions."""
    by_name: dict[str, list[int]] = {}
    for place, file in enumerate(files):
        if file.kind in _READABLE and (file.role in _LOWER or file.role is PartRole.SCRIPT):
            for name in {_name(file.path), _outer_name(file.path)}:
                by_name.setdefault(name, []).append(place)
    todo = [file for file in files if file.role is PartRole.INSTRUCTION]
    changed = list(files)
    while todo and by_name:
        for name in _ordered(todo.pop().text):
            for place in by_name.pop(name, ()):
                changed[place] = _obeyed(files[place])
                todo.append(changed[place])
    return _with_further_references(changed)


def _with_further_references(files: list[ScanFile]) -> list[ScanFile]:
    """Return the files; a document that a reference names is also a reference."""
    left = {place for place, file in enumerate(files) if file.role is PartRole.DOCUMENT}
    todo = [file.text for file in files if file.role is PartRole.REFERENCE and is_prose(file.path)]
    changed = list(files)
    while todo and left:
        raw = "\n".join(todo).lower().encode(errors="replace")
        named = {found[0].decode(errors="replace") for found in _DOCUMENT.finditer(raw)}
        named -= _FOR_DEVELOPERS
        places = {place for place in left if _name(files[place].path) in named}
        left -= places
        todo = [files[place].text for place in places]
        for place in places:
            changed[place] = msgspec.structs.replace(files[place], role=PartRole.REFERENCE)
    return changed


def _obeyed(file: ScanFile) -> ScanFile:
    """Return a file as an instruction; code stays code, and its words become instructions."""
    if file.language or file.role is PartRole.SCRIPT:
        return msgspec.structs.replace(file, is_obeyed=True)
    return msgspec.structs.replace(file, role=PartRole.INSTRUCTION)


def _ordered(text: str) -> Iterator[str]:
    """Return the files named in lines that tell the agent to follow something."""
    for _, line in lines_with(_MAY_ORDER, text):
        if _ORDER.search(line):
            yield from map(_name, _FILE.findall(line))


def _name(path: str) -> str:
    return PurePosixPath(path.rpartition("!")[2]).name.lower()


def _outer_name(path: str) -> str:
    """Return the name of the archive or document that a file is packed in."""
    return PurePosixPath(path.partition("!")[0]).name.lower()
