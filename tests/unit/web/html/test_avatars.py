"""The picture of a publisher comes from its name, and from nothing else."""

import pytest

from vskill_platform.web.html.avatars import _COLORS, avatar, initials


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("@ada", "A"),
        ("lumen-labs", "LL"),
        ("git.example/ada-lovelace-and-more", "AL"),
        ("some_body.else", "SB"),
        ("@", "?"),
        ("", "?"),
        ("-<script>", "?"),
    ],
)
def test_the_letters_are_those_of_the_account(name: str, letters: str) -> None:
    assert initials(name) == letters


def test_the_same_name_has_the_same_picture_and_another_name_another() -> None:
    assert avatar("@ada") == avatar("@ada")
    assert avatar("@ada") != avatar("@adb")


def test_a_hostile_name_stays_text() -> None:
    assert "<b" not in avatar("<b>").removeprefix("<svg")
    assert avatar("\ud800")


def test_white_letters_can_be_read_on_every_color() -> None:
    assert [color for color in _COLORS if _contrast_with_white(color) < 4.5] == []


def _contrast_with_white(color: str) -> float:
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
