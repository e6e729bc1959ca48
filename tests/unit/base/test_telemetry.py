"""Log lines: one per event, the same for ours and the libraries', and never forged by content."""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import structlog

from vskill_platform.base.telemetry import get_logger, render_line, set_up_logs

Lines = Callable[[], list[str]]
FOR_TERMINALS = structlog.dev.ConsoleRenderer(
    colors=False, exception_formatter=structlog.dev.plain_traceback
)


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator[Lines]:
    """What was written to stderr since the last call; the configuration is restored afterwards."""
    before = structlog.get_config()
    handlers, level = logging.root.handlers[:], logging.root.level

    def look() -> list[str]:
        return capsys.readouterr().err.splitlines()

    yield look
    structlog.configure(**before)
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"submission": "sub_1", "state": "PUBLISHED", "check": 0.0625, "z": None, "a": True},
        {"why": "published as @local/x 1.0.0", "quoted": 'say "hi"', "it": "it's", "is": "a=b"},
        {"empty": "", "umlaut": "für", "many": ("a", 1), "span": timedelta(seconds=3)},
        {"lines": "one\ntwo", "tab": "a\tb"},
    ],
    ids=["nothing", "plain", "quoted", "odd", "lines"],
)
def test_a_line_is_what_a_terminal_would_show_without_colours(said: dict[str, object]) -> None:
    event = {
        "timestamp": "2026-03-14T12:00:00Z",
        "level": "info",
        "event": "submission processed",
        **said,
    }

    assert render_line(None, "info", dict(event)) == FOR_TERMINALS(None, "info", dict(event))


def test_untrusted_text_cannot_colour_or_split_a_log_line() -> None:
    event = {
        "timestamp": "now",
        "level": "info",
        "event": "told by a library\n2026 [info] forged",
        "name": "\x1b[31mred",
        "right_to_left": "\u202efdp.exe",
    }

    line = render_line(None, "info", event)

    assert line.isprintable()
    assert "forged'" in line


def test_an_error_that_quotes_others_cannot_act_on_a_terminal() -> None:
    event = {
        "timestamp": "now",
        "level": "error",
        "event": "oops \x1b[2J",
        "name": "\x9b31m",
        "exc_info": ValueError("\x1b]0;title\x07 \u202e"),
    }

    text = render_line(None, "error", event)

    assert all(line.isprintable() for line in text.split("\n"))
    assert "ValueError: ⟨U+001B⟩]0;title⟨U+0007⟩ ⟨U+202E⟩" in text


def test_a_line_for_a_terminal_has_no_colours_but_ours(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    set_up_logs(level="INFO", as_json=False)

    get_logger("test").warning("\x1b[2Jevent", name="\x1b]0;title\x07", other="\u202e")

    (line,) = lines()
    assert "⟨U+001B⟩[2Jevent" in line
    assert "⟨U+001B⟩]0;title⟨U+0007⟩" in line
    assert "⟨U+202E⟩" in line


def test_an_exception_is_logged_with_its_traceback() -> None:
    with pytest.raises(ValueError, match="broken") as caught:
        int("broken")
    event = {"timestamp": "now", "level": "warning", "event": "oops", "exc_info": caught.value}

    text = render_line(None, "warning", event)

    assert text.startswith("now [warning  ] oops")
    assert text.endswith("ValueError: invalid literal for int() with base 10: 'broken'")
    assert "Traceback" in text


def test_ours_and_the_libraries_lines_look_the_same(lines: Lines) -> None:
    set_up_logs(level="INFO", as_json=False)

    get_logger("ours").info("submission processed", submission="sub_1")
    logging.getLogger("theirs").warning("careful, %s", "please")
    get_logger("ours").debug("not shown")
    logging.getLogger("theirs").debug("not shown")

    ours, theirs = lines()
    assert ours.endswith("[info     ] submission processed           submission=sub_1")
    assert theirs.endswith("[warning  ] careful, please")
    assert ours[:11] == theirs[:11]


def test_for_machines_each_line_is_json(lines: Lines) -> None:
    set_up_logs(level="WARNING", as_json=True)

    get_logger("ours").warning("queue does not answer", error="disk\nfull")
    get_logger("ours").info("not shown")
    logging.getLogger("theirs").error("careful")

    ours, theirs = map(json.loads, lines())
    assert (ours["level"], ours["event"], ours["error"]) == (
        "warning",
        "queue does not answer",
        "disk\nfull",
    )
    assert (theirs["level"], theirs["event"]) == ("error", "careful")
    assert "timestamp" in ours
