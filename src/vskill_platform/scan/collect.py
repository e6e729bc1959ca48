"""All facts of a skill, each with the file it is in and the role it has there."""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

import msgspec

from vskill_platform.scan.decode import find_encoded
from vskill_platform.scan.facts import Act, Fact, shorten
from vskill_platform.scan.hidden_text import visible
from vskill_platform.scan.languages.javascript.read_javascript import read_javascript
from vskill_platform.scan.languages.powershell.read_powershell import read_powershell
from vskill_platform.scan.languages.python.read_python import read_python
from vskill_platform.scan.languages.shell.read_shell import read_shell
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.magic import FileType
from vskill_platform.scan.masked_hosts import read_masked_hosts
from vskill_platform.scan.prose import ProseReader
from vskill_platform.scan.regions import Region, RegionKind, inline_code, split_markdown
from vskill_platform.scan.skill_files import Role, ScanFile, is_prose
from vskill_platform.scan.tool_texts import tool_texts


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    fact: Fact
    path: str
    role: Role


Reader = Callable[[str], list[Fact]]


def _read_typescript(code: str) -> list[Fact]:
    return read_javascript(code, typescript=True)


#: Which reader understands what a fence or a file says it is written in.
_NAMES: dict[Reader, str] = {
    read_python: "python py python3",
    read_shell: "shell bash sh zsh console shellsession terminal text txt dockerfile makefile",
    read_javascript: "javascript js jsx node",
    _read_typescript: "typescript ts tsx",
    read_powershell: "powershell ps1 pwsh bat cmd batch",
}
_READERS: dict[str, Reader] = {
    name: reader for reader, names in _NAMES.items() for name in names.split()
} | {"": read_shell}
#: A line before a fence that says: this is shown, not asked for.
_SHOWN = re.compile(
    r"\b(?:attack|malicious|exploit|payload|vulnerab|insecure|unsafe|dangerous|anti-?pattern|bad|"
    r"wrong|avoid|never|don'?t|do not|detect|indicator|ioc|red flag|threat|adversar|suspicious|"
    r"injection|abuse|example of|sample|what to look|signs? of|blocked|denied|forbidden)|❌|🚫",
    re.IGNORECASE,
)


#: Fences that hold words rather than code.
_WORDY = frozenset(
    {"", "markdown", "md", "text", "txt", "yaml", "yml", "json", "xml", "html", "prompt"}
)
#: What has no place in a comment: nobody but the agent reads it there.
_ORDERS = frozenset(
    {
        Act.TELL_OVERRIDE,
        Act.TELL_CONCEAL,
        Act.TELL_LEAK,
        Act.TELL_REMOTE,
        Act.TELL_SEND,
        Act.TELL_UNASKED,
        Act.TELL_DISARM,
    }
)
#: What words inside of code can tell an agent that reads it; the rest is said by the code itself.
_TOLD_BY_CODE = frozenset(
    {
        Act.TELL_OVERRIDE,
        Act.TELL_CONCEAL,
        Act.TELL_LEAK,
        Act.TELL_AUTHORITY,
        Act.TELL_DISARM,
        Act.TELL_IMAGE,
    }
)


#: Each costs time; a book has fewer.
_MAX_FRAGMENTS = 4_000
#: What stands before a command in a recipe.
_RECIPE = re.compile(r"^(?:\t[@+-]*|RUN\s+)", re.MULTILINE)
#: What stands before a value in a line of YAML.
_VALUE = re.compile(r"^\s*(?:-\s+)?(?:[\w.-]+\s*:\s+)?")


def collect_facts(files: list[ScanFile]) -> list[Placed]:
    return [placed for file in files for placed in facts_of(file)]


def facts_of(file: ScanFile) -> Iterator[Placed]:
    if file.kind is not FileType.TEXT:
        return
    text = read_masked_hosts(visible(file.text))
    if file.language:
        try:
            facts = _READERS[file.language](_recipes(file.path, text))
        except Unparsed as error:
            unread = Fact(act=Act.OPAQUE, line=1, text=str(error), detail="unparsed")
            facts = [*error.facts, unread]
        yield from _place(file, facts, file.role)
        prose = ProseReader(text)
        yield from _place(file, prose.read_some(text, 1, _TOLD_BY_CODE), Role.QUOTED)
        if file.language == "python":
            yield from _tools(file, prose, text, file.role)
        yield from _place(file, _encoded_in(text, 1), file.role)
    elif is_prose(file.path):
        yield from _markdown(file, text)


def _markdown(file: ScanFile, text: str) -> Iterator[Placed]:
    prose = ProseReader(text)
    fragments = _Fragments()
    for region in split_markdown(text):
        role = _region_role(file.role, region)
        if region.kind is RegionKind.FENCE:
            reader = _READERS.get(region.language)
            facts = fragments.read(reader, region.text) if reader else []
            yield from _place(file, facts, role, shift=region.line - 1)
            if region.language in _WORDY:
                yield from _place(file, prose.read(region.text, region.line), role)
            else:  # words inside of code: comments, docstrings, strings
                told = prose.read_some(region.text, region.line, _TOLD_BY_CODE)
                yield from _place(file, told, Role.QUOTED)
                yield from _tools(file, prose, region.text, role, shift=region.line - 1)
            yield from _place(file, _encoded_in(region.text, region.line), role)
            continue
        told = prose.read(region.text, region.line)
        yield from _place(file, told, role)
        if region.kind is RegionKind.COMMENT and any(fact.act in _ORDERS for fact in told):
            order = next(fact for fact in told if fact.act in _ORDERS)
            hidden = msgspec.structs.replace(order, act=Act.HIDDEN, detail="instruction")
            yield from _place(file, [hidden], role)
        if region.kind is RegionKind.FRONTMATTER:
            yield from _place(file, _values_in(region, fragments), role)
        for line, code in inline_code(region):
            yield from _place(file, fragments.read(read_shell, code), role, shift=line - 1)
    yield from _place(file, fragments.unread(), file.role)


def _tools(
    file: ScanFile, prose: ProseReader, code: str, role: Role, *, shift: int = 0
) -> Iterator[Placed]:
    """Read what the code tells an agent about the tools in it."""
    for line, text in tool_texts(code):
        yield from _place(file, prose.read(text, line), role, shift=shift)


def _recipes(path: str, text: str) -> str:
    """Return the commands of a Makefile or Dockerfile without what make and docker add to them."""
    name = PurePosixPath(path).name.lower()
    return _RECIPE.sub("", text) if name in {"makefile", "dockerfile", "justfile"} else text


def _values_in(region: Region, fragments: "_Fragments") -> list[Fact]:
    """Read the values of the frontmatter as commands: some agents run what `install:` says."""
    found = []
    for number, line in enumerate(region.text.split("\n"), start=region.line):
        value = _VALUE.sub("", line).strip().strip("'\"")
        facts = fragments.read(read_shell, value) if " " in value else []
        found += [msgspec.structs.replace(fact, line=number) for fact in facts]
    return found


def _encoded_in(text: str, line: int) -> list[Fact]:
    return [
        Fact(
            act=Act.HIDE,
            line=line + text.count("\n", 0, start),
            text=shorten(plain),
            detail="encoded",
        )
        for start, plain in find_encoded(text)
    ]


class _Fragments:
    """The pieces of code in one text: so many are read, and what was too much is said."""

    def __init__(self) -> None:
        self._left = _MAX_FRAGMENTS
        self._is_cut = False

    def read(self, reader: Reader, code: str) -> list[Fact]:
        """Read a piece; what is no code, whatever its fence says, is none."""
        self._left -= 1
        if self._left < 0:
            self._is_cut = True
            return []
        try:
            return reader(code)
        except Unparsed as error:
            self._is_cut |= error.is_too_much
            return error.facts

    def unread(self) -> list[Fact]:
        text = "more code in a text than can be followed"
        return [Fact(act=Act.OPAQUE, line=1, text=text, detail="unparsed")] if self._is_cut else []


def _region_role(role: Role, region: Region) -> Role:
    """Lower the role of what is shown rather than asked for."""
    if region.kind in {RegionKind.TABLE, RegionKind.QUOTE}:
        return Role.QUOTED
    if role is not Role.INSTRUCTION:
        return role
    is_shown = region.kind is RegionKind.FENCE and _SHOWN.search(region.lead)
    return Role.QUOTED if is_shown else role


def _place(file: ScanFile, facts: list[Fact], role: Role, *, shift: int = 0) -> Iterator[Placed]:
    for fact in facts:
        moved = msgspec.structs.replace(fact, line=fact.line + shift) if shift else fact
        yield Placed(fact=moved, path=file.path, role=role)
