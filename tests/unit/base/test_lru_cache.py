"""The least recently used values are evicted above a size."""

from vskill_platform.base.lru_cache import LruCache


def a_memory(room: int) -> LruCache[str, str]:
    return LruCache(capacity=room, size_of=len)


def test_a_cached_value_is_found() -> None:
    memory = a_memory(10)

    memory.keep("a", "aaaa")

    assert memory.get("a") == "aaaa"
    assert memory.get("b") is None


def test_the_least_recently_used_value_is_evicted_first() -> None:
    memory = a_memory(10)
    memory.keep("a", "aaaa")
    memory.keep("b", "bbbb")
    memory.get("a")

    memory.keep("c", "cccc")

    assert (memory.get("a"), memory.get("b"), memory.get("c")) == ("aaaa", None, "cccc")


def test_a_value_that_is_too_large_evicts_nothing() -> None:
    memory = a_memory(10)
    memory.keep("a", "aaaa")

    memory.keep("b", "b" * 11)

    assert (memory.get("a"), memory.get("b")) == ("aaaa", None)


def test_keeping_the_same_twice_weighs_once() -> None:
    memory = a_memory(10)
    for _ in range(5):
        memory.keep("a", "aaaa")

    memory.keep("b", "bbbb")

    assert (memory.get("a"), memory.get("b")) == ("aaaa", "bbbb")
