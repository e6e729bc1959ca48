"""All facts of a skill, each with the file it is in and the role it has there."""

import re
from collections.abc import Callable

import msgspec

from vskill_platform.scan.decode import find_encoded
from vskill_platform.scan.facts import Act, Fact, shorten
from vskill_platform.scan.hidden_text import visible
from vskill_platform.scan.languages.python.read_python import read_python
from vskill_platform.scan.languages.shell.read_shell import read_shell
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.magic import FileType
from vskill_platform.scan.masked_hosts import read_masked_hosts
from vskill_platform.scan.prose import ProseReader
from vskill_platform.scan.regions import Region, RegionKind, inline_code, split_markdown
from vskill_platform.scan.skill_files import Role, ScanFile, is_prose, name_of
from vskill_platform.scan.tool_texts import tool_texts


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    fact: Fact
    path: str
    role: Role


Reader = Callable[[str], list[Fact]]


# These two are loaded when they are needed: a scan without them starts faster.
def _read_javascript(code: str) -> list[Fact]:
    return _javascript()(code)


def _read_typescript(code: str) -> list[Fact]:
    return _javascript()(code, typescript=True)


def _javascript() -> Callable[..., list[Fact]]:
    from vskill_platform.scan.languages.javascript import read_javascript  # noqa: PLC0415 - above

    return read_javascript.read_javascript


def _read_powershell(code: str) -> list[Fact]:
    from vskill_platform.scan.languages.powershell import read_powershell  # noqa: PLC0415 - above

    return read_powershell.read_powershell(code)


#: Which reader understands what a fence or a file says it is written in.
_NAMES: dict[Reader, str] = {
    read_python: "python py python3",
    read_shell: "shell bash sh zsh console shellsession terminal text txt dockerfile makefile",
    _read_javascript: "javascript js jsx node",
    _read_typescript: "typescript ts tsx",
    _read_powershell: "powershell ps1 pwsh bat cmd batch",
}
_READERS: dict[str, Reader] = {
    name: reader for reader, names in _NAMES.items() for name in names.split()
} | {"": read_shell}
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


#: How many files are kept in memory in two forms.
_AT_ONCE = 16
#: Each costs time; a book has fewer.
_MAX_FRAGMENTS = 4_000
#: What stands before a command in a recipe.
_RECIPE = re.compile(r"^(?:\t[@+-]*|RUN\s+)", re.MULTILINE)
#: What stands before a value in a line of YAML.
_VALUE = re.compile(r"^\s*(?:-\s+)?(?:[\w.-]+\s*:\s+)?")


def collect_facts(files: list[ScanFile]) -> list[Placed]:
    """Collect what the texts among the files do and say."""
    texts = [file for file in files if file.kind is FileType.TEXT]
    return [
        placed
        for start in range(0, len(texts), _AT_ONCE)
        for placed in _facts_of_some(texts[start : start + _AT_ONCE])
    ]


def _facts_of_some(files: list[ScanFile]) -> list[Placed]:
    # First the words of all, then the code of all: by turns, each drives the other's tables out of
    # the processor's caches, and words take a third longer.
    texts = [_Text(file) for file in files]
    for text in texts:
        text.read_words()
    return [placed for text in texts for placed in text.facts()]


class _Text:
    """A text of a skill, cut into its regions; code is one of them."""

    def __init__(self, file: ScanFile) -> None:
        self._file = file
        self._text = read_masked_hosts(visible(file.text))
        self._prose = ProseReader(self._text)
        self._fragments = _Fragments()
        self._regions: list[Region] = []
        self._told: list[list[Fact]] = []

    def read_words(self) -> None:
        if self._file.language:
            self._told = [self._prose.read_some(self._text, 1, _TOLD_BY_CODE)]
        elif is_prose(self._file.path):
            self._regions = split_markdown(self._text)
            self._told = [self._words(region) for region in self._regions]

    def _words(self, region: Region) -> list[Fact]:
        if region.kind is RegionKind.FENCE and region.language not in _WORDY:
            # There are words inside of code, too: comments, docstrings, strings.
            return self._prose.read_some(region.text, region.line, _TOLD_BY_CODE)
        return self._prose.read(region.text, region.line)

    def facts(self) -> list[Placed]:
        if self._file.language:
            return self._code()
        found: list[Placed] = []
        for region, told in zip(self._regions, self._told, strict=True):
            role = _region_role(self._file.role, region)
            if region.kind is RegionKind.FENCE:
                found += self._fence(region, told, role)
            else:
                found += self._prose_facts(region, told, role)
        return found + _place(self._file, self._fragments.unread(), self._file.role)

    def _code(self) -> list[Placed]:
        file = self._file
        try:
            facts = _READERS[file.language](_recipes(file.path, self._text))
        except Unparsed as error:
            unread = Fact(act=Act.OPAQUE, line=1, text=str(error), detail="unparsed")
            facts = [*error.facts, unread]
        found = _place(file, facts, file.role)
        found += _place(file, self._told[0], Role.QUOTED)
        if file.language == "python":
            found += self._tools(self._text, file.role)
        return found + _place(file, _encoded_in(self._text, 1), file.role)

    def _fence(self, region: Region, told: list[Fact], role: Role) -> list[Placed]:
        file, shift = self._file, region.line - 1
        reader = _READERS.get(region.language)
        facts = self._fragments.read(reader, region.text) if reader else []
        found = _place(file, facts, role, shift=shift)
        if region.language in _WORDY:
            found += _place(file, told, role)
        else:
            found += _place(file, told, Role.QUOTED)
            found += self._tools(region.text, role, shift=shift)
        return found + _place(file, _encoded_in(region.text, region.line), role)

    def _prose_facts(self, region: Region, told: list[Fact], role: Role) -> list[Placed]:
        file = self._file
        found = _place(file, told, role)
        if region.kind is RegionKind.COMMENT and any(fact.act in _ORDERS for fact in told):
            order = next(fact for fact in told if fact.act in _ORDERS)
            hidden = msgspec.structs.replace(order, act=Act.HIDDEN, detail="instruction")
            found += _place(file, [hidden], role)
        if region.kind is RegionKind.FRONTMATTER:
            found += _place(file, _values_in(region, self._fragments), role)
        for line, code in inline_code(region):
            if facts := self._fragments.read(read_shell, code):
                found += _place(file, facts, role, shift=line - 1)
        return found

    def _tools(self, code: str, role: Role, *, shift: int = 0) -> list[Placed]:
        """Read what the code tells an agent about the tools in it."""
        return [
            placed
            for line, text in tool_texts(code)
            for placed in _place(self._file, self._prose.read(text, line), role, shift=shift)
        ]


def _recipes(path: str, text: str) -> str:
    """Return the commands of a Makefile or Dockerfile without what make and docker add to them."""
    is_recipe = name_of(path) in {"makefile", "dockerfile", "justfile"}
    return _RECIPE.sub("", text) if is_recipe else text


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
    """Lower the role of tables and quotes, but not in what an agent obeys as a whole."""
    is_shown = region.kind in {RegionKind.TABLE, RegionKind.QUOTE}
    return Role.QUOTED if is_shown and role is not Role.INSTRUCTION else role


def _place(file: ScanFile, facts: list[Fact], role: Role, *, shift: int = 0) -> list[Placed]:
    if shift:
        facts = [msgspec.structs.replace(fact, line=fact.line + shift) for fact in facts]
    return [Placed(fact=fact, path=file.path, role=role) for fact in facts]
