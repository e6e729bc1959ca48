"""A prefix is a range: it contains exactly the keys that start with it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vskill_platform.engines.cursors import end_of_prefix
from vskill_platform.engines.sqlite.kv import after_key

AT_THE_EDGES = st.sampled_from(
    ["\0", "a", "\ud7ff", "\ue000", "\uffff", "\U0010fffe", "\U0010ffff"]
)
texts = st.text(AT_THE_EDGES | st.characters(exclude_categories=["Cs"]), max_size=4)


@pytest.mark.slow
@given(prefix=texts, rest=texts, other=texts)
@example(prefix="\ud7ff", rest="", other="\ue000")
@example(prefix="\U0010ffff", rest="\U0010ffff", other="")
def test_exactly_the_keys_with_a_prefix_lie_in_its_range(
    prefix: str, rest: str, other: str
) -> None:
    end = end_of_prefix(prefix)

    for key in (prefix + rest, other):
        is_in_range = prefix <= key and (end is None or key < end)
        assert is_in_range == key.startswith(prefix)


@given(prefix=texts)
def test_the_end_of_a_range_can_be_stored(prefix: str) -> None:
    (end_of_prefix(prefix) or "").encode()


@given(key=texts, other=texts)
def test_no_key_sorts_between_a_key_and_its_successor(key: str, other: str) -> None:
    assert key < after_key(key)
    assert not key < other < after_key(key)


@given(keys=st.lists(texts))
def test_the_order_of_code_points_is_the_order_of_the_bytes(keys: list[str]) -> None:
    assert sorted(keys) == [key.decode() for key in sorted(key.encode() for key in keys)]
