"""How versions are numbered."""

import pytest

from vskill_platform.model.skill import next_version


@pytest.mark.parametrize(
    ("latest", "wished", "expected"),
    [
        (None, None, "1.0.0"),
        (None, "0.3.0", "0.3.0"),
        (None, "v2", "1.0.0"),
        ("1.0.0", None, "1.0.1"),
        ("1.0.9", "1.1.0", "1.1.0"),
        ("1.2.0", "1.2.0", "1.2.1"),
        ("1.2.0", "1.1.9", "1.2.1"),
        ("1.9.0", "1.10.0", "1.10.0"),
        ("1.0.0", "01.0.1", "1.0.1"),
        ("1.0.0", "99999999999999999999.0.0", "1.0.1"),
    ],
)
def test_a_wish_counts_if_it_is_a_step_forward(
    latest: str | None, wished: str | None, expected: str
) -> None:
    assert next_version(latest, wished) == expected
