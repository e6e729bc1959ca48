"""A crash with untrusted text in its message: the traceback shows the text escaped."""

import errno
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.cases import all_cases
from tests.casts import a_skill_folder
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

    # 1 would mean that the scan found something.
    assert ended.value.code == (3 if command == ["scan"] else 1)
    shown = capsys.readouterr().err
    assert shown.endswith(": File name too long\n")
    assert len(shown) < 1000


def _run_until_exit(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["vskill-platform", *arguments])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@all_cases(
    "command",
    [
        ["status", "\udcff"],
        ["versions", "a\udcff/b"],
        ["yank", "@ada/a", "1.0.0", "--reason", "\udcfe"],
        ["search", "\udcff", "--json"],
        ["submit", "\udcff"],
        ["members", "add", "@ada", "\udcff"],
        ["webhooks", "add", "https://hooks.example/\udcff"],
    ],
)
@pytest.mark.usefixtures("_collecting")
def test_text_that_is_not_utf8_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    monkeypatch.setenv("VSKILL_REGISTRY", "http://127.0.0.1:9")

    code = _run_until_exit(monkeypatch, *command)

    shown = capsys.readouterr()
    assert (code, shown.out) == (2, ""), shown.err
    assert "not valid UTF-8" in shown.err


@all_cases(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EFBIG, "File too large"),
        OSError(errno.EMFILE, "Too many open files"),
        FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"),
    ],
)
@pytest.mark.usefixtures("_collecting")
def test_a_full_disk_is_one_sentence_and_never_a_finding(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    error: OSError,
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    skill = a_skill_folder(tmp_path, "notes")
    monkeypatch.setenv("VSKILL_REGISTRY", "http://127.0.0.1:9")
    monkeypatch.setattr("tempfile.gettempdir", fail)

    codes = [
        _run_until_exit(monkeypatch, "scan", str(skill)),
        _run_until_exit(monkeypatch, "publish", str(skill)),
    ]

    shown = capsys.readouterr().err
    assert codes == [3, 1]
    assert str(error.strerror) in shown
    assert "Traceback" not in shown


@pytest.mark.usefixtures("_collecting")
def test_an_interrupted_scan_is_no_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupt(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    skill = a_skill_folder(tmp_path, "notes")
    monkeypatch.setattr("tempfile.gettempdir", interrupt)

    assert _run_until_exit(monkeypatch, "scan", str(skill)) == 3
    assert capsys.readouterr().err == "\nAborted!\n"
