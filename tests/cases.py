"""Many cases of one test, for assertions that take less time than pytest needs for a test.

Each test costs several milliseconds: it is collected by every process, set up, and reported three
times. There are thousands of samples for the scanner, and most are checked in less than that.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, cast

import pytest

Test = Callable[..., None]
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
            every = [_values(case, is_single=len(fields) == 1) for case in find()]
            labels = _labels(every, ids)
            assert every, "there is no case"
            failures: list[BaseException] = []
            for number, values in enumerate(every):
                if "tmp_path" in fixtures:
                    folder = fixtures["tmp_path"] / f"case-{number}"
                    folder.mkdir()
                    own = fixtures | {"tmp_path": folder}
                else:
                    own = fixtures
                try:
                    test(**own, **dict(zip(fields, values, strict=True)))
                # A case that is skipped has not been tested, so it is a failure, too.
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 - raised below
                    error.add_note(f"case {number}: {labels[number]}")
                    failures.append(error)
                    if _is_timeout(error):  # nothing would end the next case
                        break
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(every)} cases fail", failures)

        run_all.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run_all

    return decorate


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
