"""Syntax highlighting on the server, of untrusted code.

Some lexers take quadratic time or worse on hostile text, so they run in a few separate processes
with a limit on processor time, and never delay uploads. These processes only return the positions
and kinds of tokens; the text is escaped here. Code that is too long or takes too long is shown
without colors, and the page says so.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise
from posixpath import basename, splitext

import anyio
import msgspec
from markupsafe import Markup
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped] # has no types
from pygments.token import Token, _TokenType  # type: ignore[import-untyped] # has no types

from vskill_platform.base.killable_process import BROKE_DOWN, run_for_visitor
from vskill_platform.base.lru_cache import LruCache
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import Busy

log = get_logger(__name__)

#: Longer code is not highlighted.
MAX_CHARACTERS = 128 * 1024
#: Processor time for all pieces of one page; usual files take a tenth of a second.
MAX_CPU_SECONDS = 2.0
TOO_LONG = f"Files of more than {MAX_CHARACTERS // 1024} KiB are shown without syntax highlighting."
TOO_SLOW = "Highlighting the syntax took too long, so this is shown as plain text."
TOO_BUSY = "The server is busy, so this is shown without syntax highlighting."
FAILED = "The syntax could not be highlighted, so this is shown as plain text."
#: How long a page waits for a free process before it is shown without colors.
MAX_WAIT_SECONDS = 3.0
#: Separate from the slots for uploads and other work of visitors.
SLOTS = anyio.CapacityLimiter(max((os.cpu_count() or 2) // 2, 1))
#: The number of cached spans; each takes a few dozen bytes.
_ROOM_SPANS = 400_000
#: The class of each kind of token; more specific kinds come first.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Token.Comment, "c"),
    (Token.Keyword, "k"),
    (Token.Literal.String, "s"),
    (Token.Literal.Number, "m"),
    (Token.Name.Function, "f"),
    (Token.Name.Class, "f"),
    (Token.Name.Decorator, "f"),
    (Token.Name.Builtin, "b"),
    (Token.Name.Exception, "b"),
    (Token.Name.Tag, "k"),
    (Token.Name.Attribute, "a"),
    (Token.Name.Variable, "v"),
    (Token.Name.Constant, "v"),
    (Token.Name.Label, "v"),
    (Token.Name.Namespace, "v"),
    (Token.Generic.Heading, "k"),
    (Token.Generic.Subheading, "k"),
    (Token.Generic.Strong, "k"),
    (Token.Generic.Emph, "v"),
    (Token.Operator.Word, "k"),
)
CLASSES = tuple(dict.fromkeys(name for _, name in _CLASSES))
#: Lexers by file name extension. That of Markdown uses others for code blocks, in the same process.
_BY_EXTENSION = {
    "bash": "bash", "c": "c", "cfg": "ini", "cjs": "javascript", "cpp": "cpp", "cs": "csharp",
    "css": "css", "diff": "diff", "go": "go", "h": "c", "hpp": "cpp", "htm": "html",
    "html": "html", "ini": "ini", "java": "java", "js": "javascript", "json": "json",
    "jsx": "javascript", "kt": "kotlin", "lua": "lua", "md": "markdown", "mjs": "javascript",
    "php": "php", "pl": "perl", "ps1": "powershell", "py": "python", "rb": "ruby", "rs": "rust",
    "sh": "bash", "sql": "sql", "svg": "xml", "swift": "swift", "toml": "toml",
    "ts": "typescript", "tsx": "typescript", "xml": "xml", "yaml": "yaml", "yml": "yaml",
    "zsh": "bash",
}  # fmt: skip
_BY_NAME = {"dockerfile": "docker", "makefile": "make"}
#: Names after the fence of a code block that are not file extensions.
_ALIASES = {
    "console": "bash", "csharp": "csharp", "dockerfile": "docker", "golang": "go",
    "javascript": "javascript", "kotlin": "kotlin", "makefile": "make", "markdown": "markdown",
    "perl": "perl", "powershell": "powershell", "python": "python", "python3": "python",
    "ruby": "ruby", "rust": "rust", "shell": "bash", "typescript": "typescript",
}  # fmt: skip


class Code(msgspec.Struct, frozen=True):
    text: str
    #: The name of a lexer; empty for text without syntax.
    lexer: str


class Spans(msgspec.Struct, frozen=True):
    """The tokens of a text: start, length and class of each, in one flat list."""

    numbers: tuple[int, ...] = ()
    #: Why spans are missing, as a sentence for the page.
    note: str = ""


_recent: LruCache[bytes, Spans] = LruCache(
    capacity=_ROOM_SPANS, size_of=lambda spans: len(spans.numbers) // 3 + 10
)


def lexer_of_path(path: str) -> str:
    """Return the lexer for a file by its name alone; empty for none."""
    name = basename(path).lower()
    return _BY_NAME.get(name) or _BY_EXTENSION.get(splitext(name)[1].lstrip("."), "")


def lexer_of_language(info: str) -> str:
    """Return the lexer for the words after the fence of a code block."""
    words = info.strip().lower().split()
    name = words[0] if words else ""
    return _ALIASES.get(name) or _BY_EXTENSION.get(name, "")


async def highlight(codes: Sequence[Code]) -> list[Spans]:
    """Return the spans of each text, all from one call of the process."""
    keys = [_key(code) for code in codes]
    found = {key: kept for key in keys if (kept := _recent.get(key))}
    for key, code in zip(keys, codes, strict=True):
        if not code.lexer:
            found[key] = Spans()
        elif len(code.text) > MAX_CHARACTERS:
            found[key] = Spans(note=TOO_LONG)
    missing = {key: code for key, code in zip(keys, codes, strict=True) if key not in found}
    if missing:
        found |= await _highlight_new(missing)
    return [found[key] for key in keys]


async def _highlight_new(codes: dict[bytes, Code]) -> dict[bytes, Spans]:
    # A failure is cached for all texts together, because it is unknown which of them caused it, and
    # another page may contain one of them.
    together = _digest(b"".join(codes))
    failed = _recent.get(together)
    if failed is None:
        answer = await _ask(list(codes.values()))
        if not isinstance(answer, Spans):
            found = dict(zip(codes, answer, strict=True))
            for key, spans in found.items():
                _recent.keep(key, spans)
            return found
        failed = answer
        if failed.note != TOO_BUSY:  # not the fault of the text
            _recent.keep(together, failed)
    return dict.fromkeys(codes, failed)


async def _ask(codes: list[Code]) -> list[Spans] | Spans:
    """Return the spans of each text, or why there are none."""
    asked = [(code.text, code.lexer) for code in codes]
    with anyio.move_on_after(MAX_WAIT_SECONDS) as waiting:
        await SLOTS.acquire()
    if waiting.cancelled_caught:
        return Spans(note=TOO_BUSY)
    try:
        answers = await run_for_visitor(
            find_spans, asked, limiter=anyio.CapacityLimiter(1), cpu_seconds=MAX_CPU_SECONDS
        )
    except BROKE_DOWN:
        return Spans(note=TOO_SLOW)
    except Busy:
        return Spans(note=TOO_BUSY)
    except RuntimeError as error:  # a bug of a lexer
        log.error("syntax not highlighted", lexers=[code.lexer for code in codes], error=str(error))
        return Spans(note=FAILED)
    finally:
        SLOTS.release()
    return [Spans(tuple(numbers)) for numbers in answers]


def find_spans(codes: list[tuple[str, str]]) -> list[list[int]]:
    """Return the spans of each text; runs in the process."""
    return [list(_spans(text, lexer)) for text, lexer in codes]


def _spans(text: str, lexer: str) -> Iterator[int]:
    begin = end = 0
    before: int | None = None
    for start, kind, value in get_lexer_by_name(lexer).get_tokens_unprocessed(text):
        number = _class_number(kind)
        if start < end or not value:  # some lexers go back
            continue
        if start > end or number != before:
            if before is not None:
                yield from (begin, end - begin, before)
            begin, before = start, number
        end = start + len(value)
    if before is not None:
        yield from (begin, end - begin, before)


@cache
def _class_number(kind: _TokenType) -> int | None:
    names = (name for parent, name in _CLASSES if kind in parent)
    name = next(names, None)
    return None if name is None else CLASSES.index(name)


def paint_lines(text: str, spans: Spans) -> list[list[tuple[str, str]]]:
    """Return the pieces of each line: a class, empty for none, and the text.

    The pieces contain exactly the characters of *text*: wrong spans cause wrong colors, nothing
    else.
    """
    lines = text.split("\n")
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    marks = _marks(spans)
    mark = next(marks, None)
    painted = []
    for line, start in zip(lines, starts, strict=False):
        cuts, kinds = [0], [""]
        while mark and mark[0] < start + len(line):
            begin, end = max(mark[0] - start, cuts[-1]), min(mark[1] - start, len(line))
            if end > begin:
                cuts += [begin, end]
                kinds += [CLASSES[mark[2] % len(CLASSES)], ""]
            if mark[1] > start + len(line):
                break  # it continues in the next line
            mark = next(marks, None)
        cuts.append(len(line))
        pieces = zip(pairwise(cuts), kinds, strict=True)
        painted.append([(kind, line[a:b]) for (a, b), kind in pieces if b > a])
    return painted


def _marks(spans: Spans) -> Iterator[tuple[int, int, int]]:
    numbers = iter(spans.numbers)
    for start, length, kind in zip(numbers, numbers, numbers, strict=False):
        yield start, start + length, kind


def markup_of(pieces: Sequence[tuple[str, Markup]]) -> Markup:
    """Return the pieces of a line, which are already escaped, as HTML."""
    span = Markup('<span class="{}">{}</span>')
    return Markup().join(span.format(kind, text) if kind else text for kind, text in pieces)


def _key(code: Code) -> bytes:
    text = code.text.encode(errors="surrogatepass")
    return _digest(code.lexer.encode() + b"\0" + text)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=20).digest()
