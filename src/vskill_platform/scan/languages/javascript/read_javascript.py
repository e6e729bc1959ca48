"""What JavaScript and TypeScript code does."""

from vskill_platform.scan.facts.facts import Fact
from vskill_platform.scan.languages.any_word import AnyWord

#: Without any of these words, nothing that we look for can happen.
_WORDS = AnyWord(
    "require", "fetch", "process.", "import", "http", "axios", "got", "request", "superagent",
    "XMLHttp", "sendBeacon",
    "WebSocket", "eval", "Function", "constructor", "Deno.", "Bun.", "fromCharCode",
    "fromCodePoint", "atob", "Buffer",
    "homedir", ".ssh", ".env", "\\x", "\\u00", "0.0.0.0", ".post(", "_0x", "setTimeout",  # noqa: S104 - looked for
    "setInterval", "globalThis", "![]",
)  # fmt: skip


def read_javascript(code: str, *, typescript: bool = False) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it, or part of it, cannot be understood."""
    if not _WORDS.is_in(code):
        return []
    # Whoever scans no such code does not wait for all that is known about it.
    from vskill_platform.scan.languages.javascript.language import (  # noqa: PLC0415 - see above
        read_program,
    )

    return read_program(code, is_typed=typescript)
