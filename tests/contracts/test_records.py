"""Records: reads return what was written, and an expectation guards every write."""

from datetime import timedelta

import pytest

from tests.clocks import NOON
from tests.contracts.asking import list_all, revision_of, value_of
from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Put, Send
from vskill_platform.engines.ports import MAX_VALUE_BYTES, Engine
from vskill_platform.errors import InvalidInput


async def test_a_key_that_was_never_written_has_no_record(engine: Engine) -> None:
    assert await engine.kv.get("sub:1") is None


@pytest.mark.parametrize("value", [b"", b"\x00", bytes(range(256)), "grün".encode()])
async def test_a_record_is_read_as_it_was_written(engine: Engine, value: bytes) -> None:
    await engine.commit([Put("sub:1", value)])

    assert await value_of(engine, "sub:1") == value


async def test_a_record_carries_the_revision_of_the_commit_that_wrote_it(engine: Engine) -> None:
    first = await engine.commit([Put("sub:1", b"one")])
    await engine.commit([Put("sub:2", b"two")])

    assert await revision_of(engine, "sub:1") == first


async def test_each_write_of_a_record_raises_its_revision(engine: Engine) -> None:
    first = await engine.commit([Put("sub:1", b"one")])
    second = await engine.commit([Put("sub:1", b"two")])

    assert first is not None
    assert second is not None
    assert second > first
    assert await revision_of(engine, "sub:1") == second
    assert await value_of(engine, "sub:1") == b"two"


async def test_a_put_with_the_right_expectation_is_applied(engine: Engine) -> None:
    seen = await engine.commit([Put("sub:1", b"one")])

    assert await engine.commit([Put("sub:1", b"two", expected=seen)])
    assert await value_of(engine, "sub:1") == b"two"


async def test_a_put_that_expects_an_older_record_is_refused(engine: Engine) -> None:
    seen = await engine.commit([Put("sub:1", b"one")])
    await engine.commit([Put("sub:1", b"two")])

    assert await engine.commit([Put("sub:1", b"three", expected=seen)]) is None
    assert await value_of(engine, "sub:1") == b"two"


async def test_a_put_that_expects_no_record_creates_it_once(engine: Engine) -> None:
    created = await engine.commit([Put("sub:1", b"mine", expected=ABSENT)])

    assert created is not None
    assert await engine.commit([Put("sub:1", b"yours", expected=ABSENT)]) is None
    assert await value_of(engine, "sub:1") == b"mine"


async def test_a_put_that_expects_a_record_where_there_is_none_is_refused(engine: Engine) -> None:
    assert await engine.commit([Put("sub:1", b"one", expected=1)]) is None
    assert await engine.kv.get("sub:1") is None


async def test_a_deleted_record_is_gone(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"one"), Put("sub:2", b"two")])

    assert await engine.commit([Delete("sub:1")])
    assert await engine.kv.get("sub:1") is None
    assert await list_all(engine) == ["sub:2"]


async def test_deleting_what_is_not_there_is_no_failure(engine: Engine) -> None:
    assert await engine.commit([Delete("sub:1")])
    assert await engine.commit([Delete("sub:1", expected=ABSENT)])


async def test_a_delete_with_a_wrong_expectation_is_refused(engine: Engine) -> None:
    seen = await engine.commit([Put("sub:1", b"one")])
    await engine.commit([Put("sub:1", b"two")])

    assert await engine.commit([Delete("sub:1", expected=seen)]) is None
    assert await engine.commit([Delete("sub:1", expected=ABSENT)]) is None
    assert await value_of(engine, "sub:1") == b"two"


async def test_a_delete_with_the_right_expectation_is_applied(engine: Engine) -> None:
    seen = await engine.commit([Put("sub:1", b"one")])

    assert await engine.commit([Delete("sub:1", expected=seen)])
    assert await engine.kv.get("sub:1") is None


async def test_a_record_that_was_deleted_counts_as_absent_and_comes_back_newer(
    engine: Engine,
) -> None:
    first = await engine.commit([Put("sub:1", b"one")])
    await engine.commit([Delete("sub:1")])

    again = await engine.commit([Put("sub:1", b"again", expected=ABSENT)])

    assert first is not None
    assert again is not None
    assert again > first
    assert await revision_of(engine, "sub:1") == again


async def test_a_later_operation_sees_what_an_earlier_one_of_its_commit_did(engine: Engine) -> None:
    twice = [Put("sub:1", b"one", expected=ABSENT), Put("sub:1", b"two", expected=ABSENT)]

    assert await engine.commit(twice) is None
    assert await engine.commit([twice[0], Delete("sub:1"), twice[1]])
    assert await value_of(engine, "sub:1") == b"two"


async def test_a_put_replaces_due_and_expiry_too(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"one", due=NEVER, expires_at=NOON + timedelta(0))])

    await engine.commit([Put("sub:1", b"two")])

    assert await value_of(engine, "sub:1") == b"two"
    assert await list_all(engine, due_before=NOON) == ["sub:1"]


@pytest.mark.slow
async def test_a_value_may_be_as_large_as_the_limit(engine: Engine) -> None:
    largest = bytes(MAX_VALUE_BYTES)

    await engine.commit([Put("blob:1", largest), Send(largest)])

    assert await value_of(engine, "blob:1") == largest
    assert (await engine.queue.stats()).ready == 1


@pytest.mark.parametrize(
    "operation",
    [Put("blob:1", bytes(MAX_VALUE_BYTES + 1)), Send(bytes(MAX_VALUE_BYTES + 1))],
    ids=["put", "send"],
)
async def test_a_value_over_the_limit_is_refused_and_nothing_is_written(
    engine: Engine, operation: Put | Send
) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await engine.commit([Put("sub:1", b"beside it"), operation])

    assert await list_all(engine) == []
    assert (await engine.queue.stats()).ready == 0


@pytest.mark.parametrize("key", ["", "half \ud800 a pair", "nul \0 inside", "k" * 1025, "é" * 513])
async def test_a_key_that_cannot_be_one_is_refused_and_nothing_is_written(
    engine: Engine, key: str
) -> None:
    for operation in (Put(key, b""), Delete(key), Send(b"", key=key)):
        with pytest.raises(InvalidInput, match="key"):
            await engine.commit([Put("sub:1", b"beside it"), operation])

    assert await list_all(engine) == []
    assert (await engine.queue.stats()).ready == 0


async def test_a_key_may_be_as_long_as_the_limit(engine: Engine) -> None:
    longest = "é" * 512

    await engine.commit([Put(longest, b"")])

    assert await list_all(engine, longest) == [longest]
