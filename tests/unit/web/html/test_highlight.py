"""Highlighting of untrusted code: the text is unchanged, and the time is limited."""

from typing import Any

import pytest
from anyio import CapacityLimiter

from vskill_platform.base import killable_process
from vskill_platform.web.html import highlight as module
from vskill_platform.web.html.highlight import (
    CLASSES,
    FAILED,
    MAX_CHARACTERS,
    TOO_BUSY,
    TOO_LONG,
    TOO_SLOW,
    Code,
    Spans,
    find_spans,
    highlight,
    lexer_of_language,
    lexer_of_path,
    paint_lines,
)

SAMPLES = {
    "a.py": "# hello\nx = 'one\\n' + 2\nclass A:\n    pass\n",
    "a.sh": '#!/bin/sh\nset -eu\necho "$HOME" # there\n',
    "a.json": '{"a": [1, true, null]}\r\n',
    "a.yaml": "a:\n  - b: |\n      text\n",
    "a.md": "# Title\n\n**bold** `code`\n\n```python\nx = 1\n```\n",
    "a.html": '<p class="x">&amp;<script>let a = 1</script></p>\n',
    "Dockerfile": "FROM scratch\nRUN echo hi\n",
    "a.ts": "const a: number = `x${1}`;\n\n\n",
}


@pytest.mark.parametrize("path", SAMPLES)
def test_colors_change_no_text(path: str) -> None:
    text = SAMPLES[path]

    (numbers,) = find_spans([(text, lexer_of_path(path))])
    painted = paint_lines(text, Spans(tuple(numbers)))

    assert numbers
    assert "\n".join("".join(piece for _, piece in line) for line in painted) == text


def test_each_piece_has_its_class() -> None:
    (numbers,) = find_spans([("x = 'a'  # b\n", "python")])

    assert paint_lines("x = 'a'  # b\n", Spans(tuple(numbers)))[0] == [
        ("", "x = "), ("s", "'a'"), ("", "  "), ("c", "# b"),
    ]  # fmt: skip


def test_a_token_of_several_lines_has_its_class_in_each() -> None:
    (numbers,) = find_spans([('"""a\nb\n"""\n', "python")])

    painted = paint_lines('"""a\nb\n"""\n', Spans(tuple(numbers)))

    assert [line[0][0] for line in painted[:3]] == ["s", "s", "s"]


@pytest.mark.parametrize(
    "numbers",
    [(5, 100, 0), (0, 3, 0, 1, 1, 1), (99, 1, 2), (0, 2, 9999), (3, 0, 1), (0, 1)],
    ids=["too long", "overlapping", "outside", "no such class", "empty", "cut off"],
)
def test_wrong_spans_give_wrong_colors_and_nothing_else(numbers: tuple[int, ...]) -> None:
    painted = paint_lines("one\ntwo", Spans(numbers))

    assert ["".join(piece for _, piece in line) for line in painted] == ["one", "two"]
    assert {kind for line in painted for kind, _ in line} <= {"", *CLASSES}


@pytest.mark.parametrize(
    ("path", "lexer"),
    [
        ("scripts/run.PY", "python"), ("deep/Makefile", "make"), ("notes.txt", ""), ("noend", ""),
        ("a.py/b", ""),
    ],
)  # fmt: skip
def test_the_lexer_comes_from_the_name_alone(path: str, lexer: str) -> None:
    assert lexer_of_path(path) == lexer


@pytest.mark.parametrize(
    ("info", "lexer"), [("python title=x", "python"), ("sh", "bash"), ("", ""), ("brainf", "")]
)
def test_the_lexer_of_a_code_block_comes_from_its_first_word(info: str, lexer: str) -> None:
    assert lexer_of_language(info) == lexer


def test_every_lexer_that_is_named_exists() -> None:
    names = {*module._BY_EXTENSION.values(), *module._BY_NAME.values(), *module._ALIASES.values()}

    assert len(find_spans([("x = 1\n", name) for name in sorted(names)])) == len(names)


async def test_long_code_is_plain_and_says_so() -> None:
    long, plain = await highlight([Code("a" * (MAX_CHARACTERS + 1), "python"), Code("a", "")])

    assert (long, plain) == (Spans(note=TOO_LONG), Spans())


@pytest.mark.slow
async def test_code_that_takes_too_long_is_plain_says_so_and_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_CPU_SECONDS", 0.001)
    # Several times what the limit, which is rounded up to a whole second, allows.
    codes = [Code(f"x{number} = [1, 2, 3]\n" * 7000, "python") for number in range(9)]

    first = await highlight(codes)
    monkeypatch.setattr(module, "MAX_CPU_SECONDS", 60.0)
    again = await highlight(codes)

    assert first == again == [Spans(note=TOO_SLOW)] * 9


async def test_code_that_met_a_busy_server_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    code = Code("busy = 1\n", "python")

    with monkeypatch.context() as impatient:
        impatient.setattr(killable_process, "MAX_WAIT_SECONDS", 0)
        (refused,) = await highlight([code])
    (again,) = await highlight([code])

    assert refused == Spans(note=TOO_BUSY)
    assert again.numbers


@pytest.mark.slow
async def test_code_is_not_plain_because_another_page_has_it_next_to_slow_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = [Code(f"y{number} = [1, 2, 3]\n" * 7000, "python") for number in range(9)]
    popular = Code("popular = 1\n", "python")
    monkeypatch.setattr(module, "MAX_CPU_SECONDS", 0.001)
    together = await highlight([*slow, popular])
    monkeypatch.setattr(module, "MAX_CPU_SECONDS", 60.0)

    (alone,) = await highlight([popular])

    assert together == [Spans(note=TOO_SLOW)] * 10
    assert alone.numbers


async def test_code_is_plain_only_while_the_server_is_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = Code("later = 1\n", "python")
    with monkeypatch.context() as patch:
        patch.setattr(module, "MAX_WAIT_SECONDS", 0)
        patch.setattr(module, "SLOTS", CapacityLimiter(1))
        module.SLOTS.acquire_on_behalf_of_nowait(object())
        busy = await highlight([code])

    (again,) = await highlight([code])

    assert busy == [Spans(note=TOO_BUSY)]
    assert again.numbers


async def test_slow_code_leaves_the_slots_for_uploads_free(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = CapacityLimiter(1)
    taken.acquire_on_behalf_of_nowait(object())
    monkeypatch.setattr(killable_process, "VISITORS", taken)

    (spans,) = await highlight([Code("apart = 1\n", "python")])

    assert spans.numbers


async def test_code_that_breaks_a_lexer_is_plain_and_the_page_says_so(logs: list[Any]) -> None:
    (spans,) = await highlight([Code("x = 1\n", "no such lexer")])

    assert spans == Spans(note=FAILED)
    assert [line["event"] for line in logs] == ["syntax not highlighted"]
