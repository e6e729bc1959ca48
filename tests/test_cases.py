"""A test of many cases reports every case that fails."""

from pathlib import Path

import anyio.lowlevel
import pytest

from tests.cases import all_cases


def test_every_case_that_fails_is_reported() -> None:
    ran = []

    @all_cases(("number", "limit"), [(1, 2), (3, 2), (2, 2), (9, 4)], ids=["a", "b", "c", "d"])
    def test(number: int, limit: int) -> None:
        ran.append(number)
        assert number <= limit

    with pytest.raises(BaseExceptionGroup) as failed:
        test()

    assert ran == [1, 3, 2, 9]
    assert "2 of 4" in str(failed.value)
    assert [error.__notes__ for error in failed.value.exceptions] == [["case 1: b"], ["case 3: d"]]


async def test_the_cases_of_an_asynchronous_test_are_awaited() -> None:
    ran = []

    @all_cases("number", [1, 2, 3])
    async def test(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        ran.append(number)
        assert number != 2

    with pytest.raises(BaseExceptionGroup, match="1 of 3"):
        await test()

    assert ran == [1, 2, 3]


def test_a_case_that_is_skipped_is_a_failure() -> None:
    @all_cases("name", ["a", pytest.param("b", id="second")])
    def test(name: str) -> None:
        if name == "b":
            pytest.skip("not here")

    with pytest.raises(BaseExceptionGroup, match="1 of 2"):
        test()


def test_cases_can_be_found_when_the_test_runs() -> None:
    asked = []
    ran = []

    def cases() -> list[str]:
        asked.append("once")
        return ["a", "b"]

    @all_cases("name", cases)
    def test(name: str) -> None:
        ran.append(name)

    assert asked == []
    test()
    assert (asked, ran) == (["once"], ["a", "b"])


def test_a_function_that_finds_no_cases_is_a_failure() -> None:
    def cases() -> list[str]:
        return []

    @all_cases("name", cases)
    def test(name: str) -> None:
        pass

    with pytest.raises(AssertionError, match="there is no case"):
        test()


def test_nothing_runs_after_the_timeout_of_the_test() -> None:
    ran = []

    @all_cases("number", [1, 2, 3])
    def test(number: int) -> None:
        ran.append(number)
        if number == 2:
            pytest.fail("Timeout (>60.0s) from pytest-timeout.")

    with pytest.raises(BaseExceptionGroup, match="1 of 3"):
        test()

    assert ran == [1, 2]


def test_lists_of_cases_are_combined_and_each_has_its_own_folder(tmp_path: Path) -> None:
    seen = []

    @all_cases("first", "ab")
    @all_cases("second", [1, 2])
    def test(first: str, second: int, tmp_path: Path) -> None:
        (tmp_path / "file").touch(exist_ok=False)
        seen.append((first, second))

    test(tmp_path=tmp_path)

    assert seen == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_list_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="no case"):
        all_cases("name", [])
