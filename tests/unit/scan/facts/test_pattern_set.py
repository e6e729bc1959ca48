"""Many patterns in one pass: nothing is found that is not there, and nothing is missed."""

import random

import pytest
import re2

from tests.cases import all_cases
from vskill_platform.scan.facts import pattern_set
from vskill_platform.scan.facts.pattern_set import LETTER, PatternSet, Precheck, lines_with
from vskill_platform.scan.facts.word_index import _PART_BYTES

PATTERNS = ["(?i)send[^\n]{0,20}keys?", "[0-9a-f]{8,}", "(?i)k\u00f6nig"]


def test_matches_come_pattern_by_pattern_with_their_position() -> None:
    text = "deadbeef, then SEND the key, then 0123456789 and Send keys"

    found = list(PatternSet(PATTERNS).finds(text))

    assert [(place, text[start:end]) for place, start, end in found] == [
        (0, "SEND the key"),
        (0, "Send keys"),
        (1, "deadbeef"),
        (1, "0123456789"),
    ]


def test_places_are_counted_in_characters() -> None:
    text = "\u4f60\u597d \U0001f600 K\u00d6NIG"

    assert list(PatternSet(PATTERNS).finds(text)) == [(2, 5, 10)]


@all_cases(
    ("pattern", "found", "missed"),
    [
        ("send[^\n]{0,5}key", "send my key", "send all my key"),
        ("send[^\n]{1,3}key", "send a key", "sendkey"),
        (r"key\{0,9\}", "key{0,9}", "key"),
        ("key[]{0,9}]+", "key{0,9}", "key*"),
        (r"key[^\]{0,9}]x", "key-x", "key0x"),
        (r"\\{0,1}key", r"\key", "ke"),
        ("[0-9a-f]{8,}", "deadbeef", "dead"),
        (f"key{LETTER}+!", "key\u0447\u0438!", "key\u2014!"),
    ],
)
def test_what_a_quick_search_widens_is_found_exactly(pattern: str, found: str, missed: str) -> None:
    patterns = PatternSet([pattern])

    assert list(patterns.finds(found)) == [(0, 0, len(found))]
    assert list(patterns.finds(missed)) == []


def test_only_the_patterns_that_are_asked_for_are_found() -> None:
    patterns = PatternSet(PATTERNS)
    text = "deadbeef, then send the key"

    assert list(patterns.finds(text, frozenset({1}))) == [(1, 0, 8)]
    assert list(patterns.finds(text, frozenset({2}))) == []
    assert [place for place, _, _ in patterns.finds(text, frozenset({0, 2}))] == [0]


def test_a_lone_surrogate_does_not_stop_the_search() -> None:
    assert PatternSet(["deadbeef"]).finds("\ud83d k\u00f6nig deadbeef") == [(0, 8, 16)]


def test_a_pattern_finds_the_same_alone_as_together_with_the_others() -> None:
    across = r"(?i)one\s+two"
    patterns = PatternSet([*PATTERNS, across, "(?i)drei{1,2}"])
    text = "\n".join(["send one key", "two", "deadbeef", "Drei", "k\u00f6nig", "x" * 90] * 20)

    alone = [found for place in range(5) for found in patterns.finds(text, frozenset({place}))]

    assert {place for place, _, _ in alone} == {0, 1, 2, 4}
    assert alone == patterns.finds(text)


@pytest.mark.parametrize("at_once", [1, 3, 20_000])
def test_texts_searched_together_have_the_same_matches_as_alone(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern_set, "_MAX_TRIES_TOGETHER", at_once)
    patterns = PatternSet([*PATTERNS, r"(?i)one\s+two"])
    long = "\n".join(["send one key", "two", "k\u00f6nig", "x" * 90] * 20)
    texts = ["", "deadbeef", long, "K\u00d6NIG deadbeef", "one\ntwo", "\ud83d deadbeef"]

    together = patterns.finds_in_all(texts)

    assert together == [patterns.finds(text) for text in texts]
    assert patterns.finds_in_all([]) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("key", [(1, "key")]),
        ("\n\nkey key\n\u4f60\nno\nlast \u4f60 key", [(3, "key key"), (6, "last \u4f60 key")]),
        ("key\nkey\n", [(1, "key"), (2, "key")]),
        ("no\nk\ney", [(2, "k")]),
    ],
)
def test_lines_with_a_match_are_listed_once_with_their_number(
    text: str, found: list[tuple[int, str]]
) -> None:
    assert list(lines_with(re2.compile(r"k\s?ey"), text)) == found


def test_a_match_that_begins_with_a_line_end_ends_the_search() -> None:
    assert list(lines_with(re2.compile(r"\skey"), "a\nkey\n\nkey")) == [(1, "a"), (3, "")]


def test_no_patterns_find_nothing() -> None:
    assert list(PatternSet(["x"]).finds("")) == []
    assert list(PatternSet(["x"]).finds("y")) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\.ssh[/\\](?!config\b|known_hosts)", "cat ~/.ssh/id"),
        (r"\.env(?=$|[\s\"'`),;|&>\]}])", "(.env)"),
        (r"(?:login|saved)\.keychain", "saved.keychain"),
        (r"\.claude/[\w/-]*token", "~/.claude/\u00e9/my-token"),
    ],
)
def test_a_pattern_that_looks_ahead_is_possible_where_it_is_found(pattern: str, text: str) -> None:
    check = Precheck(["never", pattern])

    assert check.possible_in(text) == [1]
    assert check.possible_in("nothing of the kind") == []


def test_half_a_character_keeps_no_pattern_from_being_noticed() -> None:
    assert Precheck(["wallet"]).possible_in("\ud83d wallet") == [0]


def test_a_text_full_of_beginnings_hides_nothing() -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefgh", k=12)) for _ in range(300)]
    hay = " ".join(word[: chance.randrange(3, 11)] for word in words * 60)

    assert list(PatternSet(words).finds(hay)) == []
    assert [place for place, _, _ in PatternSet(words).finds(f"{hay} {words[77]}")] == [77]
    assert Precheck(words).possible_in(f"{hay} {words[77]}") == [77]


def test_patterns_of_all_kinds_are_counted_through() -> None:
    patterns = PatternSet(PATTERNS)
    text = "k\u00f6nig, deadbeef, then send the key"

    assert [(place, text[start:end]) for place, start, end in patterns.finds(text)] == [
        (0, "send the key"),
        (1, "deadbeef"),
        (2, "k\u00f6nig"),
    ]


def test_words_are_found_in_a_long_text_wherever_its_pieces_end() -> None:
    filler = "nothing \u00e9 to see here\n"
    patterns = PatternSet([r"(?i)send\b[^\n]{0,20}\bkey", r"one\s+two", r"(?m)^last$"])

    for count in range(60):
        text = f"{filler * count}Send the key\none\ntwo\nsend\nkey\nlast\n{filler * 40}"
        found = [(place, text[start:end]) for place, start, end in patterns.finds(text)]

        assert found == [(0, "Send the key"), (1, "one\ntwo"), (2, "last")]


@all_cases("pattern", [r"a\s*b", "a[^x]*b", r"a\nb", r"a\W+b", r"(?s)a.b", r"a[\s,]b"])
def test_a_pattern_that_matches_the_end_of_a_line_gets_the_whole_text(pattern: str) -> None:
    before = "c" * 399 + "a"

    assert PatternSet([pattern]).finds(f"{before}\nb") == [(0, 399, 402)]


def test_a_long_line_is_searched_in_parts_that_overlap() -> None:
    patterns = PatternSet(["(?i)send the key", "(?i)straße", "open the door"])
    text = "é" + "x" * (_PART_BYTES - 6) + "Send the KEY" + "x" * _PART_BYTES + "STRASSE straße"

    found = [text[start:end] for _, start, end in patterns.finds(text)]

    assert found == ["Send the KEY", "straße"]


def test_a_match_between_two_positions_ends_where_words_and_lines_do() -> None:
    patterns = PatternSet([r"(?m)\bab\b", "(?m)^ab$"])

    assert patterns.find_between(0, "xab é ab", 1, 8) == (6, 8)
    assert patterns.find_between(0, "xab", 1, 3) is None
    assert patterns.find_between(0, "abx", 0, 2) is None
    assert patterns.find_between(1, "a\nab\nx", 1, 4) == (2, 4)
    assert patterns.find_between(1, "aab\nx", 1, 3) is None
