"""Analyse JavaScript and TypeScript code."""

from vskill_platform.scan.facts.facts import Fact
from vskill_platform.scan.languages.any_word import AnyWord

#: Code without any of these words cannot do anything relevant.
_WORDS = AnyWord(
    "require", "fetch", "process.", "import", "http", "axios", "got", "request", "superagent",
    "XMLHttp", "sendBeacon",
    "WebSocket", "eval", "Function", "constructor", "Deno.", "Bun.", "fromCharCode",
    "fromCodePoint", "atob", "Buffer",
    "homedir", ".ssh", ".env", "\\x", "\\u00", "0.0.0.0", ".post(", "_0x", "setTimeout",  # noqa: S104 - looked for
    "setInterval", "globalThis", "![]",
)  # fmt: skip


def read_javascript(code: str, *, typescript: bool = False) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it cannot be parsed completely."""
    if not _WORDS.is_in(code):
        return []
    # Imported here, so that scans without such code need not load its tables.
    from vskill_platform.scan.languages.javascript.language import (  # noqa: PLC0415 - see above
        read_program,
    )

    return read_program(code, is_typed=typescript)
