"""What was worked out lately is kept up to a size."""

from vskill_platform.base.lru_cache import LruCache


def a_memory(room: int) -> LruCache[str, str]:
    return LruCache(room=room, weigh=len)


def test_what_was_kept_is_there() -> None:
    memory = a_memory(10)

    memory.keep("a", "aaaa")

    assert memory.get("a") == "aaaa"
    assert memory.get("b") is None


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    memory = a_memory(10)
    memory.keep("a", "aaaa")
    memory.keep("b", "bbbb")
    memory.get("a")

    memory.keep("c", "cccc")

    assert (memory.get("a"), memory.get("b"), memory.get("c")) == ("aaaa", None, "cccc")


def test_what_is_too_large_drives_nothing_out() -> None:
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
