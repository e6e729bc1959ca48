"""Untrusted text on a terminal: no escape sequence in the output of a command takes effect."""

from pathlib import Path

import msgspec
import pytest

from tests.acceptance.processes import Finished
from tests.acceptance.program import Platform
from tests.casts import a_skill_folder

#: ESC, a window title, C1, a right-to-left override, a tag, nothing to be seen, lines, markup.
HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07\x9b2J\x85\u202egpj.exe\u2066\u200b\ufeff\U000e0041\U000e0101\u115f"
    "\u2028next\u2029\x7f\r[bold]x[/] :skull: end"
)
#: The same in a manifest: what YAML lets somebody write.
IN_YAML = HOSTILE.encode("ascii", "backslashreplace").decode().replace("\r", "\\r")
IN_YAML = IN_YAML.replace("\x1b", "\\e").replace("\x07", "\\a").replace("\x7f", "\\x7f")
#: They hold text of others only if a judge, a scanner or a published skill is there.
FOREIGN_COMMANDS = (
    ("list",),
    ("list", "--state", HOSTILE),
    ("audit",),
    ("queue",),
    ("stuck",),
    ("reviews",),
    ("reviews", "show", HOSTILE),
    ("reviews", "approve", HOSTILE, "--reason", HOSTILE),
    ("dead-letters", "list"),
    ("dead-letters", "drop", HOSTILE),
    ("block", "list"),
    ("block", "check", "--publisher", "@eve"),
    ("block", "add", "--digest", HOSTILE, "--reason", "x"),
    ("config",),
    ("users", "list"),
    ("users", "add", HOSTILE, "--role", "reader"),
    ("tokens", "list"),
    ("tokens", "revoke", HOSTILE),
    ("namespaces", "list"),
    ("namespaces", "add-owner", HOSTILE, HOSTILE),
    ("versions", HOSTILE),
    ("diff", HOSTILE),
    ("yank", HOSTILE, "1.0.0", "--reason", HOSTILE),
    ("similar", HOSTILE),
    ("status", HOSTILE),
    ("retry", HOSTILE),
    ("requeue", HOSTILE),
    ("withdraw", HOSTILE, "--reason", HOSTILE),
    ("submit", HOSTILE),
    ("submit", f"https://git.example/{HOSTILE}"),
    ("discover", HOSTILE),
    ("scan", HOSTILE),
    ("scan", "--explain", HOSTILE),
    ("judge", HOSTILE),
    ("scanners", "try", HOSTILE, "."),
    ("policy", "check", HOSTILE),
    (HOSTILE,),
    ("list", f"--{HOSTILE}"),
    ("rescan", HOSTILE),
)


@pytest.fixture
def skill(platform: Platform) -> Path:
    """Write a skill whose description wants more than to be read."""
    folder = a_skill_folder(platform.folder)
    manifest = folder / "SKILL.md"
    text = f'---\nname: tidy-notes\ndescription: "{IN_YAML}"\n---\n\n{HOSTILE}\n'
    manifest.write_text(text, encoding="utf-8", newline="")
    return folder


def acting(finished: Finished) -> set[str]:
    """Return what is in the output and not for reading; tabs are between the cells of a list."""
    said = finished.out + finished.err
    return {char for char in said if not char.isprintable() and char not in "\n\t"} | (
        set("\U000e0101\u115f") & set(said)
    )


@pytest.fixture
def hostile(platform: Platform, skill: Path) -> Platform:
    """Create records with untrusted text in every field."""
    submission_id = platform.submit(skill)
    assert platform.run("withdraw", submission_id, "--reason", HOSTILE).code == 0
    assert platform.run("pause", "--for", "1h", "--reason", HOSTILE).code == 0
    blocked = platform.run("block", "add", "--publisher", "@eve", "--reason", HOSTILE)
    assert blocked.code == 0, blocked
    platform.settings["node"] = HOSTILE.replace("\x00", "")
    return platform


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_no_command_prints_what_acts(hostile: Platform, part: int) -> None:
    commands = [
        (*command, *form) for command in FOREIGN_COMMANDS[part::2] for form in ((), ("--json",))
    ]

    finished = {command: hostile.run(*command) for command in commands}

    assert {command: acting(one) for command, one in finished.items() if acting(one)} == {}
    assert [command for command, one in finished.items() if not one.out + one.err] == []
    assert [command for command, one in finished.items() if "Traceback" in one.err] == []


@pytest.mark.slow
def test_untrusted_text_is_escaped_on_a_terminal_and_complete_in_json(
    hostile: Platform, skill: Path
) -> None:
    hostile.columns = 2_000  # no word is broken
    (record,) = msgspec.json.decode(hostile.run("list", "--json").out)["submissions"]

    shown = hostile.run("status", record["id"])
    told = hostile.run("status", record["id"], "--json")
    found = hostile.run("discover", skill)
    found_json = hostile.run("discover", skill, "--json")
    scanned = [hostile.run("scan", skill, "--format", form) for form in ("text", "json", "sarif")]

    everything = (shown, told, found, found_json, *scanned)
    assert [acting(one) for one in everything] == [set()] * len(everything)
    assert "⟨U+001B⟩" in shown.out
    assert "⟨U+202E⟩" in shown.out
    assert "U+001B" in found.out
    assert msgspec.json.decode(told.out)["submission"]["reason"] == HOSTILE
