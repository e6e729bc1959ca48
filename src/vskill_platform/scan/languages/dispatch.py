"""Choose the parser for a language: the only connection between the language folders.

A shell command runs Python, a Python call runs a shell command, so parsers need each other. They
all use this module. A parser is loaded when it is first needed, because most skills need one or
two.
"""

from collections.abc import Callable
from functools import cache

from vskill_platform.scan.facts.facts import Fact

Reader = Callable[[str], list[Fact]]


def read_shell(code: str) -> list[Fact]:
    return _shell()(code)


def read_python(code: str) -> list[Fact]:
    return _python()(code)


def read_javascript(code: str, *, typescript: bool = False) -> list[Fact]:
    return _javascript()(code, typescript=typescript)


def read_typescript(code: str) -> list[Fact]:
    return read_javascript(code, typescript=True)


def read_powershell(code: str) -> list[Fact]:
    return _powershell()(code)


@cache
def _shell() -> Reader:
    from vskill_platform.scan.languages.shell import read_shell as shell  # noqa: PLC0415 - above

    return shell.read_shell


@cache
def _python() -> Reader:
    from vskill_platform.scan.languages.python import read_python as python  # noqa: PLC0415 - above

    return python.read_python


@cache
def _javascript() -> Callable[..., list[Fact]]:
    from vskill_platform.scan.languages.javascript import (  # noqa: PLC0415 - see above
        read_javascript as javascript,
    )

    return javascript.read_javascript


@cache
def _powershell() -> Reader:
    from vskill_platform.scan.languages.powershell import (  # noqa: PLC0415 - see above
        read_powershell as powershell,
    )

    return powershell.read_powershell


#: Labels of fences and files, by language.
_NAMES: dict[Reader, str] = {
    read_python: "python py python3",
    read_shell: "shell bash sh zsh console shellsession terminal text txt fish"
    " docker dockerfile containerfile earthfile make makefile mk gnumakefile just justfile",
    read_javascript: "javascript js jsx node",
    read_typescript: "typescript ts tsx",
    read_powershell: "powershell ps1 pwsh bat cmd batch",
}
_READERS: dict[str, Reader] = {
    name: reader for reader, names in _NAMES.items() for name in names.split()
} | {"": read_shell}


def reader_of(language: str) -> Reader | None:
    """Return the parser for the declared language of a file or fence."""
    return _READERS.get(language)
