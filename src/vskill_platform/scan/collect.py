"""What facts are placed by, and which reader understands which language."""

from collections.abc import Callable, Iterable

import msgspec

from vskill_platform.scan.decode import find_encoded
from vskill_platform.scan.facts import Act, Fact, shorten
from vskill_platform.scan.languages.python.read_python import read_python
from vskill_platform.scan.languages.shell.read_shell import read_shell
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.skill_files import Role, ScanFile


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    fact: Fact
    path: str
    role: Role
    #: Counts paragraphs and lines of code, to say how near facts are; 0 where lines do.
    row: int = 0

    @property
    def place(self) -> int:
        return self.row or self.fact.line


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
#: Each piece costs time; a book has fewer.
_MAX_FRAGMENTS = 4_000


def reader_of(language: str) -> Reader | None:
    """Return the reader of what a file or fence says it is written in."""
    return _READERS.get(language)


class Fragments:
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


def encoded_in(text: str, line: int) -> list[Fact]:
    return [
        Fact(
            act=Act.HIDE,
            line=line + text.count("\n", 0, start),
            text=shorten(plain),
            detail="encoded",
        )
        for start, plain in find_encoded(text)
    ]


def place(
    facts: Iterable[Fact], file: ScanFile, role: Role | None = None, *, shift: int = 0
) -> list[Placed]:
    """Say where facts were found; *shift* is how many lines of the file stand before them."""
    if shift:
        facts = [msgspec.structs.replace(fact, line=fact.line + shift) for fact in facts]
    return [
        Placed(fact=fact, path=file.path, role=_lower_role(fact, role or file.role))
        for fact in facts
    ]


def role_of_words(file: ScanFile) -> Role:
    """Return what words inside of code count as: an agent reads them, but does not have to."""
    return Role.REFERENCE if file.role in {Role.INSTRUCTION, Role.SCRIPT} else file.role


def _lower_role(fact: Fact, role: Role) -> Role:
    """Words that are only spoken about count as quoted, wherever they stand."""
    return Role.QUOTED if fact.is_mention and role is not Role.SAMPLE else role
