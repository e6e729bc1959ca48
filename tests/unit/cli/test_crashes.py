"""A crash with untrusted text in its message: the traceback shows the text escaped."""

import gc
import sys
from collections.abc import Iterator

import pytest

from tests.cases import all_cases
from vskill_platform.cli.main import main, print_crash


def test_a_traceback_cannot_act_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    error = RuntimeError("\x1b[2J\x9b31m \u202e")

    print_crash(RuntimeError, error, None)

    assert capsys.readouterr().err == "RuntimeError: ⟨U+001B⟩[2J⟨U+009B⟩31m ⟨U+202E⟩\n"


@pytest.fixture
def _collecting() -> Iterator[None]:
    """The program turns garbage collection off at its start."""
    yield
    gc.enable()
    gc.unfreeze()


@all_cases("command", [["scan"], ["publish"], ["submit"], ["discover"], ["list", "--dir"]])
@pytest.mark.usefixtures("_collecting")
def test_a_file_that_cannot_be_used_is_named_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.setenv("VSKILL_REGISTRY", "http://127.0.0.1:9")
    monkeypatch.setattr(sys, "argv", ["vskill-platform", *command, "a" * 5000])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    shown = capsys.readouterr().err
    assert shown.endswith(": File name too long\n")
    assert len(shown) < 1000
