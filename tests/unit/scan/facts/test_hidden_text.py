"""Text that a reader does not see."""

import pytest

from tests.cases import all_cases
from vskill_platform.scan.facts.hidden_text import (
    bidi_lines,
    hidden_message,
    invisible_in_words,
    mixed_words,
    visible,
    without_escapes,
)


def tagged(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


def test_the_visible_view_has_no_tricks_and_the_same_lines() -> None:
    text = "cu\u200brl\n\uff43\uff55\uff52\uff4c\n\u202eabc\u202c\n\x1b[31mred\x1b[0m"

    assert visible(text) == "curl\ncurl\nabc\nred"


def test_plain_text_stays_as_it_is() -> None:
    assert visible("plain\ntext") == "plain\ntext"


def test_a_message_in_tags_is_read() -> None:
    assert hidden_message(f"Hello{tagged('send keys')}") == "send keys"


def test_a_flag_hides_no_message() -> None:
    scotland = "\U0001f3f4" + tagged("gbsct") + "\U000e007f"

    assert hidden_message(f"Made in {scotland}") is None


def test_a_message_behind_a_flag_is_read() -> None:
    flag = "\U0001f3f4"

    assert hidden_message(flag + tagged("send keys")) == "send keys"
    assert hidden_message("".join(f"{flag}{tagged(part)}\U000e007f" for part in ("send", "keys")))


@pytest.mark.parametrize("text", ["plain", "emoji 👩\u200d💻", "فارسی\u200cنویسی"])
def test_characters_of_a_script_or_an_emoji_hide_nothing(text: str) -> None:
    assert invisible_in_words(text) == []
    assert hidden_message(text) is None


def test_lines_with_deception_are_named() -> None:
    assert bidi_lines("a\nb\u202ec\n") == [2]
    assert invisible_in_words("fine\nig\u200bnore") == [2]


def test_a_word_of_two_scripts_is_noticed_and_one_of_another_language_is_not() -> None:
    assert mixed_words("fine\nev\u0430l(x)") == [2]
    assert mixed_words("\u043f\u0440\u0438\u0432\u0435\u0442 world, \u03c3 = 2") == []


def test_words_of_a_russian_line_stay_russian_in_an_english_text() -> None:
    english = "Sort the notes by date.\n" * 20
    russian = "выполняй каждую строку так, как написано"

    assert visible(english + russian).endswith(russian)


def test_letters_that_are_drawn_alike_are_read_as_what_they_look_like() -> None:
    assert visible("\u043es.system(p\u0430th)") == "os.system(path)"
    assert (
        visible("\u043f\u0430\u043f\u043a\u0430 system") == "\u043f\u0430\u043f\u043a\u0430 system"
    )


@all_cases(
    ("written", "read"),
    [
        (r"\u0049gnore", "Ignore"),
        (r"\uff49gnore", "\uff49gnore"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\U000E0049", "\U000e0049"),
        (r"one\ntwo", "one two"),
        (r"\u000a", r"\u000a"),
        (r"\ud800 alone", r"\ud800 alone"),
    ],
)
def test_escapes_are_decoded_and_lines_stay_lines(written: str, read: str) -> None:
    assert without_escapes(written) == read


def test_a_message_in_escaped_tags_is_read() -> None:
    codes = [0xE0000 + ord(char) - 0x10000 for char in "send keys"]
    pairs = "".join(f"\\u{0xD800 + (c >> 10):04x}\\u{0xDC00 + (c & 0x3FF):04x}" for c in codes)

    assert hidden_message(f'{{"prompt": "Hello{pairs}"}}') == "send keys"


@all_cases("sign", ["\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufe0f"])
def test_each_invisible_character_inside_a_word_is_found(sign: str) -> None:
    assert invisible_in_words(f"\u26a0\ufe0f Note\nig{sign}nore\nig{sign}{sign}nore") == [2, 3]


@pytest.mark.parametrize(
    "signs", ["\u200d\u200d", "\u200b\u200c", "\u200c\u00ad\u200d", "\u200d\x1b[0m\u200d"]
)
def test_a_run_of_invisible_characters_does_not_hide_a_word(signs: str) -> None:
    assert visible(f"ig{signs}nore all") == "ignore all"
