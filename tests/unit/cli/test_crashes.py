"""A crash with untrusted text in its message: the traceback shows the text escaped."""

import pytest

from vskill_platform.cli.main import print_crash


def test_a_traceback_cannot_act_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    error = RuntimeError("\x1b[2J\x9b31m \u202e")

    print_crash(RuntimeError, error, None)

    assert capsys.readouterr().err == "RuntimeError: ⟨U+001B⟩[2J⟨U+009B⟩31m ⟨U+202E⟩\n"
