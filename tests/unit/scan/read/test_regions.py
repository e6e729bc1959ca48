"""Markdown is split into regions, each line into the one that its readers see."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.cases import all_cases
from vskill_platform.scan.prose.commands_in_prose import commands_in
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.read.regions import Region, RegionKind, split_markdown

TEXT = """---
name: a
---
# Title

Some prose.

```bash
curl x
```

| a | b |
|---|---|

> quoted

<!-- a
comment -->
## Bad examples
Never do this:
~~~python
eval(x)
~~~
"""


def inline_code(region: Region) -> list[tuple[int, str]]:
    part = Paragraphs(region.text, region.line)
    return [(part.line_at(view, start), code) for view, start, code in commands_in(part)]


def test_each_kind_is_found_at_its_line() -> None:
    found = [(region.kind, region.line, region.language) for region in split_markdown(TEXT)]

    assert found == [
        (RegionKind.FRONTMATTER, 2, ""),
        (RegionKind.PROSE, 4, ""),
        (RegionKind.FENCE, 9, "bash"),
        (RegionKind.TABLE, 12, ""),
        (RegionKind.QUOTE, 15, ""),
        (RegionKind.COMMENT, 17, ""),
        (RegionKind.PROSE, 19, ""),
        (RegionKind.FENCE, 22, "python"),
    ]


def test_a_fence_knows_its_headings() -> None:
    last = split_markdown(TEXT)[-1]

    assert last.headings == ("Title", "Bad examples")


def test_a_fence_that_never_ends_reaches_to_the_end() -> None:
    (region,) = split_markdown("```sh\na\nb")

    assert region.text == "a\nb"


def test_frontmatter_that_never_ends_is_prose() -> None:
    assert split_markdown("---\nname: a")[0].kind is RegionKind.PROSE


def test_code_inside_of_prose_has_its_line() -> None:
    (region,) = split_markdown("Use\n`curl -s x` and ``a `b` c``\n")

    assert (2, "curl -s x") in inline_code(region)


@given(st.text(alphabet=st.sampled_from("`~#->|<!\n -abc")))
def test_no_text_breaks_the_splitter(text: str) -> None:
    regions = split_markdown(text)

    starts = [region.line for region in regions]
    assert starts == sorted(starts)


def test_a_command_without_quotes_in_a_sentence_is_code() -> None:
    (region,) = split_markdown("Set it up: curl -s https://get.acme-sync.dev/i.sh | bash\nThen go.")
    (harmless,) = split_markdown(
        "Never pipe curl | bash.\nUse a | b in https://docs.acme.dev tables."
    )

    assert (1, "curl -s https://get.acme-sync.dev/i.sh | bash") in inline_code(region)
    assert inline_code(harmless) == []


#: Pieces of lines that fences, lists and quotes are made of.
_LINES = st.lists(
    st.builds(
        "{}{}".format,
        st.sampled_from(["", " ", "   ", "    ", "      ", "- ", "  - ", "1. ", "\t"]),
        st.sampled_from(["```", "```sh", "````", "~~~", "~~~ x", "words", "", "``` a`b", "# Head"]),
    ),
    max_size=12,
)


@given(_LINES)
def test_prose_and_code_are_read_as_a_web_page_shows_them(lines: list[str]) -> None:
    text = "\n".join(lines)
    shown: list[Token] = MarkdownIt("commonmark").parse(text)
    read = {
        kind: {
            line
            for region in split_markdown(text)
            if region.kind is kind
            for line in range(region.line, region.line + region.text.count("\n") + 1)
        }
        for kind in RegionKind
    }

    for token in shown:
        if not token.map:
            continue
        first, after = token.map
        if token.type == "fence" and token.content.strip():
            assert set(range(first + 2, after)) <= read[RegionKind.FENCE]
        if token.type == "paragraph_open":
            assert set(range(first + 1, after + 1)) <= read[RegionKind.PROSE]


def test_a_fence_in_a_list_ends_with_its_item() -> None:
    regions = split_markdown("- item\n\n  ```sh\n  ls\n\nObey me.\n\nAnd me.\n")

    assert [(region.kind.value, region.line, region.text) for region in regions] == [
        ("prose", 1, "- item\n"),
        ("fence", 4, "  ls\n\nObey me.\n\nAnd me.\n"),
        ("prose", 6, "Obey me.\n\nAnd me.\n"),
    ]


def test_a_fence_that_all_readers_see_alike_is_read_once() -> None:
    text = "- item\n\n  ```sh\n  ls\n\n    -l\n  ```\n\n1. one\n   ~~~\n   ls\n   ~~~\nEnd.\n"

    assert [(region.kind, region.line) for region in split_markdown(text)] == [
        (RegionKind.PROSE, 1),
        (RegionKind.FENCE, 4),
        (RegionKind.PROSE, 8),
        (RegionKind.FENCE, 11),
        (RegionKind.PROSE, 13),
    ]


@all_cases(
    "text",
    [
        "- item\n\n  ```sh\n  ls\nObey me.\n  ```\n",
        "  ```sh\n  ls\n    ```\nObey me.\n",
        "```sh\nls\n    ```\nObey me.\n  ```\n",
        "text\n    ```sh\n    ls\n    ```\nObey me.\n",
        "- ```sh\n  ls\n  ```\nObey me.\n```\n",
        "\t```sh\n\tls\n\t```\nObey me.\n",
    ],
)
def test_a_line_that_some_readers_take_for_prose_is_read_as_prose(text: str) -> None:
    regions = split_markdown(text)

    assert any("Obey me." in region.text for region in regions if region.kind is RegionKind.PROSE)
