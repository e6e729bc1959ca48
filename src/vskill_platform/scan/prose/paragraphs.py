"""Join Markdown prose into paragraphs as a reader sees them: one line each, without markup.

Words are searched in this view. A sentence that is wrapped, emphasised, quoted, listed, in a table
or in HTML is the same in this view. Every position in the view maps to a line of the file.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import accumulate

#: Stands for a line end inside a paragraph while marks are removed; whitespace for `re`.
_JOINT = "\x1f"
#: "[our desk][1]", and "[1]: https://…" at the end of the page.
_DEFINED = re.compile(r"(?m)^ {0,3}\[([^\]\n]{1,80})\]:[ \t]{0,9}<?(\w{2,8}:[^\s>]{1,500})")
_REFERENCE = re.compile(
    r"\[(?P<words>[^\[\]\n]{1,200})\](?:\[(?P<name>[^\[\]\n]{0,80})\]|(?![\[(:]))"
)
#: Prefixes of a line that are not part of its words.
_PREFIX = re.compile(
    r"(?P<quote>(?:>[ \t]?)*)[ \t]*"
    r"(?P<item>(?:[-*+•‣◦\u2013][ \t]+(?:\[[ xX]\][ \t]+)?|\(?\d{1,3}[.)][ \t]+"
    r"|\(?[a-zA-Z][.)][ \t]+"
    r"|#{1,6}[ \t]+|\[\^[\w-]{1,40}\]:[ \t]*|:[ \t]+)*)"
)
_STARTS = frozenset(">-*+•‣◦\u2013(#[|=:~_0123456789")
_AFTER_LETTER = frozenset(".)")
_TICKS = re.compile("`+")
#: A fence inside a quote.
_QUOTED_FENCE = re.compile(r"[> \t]*(?:```|~~~)[^`]{0,60}$")
_COMMENT_GOES_ON = re.compile(r"\n[ \t]*(?:#+|//+|\*+(?!/)|--|;+|%+|REM\b)[ \t]*(?=\S)")
#: A line that imitates the system always starts a paragraph.
_VOICE_STARTS = frozenset("aAsS")
_VOICE_LINE = re.compile(r"(?:system|admin) ?(?:prompt|message|override|notice)? ?:", re.IGNORECASE)
#: A single link does not split a sentence.
_MANY_LINKS = 2
#: A rule, a heading underline, or the separator between table head and body.
_RULE = re.compile(r"[-=_*~|:+ \t]{2,}$")
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\n|$)")
_COMMENT_IN_WORD = re.compile(r"(?<=\w)<!--[^\n\x1f<>]{0,80}-->(?=\w)")
_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]{0,40})((?:[^\S\n][^<>\n]{0,600})?)/?>")
_VALUE = re.compile(r"=\s*(?:\"([^\"\n]{8,600})\"|'([^'\n]{8,600})')")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});?")
_LINK = re.compile(
    r"\[([^\[\]\n]{0,400})\](?:\([^\S\n]{0,9}<?([^()\s<>]{0,600})>?"
    r"(?:[^\S\n]{1,9}[\"'(]([^\n\"')]{0,300})[\"')])?[^\S\n]{0,9}\)|\[[^\[\]\n]{0,80}\])"
)
_FOOTNOTE = re.compile(r"\[\^[\w-]{1,40}\]")
#: All marks except a single one between letters or digits. A pattern that starts with a letter is
#: faster.
_EDGE = re.compile(r"_(?:_+|(?<![A-Za-z0-9]_)|(?![A-Za-z0-9]))")
#: Emphasis by `_` is next to one of these characters.
_EMPHASIS = re.compile(r"""_(?:[ \n.,):"*\x1f]|(?<=[ \n("*]_))""")
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
#: All whitespace for `re`, except the space itself, line ends and joints.
_ASCII_BLANKS = "\t\r\v\f\x1c\x1d\x1e"
_OTHER_BLANKS = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_BLANKS = re.compile("  +")
#: Tags that imitate the system count as words and stay.
_VOICE = re.compile(
    r"(?i)important|system\w*(?:-\w+)?|admin|secret|hidden|assistant_instructions?|priority"
)
_BREAKS = frozenset(
    {
        "br", "p", "div", "li", "ul", "ol", "td", "th", "tr", "table", "h1", "h2", "h3", "h4",
        "h5", "h6", "hr", "pre", "blockquote", "section", "article", "details", "summary", "dd",
        "dt",
    }
)  # fmt: skip
_INLINE = frozenset(
    {
        "a", "abbr", "b", "bdi", "bdo", "big", "center", "cite", "code", "del", "dfn", "em",
        "font", "i", "img", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp",
        "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr", "html", "body",
        "head", "meta", "title", "style", "script", "template", "noscript", "dl", "nav", "main",
        "footer", "header", "figure", "figcaption", "picture", "source", "svg", "text", "input",
        "button", "form", "textarea", "select", "option", "iframe", "video", "audio", "object",
    }
)  # fmt: skip


class View:
    """The paragraphs of a text, one line each, in one of several renderings."""

    def __init__(self, joined: str) -> None:
        self.text = joined.replace(_JOINT, " ")
        self._joined = joined

    def piece_at(self, position: int) -> int:
        """Return the piece (a line of the file) that contains a position."""
        return bisect_right(self._starts, position) - 1

    def line_end(self, position: int) -> int:
        """Return the end of the line of the file that contains a position."""
        piece = self.piece_at(position) + 1
        return self._starts[piece] - 1 if piece < len(self._starts) else len(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        *pieces, _ = self._joined.replace(_JOINT, "\n").split("\n")
        return [0, *accumulate(map((1).__add__, map(len, pieces)))]


def _with_references(text: str) -> str:
    """Insert the addresses at the end of a page into the links that refer to them."""
    known = {name.lower(): address for name, address in _DEFINED.findall(text)}

    def put_in(link: re.Match[str]) -> str:
        address = known.get((link["name"] or link["words"]).lower())
        return f"[{link['words']}]({address})" if address else link[0]

    return _REFERENCE.sub(put_in, text) if known else text


class Paragraphs:
    """Part of a Markdown text, joined into paragraphs; lines are counted from *first_line*."""

    def __init__(self, text: str, first_line: int, alone: AbstractSet[int] = frozenset()) -> None:
        """Join the lines, except those in *alone*."""
        if not text.isascii():  # strings in code and in settings may contain lone surrogates
            text = text.encode(errors="replace").decode()
        if "]:" in text:
            text = _with_references(text)
        self.text, self.first_line = text, first_line
        self._first_line = first_line
        self._alone = alone
        self._lines = text.replace(_JOINT, " ").split("\n")
        #: The line of each piece of a paragraph, and whether a piece continues a paragraph.
        self._origins: list[int] = []
        self._continued: list[int] = []
        self._joined = self._join()

    def _join(self) -> str:
        pieces: list[str] = []
        is_new, is_code = True, False
        for number, raw in enumerate(self._lines):
            line = raw.strip()
            if not line:
                is_new = True
                continue
            begins = ends = False
            if line[0] in _VOICE_STARTS and _VOICE_LINE.match(line):
                begins = True
            elif line[0] in _STARTS or line[1:2] in _AFTER_LETTER:
                if (line[0] in "-=_*~|:+" and _RULE.match(line)) or (
                    ("```" in line or "~~~" in line) and _QUOTED_FENCE.match(line)
                ):
                    is_new = True
                    continue
                begins, ends, line = _without_prefix(line, is_code=is_code and not is_new)
            begins = begins or (bool(self._alone) and self._first_line + number in self._alone)
            if pieces and not (is_new or begins):
                pieces.append(_JOINT)
                self._continued.append(number)
            else:
                is_code = False
                if pieces:
                    pieces.append("\n")
            if "`" in line:  # whether the paragraph so far ends inside a code span
                is_code ^= (len(_TICKS.findall(line)) if "``" in line else line.count("`")) % 2 == 1
            pieces.append(line)
            self._origins.append(number)
            is_new = ends
        return "".join(pieces)

    @cached_property
    def marked(self) -> View:
        """With markup: code, links and images can be read."""
        return View(self._joined)

    @cached_property
    def decoded(self) -> View:
        """With marks and decoded entities, because a tag can be written with entities."""
        return View(_COMMENT_IN_WORD.sub("", _decoded(self._joined)))

    @cached_property
    def shown(self) -> View:
        """The rendered text, but with code marks."""
        return View(self._untagged)

    @cached_property
    def plain(self) -> View:
        """Only words, with each link followed by its URL."""
        return View(_without_marks(self._untagged, has_links=True))

    @cached_property
    def _untagged(self) -> str:
        return _without_tags(self._joined)

    @cached_property
    def unlinked(self) -> View | None:
        """Only words, without URLs, for paragraphs in which links could split a sentence.

        Paragraphs without links are empty, because they are the same in the plain view.
        """
        if self._joined.count("](") < _MANY_LINKS:
            return None
        linked = "\n".join(
            paragraph if "](" in paragraph else _JOINT * paragraph.count(_JOINT)
            for paragraph in self._joined.split("\n")
        )
        return View(_without_marks(_without_tags(linked), has_links=False))

    @cached_property
    def comments(self) -> list[tuple[int, str]]:
        """Text in HTML comments between the words, with its line."""
        if "<!--" not in self._joined:
            return []
        view = self.marked
        return [
            (self.line_at(view, found.start()), found[1]) for found in _COMMENT.finditer(view.text)
        ]

    def blocks(self) -> Iterator[tuple[int, str]]:
        """Yield the start of each paragraph in the marked view, and its unchanged lines."""
        start = 0
        for paragraph in self._joined.split("\n"):
            yield start, paragraph.replace(_JOINT, "\n")
            start += len(paragraph) + 1

    def continued_lines(self) -> list[int]:
        """Return the lines of the file that continue a paragraph."""
        return [self._first_line + number for number in self._continued]

    def line_at(self, view: View, position: int) -> int:
        """Return the line of the file at a position of a view."""
        return self._first_line + self._origin(view, position)

    def lines_between(self, view: View, start: int, end: int) -> str:
        """Return the lines of the file that part of a view comes from."""
        first, last = self._origin(view, start), self._origin(view, max(end - 1, start))
        return "\n".join(self._lines[first : last + 1])

    def _origin(self, view: View, position: int) -> int:
        return self._origins[min(view.piece_at(position), len(self._origins) - 1)]


class CodeWords:
    """The words inside code; a comment that continues on the next line is joined."""

    def __init__(self, text: str, first_line: int) -> None:
        self._first_line = first_line
        self._text = text
        self.view = View(_COMMENT_GOES_ON.sub(_JOINT, text.replace(_JOINT, " ")))

    def line_at(self, view: View, position: int) -> int:
        """Return the line of the file at a position of a view."""
        return self._first_line + view.piece_at(position)

    def lines_between(self, view: View, start: int, end: int) -> str:
        """Return the lines of the file that part of a view comes from."""
        first, last = view.piece_at(start), view.piece_at(max(end - 1, start))
        return "\n".join(self._lines[first : last + 1])

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.split("\n")


def _without_prefix(line: str, *, is_code: bool) -> tuple[bool, bool, str]:
    """Return whether a line starts a paragraph, whether it ends one, and its words."""
    found = _PREFIX.match(line) if line[0] != "|" else None
    item = found["item"] if found else ""
    rest = line[found.end() :] if found else line
    if is_code and rest.startswith("|") and not rest.endswith("|"):
        return False, False, rest  # a pipe of the command, not a table
    if rest.startswith("|"):
        return True, False, rest.strip("| \t").replace("\\|", "|")
    return bool(item), "#" in item, rest


def _without_tags(text: str) -> str:
    if "&" in text:
        text = _TAG.sub(_tag, text) if "<" in text else text  # a value may contain escaped quotes
        text = _decoded(text)
    if "<" in text:
        text = _COMMENT.sub(_comment, text) if "<!--" in text else text
        text = _TAG.sub(_tag, text)
    return text


def _without_marks(text: str, *, has_links: bool) -> str:
    if "[" in text:
        text = _LINK.sub(_link if has_links else _link_text, text)
        text = _FOOTNOTE.sub("", text) if "[^" in text else text
    if "\\" in text:
        text = _ESCAPE.sub("", text)
    if "_" in text and (text[0] == "_" or _EMPHASIS.search(text)):
        text = _EDGE.sub("", text)
    for mark in ("*", "`", "~~", "=="):
        text = text.replace(mark, "")
    text = text.replace("|", " ")
    for blank in _ASCII_BLANKS if text.isascii() else _ASCII_BLANKS + _OTHER_BLANKS:
        text = text.replace(blank, " ")
    return _BLANKS.sub(" ", text) if "  " in text else text


def _decoded(text: str) -> str:
    for _ in range(2):  # some readers decode doubly encoded text twice
        text = _ENTITY.sub(lambda found: _on_a_line(html.unescape(found[0])), text)
    return text


def _on_a_line(text: str) -> str:
    return " " if text.isspace() else text


def _comment(found: re.Match[str]) -> str:
    """Remove a comment that splits a word; elsewhere an agent reads it."""
    if found[0].endswith("\n"):  # not closed in its paragraph
        return f" {found[1]} \n"
    text, before, after = found.string, found.start() - 1, found.end()
    is_inside = (
        before >= 0 and after < len(text) and text[before].isalpha() and text[after].isalpha()
    )
    return _JOINT * found[0].count(_JOINT) if is_inside else f" {found[1]} "


def _tag(found: re.Match[str]) -> str:
    name = found[2].lower()
    joints = _JOINT * found[0].count(_JOINT)
    if name.startswith("http") or _VOICE.fullmatch(name):
        return found[0]
    if name in _BREAKS or name in _INLINE:
        values = " ".join(one or other for one, other in _VALUE.findall(found[3]))
        is_said = " " in values or "://" in values
        blank = " " if name in _BREAKS or is_said else ""
        return f"{blank}{values.replace(_JOINT, ' ') if is_said else ''}{blank}{joints}"
    text, before, after = found.string, found.start() - 1, found.end()
    if before >= 0 and after < len(text) and text[before].isalpha() and text[after].isalpha():
        return joints
    return found[0]  # a placeholder: its words may matter


def _link(found: re.Match[str]) -> str:
    address = found[2] or ""
    shown = f" ({address})" if "://" in address else ""
    return _link_text(found) + shown


def _link_text(found: re.Match[str]) -> str:
    title = found[3] or ""
    inside = found[1] + (f" {title.replace(_JOINT, ' ')}" if title else "")
    return inside + _JOINT * (found[0].count(_JOINT) - found[1].count(_JOINT))
