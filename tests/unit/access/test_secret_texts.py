"""Tokens show their kind, and a misspelt one is detected without reading the database."""

import re

import pytest

from vskill_platform.access.secret_texts import digest_of, is_token_text, new_secret, new_token_text


def test_a_token_is_a_prefix_and_forty_letters() -> None:
    assert re.fullmatch(r"vsk_[0-9A-Za-z]{40}", new_token_text())


def test_no_two_are_the_same() -> None:
    assert len({new_token_text() for _ in range(200)} | {new_secret() for _ in range(200)}) == 400


def test_every_single_changed_letter_is_noticed() -> None:
    token = new_token_text()

    assert is_token_text(token)
    for place in range(4, len(token)):
        other = "x" if token[place] != "x" else "y"
        assert not is_token_text(token[:place] + other + token[place + 1 :])


@pytest.mark.parametrize("text", ["", "vsk_", "abc", "vsk_" + "é" * 40, "ghp_" + "a" * 40])
def test_other_texts_are_not_mistaken_for_tokens(text: str) -> None:
    assert not is_token_text(text)


def test_the_digest_is_not_the_secret() -> None:
    assert digest_of("a") != digest_of("b")
    assert "secret" not in digest_of("secret")
