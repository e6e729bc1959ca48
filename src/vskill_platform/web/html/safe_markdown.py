"""Untrusted Markdown as safe HTML.

There are three defenses, each sufficient alone: the parser does not accept HTML, its output is
sanitized with an allow-list, and the content security policy of the page forbids scripts and
foreign content.
"""

import posixpath
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec
import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from vskill_platform.base.show_text import SPELLED_OUT, is_harmless, show
from vskill_platform.web.html.highlight import (
    CLASSES,
    Code,
    Spans,
    lexer_of_language,
    paint_lines,
)

#: Longer documents are shown as source. The specification asks for less than 500 lines.
MAX_CHARACTERS = 128 * 1024
#: A hostile document of that length can take seconds to parse; usual ones take 20 ms.
MAX_SECONDS = 1.0
#: Code blocks beyond this many characters of code have no colors.
HIGHLIGHTED_CHARACTERS = 64 * 1024
#: Prefix of every id in a document, so that it cannot equal an id of the page.
ID_PREFIX = "readme-"
#: Prefix of every URL of this site that a document may link to.
OUR_FILES = "/skills/"
_ELSEWHERE = ("http://", "https://", "mailto:")
#: Keys of the parser's environment; `open` holds the tags of links that are still open.
_DEADLINE, _LINKS, _OPEN, _IDS, _SPANS = "deadline", "links", "open", "ids", "spans"
_TOO_SLOW = "It takes too long to render."
_LINE = re.compile(r"L\d{1,6}")
_NOT_IN_AN_ID = re.compile(r"[^\w\- ]+")
_MAX_ID = 80
_TASKS = {"[ ] ": "☐", "[x] ": "☑"}
_LOWEST_HEADING = 6


class Links(msgspec.Struct, frozen=True):
    """Resolves the links of a document, including those to files of the same skill."""

    #: The folder of the document; "" for the root of the skill.
    folder: str
    paths: frozenset[str]
    #: Converts the path of a file to its URL.
    address: Callable[[str], str]

    def target(self, href: str) -> str | None:
        """Return the URL for a link; None if it is not allowed."""
        if href.startswith("#"):
            return f"#{ID_PREFIX}{_id(unquote(href[1:]))}"
        try:
            parts = urlsplit(href)
        except ValueError:
            return None
        if parts.scheme or parts.netloc:
            # A user name before the host makes a URL look as if it belonged to another host.
            is_page = parts.scheme in {"http", "https"} and parts.netloc and "@" not in parts.netloc
            return href if is_page or parts.scheme == "mailto" else None
        return self._file(parts)

    def _file(self, parts: SplitResult) -> str | None:
        path = posixpath.normpath(posixpath.join(self.folder, unquote(parts.path)))
        if path not in self.paths:
            return None
        line = f"#{parts.fragment}" if _LINE.fullmatch(parts.fragment) else ""
        return self.address(path) + line


class Rendered(msgspec.Struct, frozen=True):
    #: Safe HTML; empty if it was not rendered.
    html: Markup
    #: Why it was not rendered.
    note: str = ""


class _TooLong(Exception):
    pass


class Parsed(msgspec.Struct, frozen=True):
    """A document that was parsed but not rendered."""

    tokens: list[Token]
    #: Why it was not parsed.
    note: str = ""

    @property
    def fences(self) -> list[Code]:
        """The code blocks that can be highlighted, as many as fit into the limit."""
        room, found = HIGHLIGHTED_CHARACTERS, []
        for token in self.tokens:
            lexer = lexer_of_language(token.info) if token.type == "fence" else ""
            if lexer and len(token.content) <= room:
                room -= len(token.content)
                found.append(Code(token.content, lexer))
        return found


def parse_markdown(text: str) -> Parsed:
    """Parse an untrusted document; takes little more than a second in the worst case."""
    if len(text) > MAX_CHARACTERS:
        return Parsed([], f"This document is longer than {MAX_CHARACTERS:,} characters.")
    env = {_DEADLINE: time.thread_time() + MAX_SECONDS}
    try:
        return Parsed(_PARSER.parse(text.removeprefix("\ufeff"), env))
    except (_TooLong, RecursionError):
        return Parsed([], _TOO_SLOW)


def render_parsed(
    parsed: Parsed, links: Links, spans: Mapping[Code, Spans] = MappingProxyType({})
) -> Rendered:
    """Render a parsed document, with colors for the code blocks in *spans*."""
    if parsed.note:
        return Rendered(Markup(), parsed.note)
    env = {_LINKS: links, _OPEN: [], _IDS: Counter(), _SPANS: spans}
    try:
        html = _PARSER.renderer.render(parsed.tokens, _PARSER.options, env)
    except RecursionError:
        return Rendered(Markup(), _TOO_SLOW)
    return Rendered(Markup(_CLEANER.clean(html)))  # noqa: S704 - cleaned by the allow-list


def mark_spelled_out(escaped: str) -> str:
    """Highlight the characters in escaped text that `show` spelled out."""
    return SPELLED_OUT.sub(lambda found: f"<mark>{found[0][1:-1]}</mark>", escaped)


def _id(text: str) -> str:
    words = _NOT_IN_AN_ID.sub("", text.lower()).strip().replace(" ", "-")
    return words[:_MAX_ID]


def _text(text: str) -> str:
    """Spell out control and invisible characters, after entities have been decoded."""
    if not is_harmless(text):
        text = "\n".join(map(show, text.split("\n")))
    return mark_spelled_out(escapeHtml(text))


def _colored(pieces: list[tuple[str, str]]) -> str:
    return "".join(
        f'<span class="{kind}">{_text(text)}</span>' if kind else _text(text)
        for kind, text in pieces
    )


class _Renderer(RendererHTML):
    """Writes only HTML that the allow-list accepts; methods are named after token types."""

    def text(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return _text(tokens[idx].content)

    def code_inline(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return f"<code>{_text(tokens[idx].content)}</code>"

    def code_block(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return f"<pre><code>{_text(tokens[idx].content)}</code></pre>\n"

    def fence(self, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: EnvType) -> str:
        text = tokens[idx].content
        spans = env[_SPANS].get(Code(text, lexer_of_language(tokens[idx].info)))
        if not spans:
            return f"<pre><code>{_text(text)}</code></pre>\n"
        lines = "\n".join(_colored(pieces) for pieces in paint_lines(text, spans))
        return f"<pre><code>{lines}</code></pre>\n"

    def link_open(
        self, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: EnvType
    ) -> str:
        target = env[_LINKS].target(str(tokens[idx].attrGet("href") or ""))
        env[_OPEN].append("a" if target else "span")
        return f'<a href="{escapeHtml(target)}">' if target else "<span>"

    def link_close(self, *rest: Any) -> str:
        env = rest[-1]
        return f"</{env[_OPEN].pop()}>"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render an image as a link with its text; nothing is loaded from other hosts."""
        token = tokens[idx]
        source = str(token.attrGet("src") or "")
        words = self.renderInlineAsText(token.children, options, env).strip()
        shown = f"image: {_text(words or source[:100])}"
        target = env[_LINKS].target(source)
        if target is None or env[_OPEN]:
            return f"<em>{shown}</em>"
        return f'<a href="{escapeHtml(target)}">{shown}</a>'

    def heading_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Open a heading one level lower: level 1 is the title of the page."""
        words = self.renderInlineAsText(tokens[idx + 1].children, options, env)
        name = _unused(_id(words) or "section", env[_IDS])
        return f'<{_lower(tokens[idx])} id="{escapeHtml(name)}">'

    def heading_close(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return f"</{_lower(tokens[idx])}>\n"


def _unused(name: str, taken: Counter[str]) -> str:
    """Add a number to a name that is taken; numbered names also count as taken."""
    chosen = name
    while taken[chosen]:
        chosen = f"{name}-{taken[name]}"
        taken[name] += 1
    taken[chosen] += 1
    return chosen


def _lower(token: Token) -> str:
    return f"h{min(int(token.tag[1:]) + 1, _LOWEST_HEADING)}"


def _watch_lines(state: StateBlock, _start: int, _end: int, _silent: bool) -> bool:
    return _watch(state.env)


def _watch_words(state: StateInline, _silent: bool) -> bool:
    return _watch(state.env)


def _watch(env: EnvType) -> bool:
    """Enforce the deadline: a parser rule that raises after it, and otherwise never matches."""
    if time.thread_time() > env[_DEADLINE]:
        raise _TooLong
    return False


def _build_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    # Also called where a block checks on each line whether another block begins.
    inside: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("table", "watch", _watch_lines, inside)
    parser.inline.ruler.before("text", "watch", _watch_words)
    parser.core.ruler.push("tasks", _mark_tasks)
    return parser


def _mark_tasks(state: StateCore) -> None:
    """Show the boxes of a task list as signs."""
    for before, item in zip(state.tokens, state.tokens[2:], strict=False):
        first = item.children[0] if item.type == "inline" and item.children else None
        if before.type == "list_item_open" and first and first.type == "text":
            sign = _TASKS.get(first.content[:4].lower())
            first.content = f"{sign} {first.content[4:]}" if sign else first.content


def _is_fine(tag: str, name: str, value: str) -> str | None:
    """Accept only URLs that `Links` could have made."""
    if (tag, name) != ("a", "href"):
        return value
    is_ours = value.startswith((OUR_FILES, f"#{ID_PREFIX}"))
    return value if is_ours or value.startswith(_ELSEWHERE) else None


_PARSER = _build_parser()
_HEADINGS = {f"h{number}" for number in range(2, _LOWEST_HEADING + 1)}
_CLEANER = nh3.Cleaner(
    tags={
        "a", "blockquote", "br", "code", "em", "hr", "li", "mark", "ol", "p", "pre", "s", "span",
        "strong", "table", "tbody", "td", "th", "thead", "tr", "ul", *_HEADINGS,
    },
    attributes={"a": {"href"}, "ol": {"start"}, **{tag: {"id"} for tag in _HEADINGS}},
    allowed_classes={"span": set(CLASSES)},
    attribute_filter=_is_fine,
    # Scrollable elements must be reachable with the keyboard; lists may run from right to left.
    set_tag_attribute_values={
        "pre": {"tabindex": "0"}, "table": {"tabindex": "0"},
        "ol": {"dir": "auto"}, "ul": {"dir": "auto"},
    },
    url_schemes={"http", "https", "mailto"},
    link_rel="nofollow noopener ugc",
    id_prefix=ID_PREFIX,
)  # fmt: skip
