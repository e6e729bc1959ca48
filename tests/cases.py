"""Many cases of one test, for assertions that take less time than pytest needs for a test.

Each test costs several milliseconds: it is collected by every process, set up, and reported three
times. There are thousands of samples for the scanner, and most are checked in less than that.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, cast

import pytest

Test = Callable[..., Any]
#: How much of a case is shown with its failure.
_SHOWN_CHARACTERS = 300


def all_cases(
    names: str | tuple[str, ...],
    cases: Iterable[Any] | Callable[[], Iterable[Any]],
    *,
    ids: Any = None,
) -> Callable[[Test], Test]:
    """Run a test on all cases and report every case that fails; takes what `parametrize` takes.

    The cases share the fixtures of the test, but each has a `tmp_path` of its own. A function is
    called for the cases when the test runs: what it does is not done by every process.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    if isinstance(cases, FunctionType):  # not callable(): an enum can be called, too
        find = cast("Callable[[], Iterable[Any]]", cases)
    else:
        given = list(cast("Iterable[Any]", cases))
        assert given, "there is no case"
        find = given.copy

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        rest = [value for name, value in signature.parameters.items() if name not in fields]

        @functools.wraps(test)
        def run_all(**fixtures: Any) -> None:
            run = _Run(fields, list(find()), ids)
            for number, arguments in run.each(fixtures):
                with run.failures_kept(number):
                    test(**arguments)
            run.raise_failures()

        @functools.wraps(test)
        async def await_all(**fixtures: Any) -> None:
            run = _Run(fields, list(find()), ids)
            for number, arguments in run.each(fixtures):
                with run.failures_kept(number):
                    await test(**arguments)
            run.raise_failures()

        chosen: Test = await_all if inspect.iscoroutinefunction(test) else run_all
        vars(chosen)["__signature__"] = signature.replace(parameters=rest)
        return chosen

    return decorate


class _Run:
    """One run of a test on all its cases."""

    def __init__(self, fields: Iterable[str], cases: list[Any], ids: Any) -> None:
        self._fields = tuple(fields)
        self._cases = [_values(case, is_single=len(self._fields) == 1) for case in cases]
        assert self._cases, "there is no case"
        self._labels = _labels(self._cases, ids)
        self._failures: list[BaseException] = []
        self._is_over = False

    def each(self, fixtures: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number and the arguments of each case."""
        for number, values in enumerate(self._cases):
            if self._is_over:
                return
            arguments = fixtures | dict(zip(self._fields, values, strict=True))
            if "tmp_path" in fixtures:
                arguments["tmp_path"] = fixtures["tmp_path"] / f"case-{number}"
                arguments["tmp_path"].mkdir()
            yield number, arguments

    @contextmanager
    def failures_kept(self, number: int) -> Iterator[None]:
        try:
            yield
        # A case that is skipped has not been tested, so it is a failure, too.
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 - raised below
            error.add_note(f"case {number}: {self._labels[number]}")
            self._failures.append(error)
            self._is_over = _is_timeout(error)  # nothing would end the next case

    def raise_failures(self) -> None:
        if self._failures:
            failed = f"{len(self._failures)} of {len(self._cases)} cases fail"
            raise BaseExceptionGroup(failed, self._failures)


def _is_timeout(error: BaseException) -> bool:
    return isinstance(error, pytest.fail.Exception) and str(error).startswith("Timeout (>")


def _values(case: Any, *, is_single: bool) -> tuple[Any, ...]:
    if isinstance(case, type(pytest.param())):
        return tuple(case.values)
    return (case,) if is_single else tuple(case)


def _labels(every: list[tuple[Any, ...]], ids: Any) -> list[str]:
    if callable(ids):
        return [", ".join(str(ids(value)) for value in values) for values in every]
    if ids is not None:
        return [str(label) for _, label in zip(every, ids, strict=True)]
    return [repr(values)[:_SHOWN_CHARACTERS] for values in every]
