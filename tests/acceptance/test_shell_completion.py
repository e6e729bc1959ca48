"""Shell completion, with the documented lines in the real shells."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.acceptance.processes import PATIENCE_SECONDS
from tests.acceptance.program import PROGRAM
from tests.missing import skip_without

DOCS = Path(__file__).parents[2] / "docs/cli.md"
_PROMPT = "ready> "
_BASH = """
COMP_WORDS=({words}) COMP_CWORD={last}
_vskill_platform_completion vskill-platform
echo "${{COMPREPLY[@]}}"
"""


def documented(shell: str) -> str:
    (line,) = re.findall(rf"^  (.*={shell}_source .*?)  # ~", DOCS.read_text(), re.MULTILINE)
    return str(line)


def program(shell: str) -> str:
    found = shutil.which(shell)
    return found or skip_without(
        shell, untested=f"completion in {shell}", get_it=f"`apt install {shell}`"
    )


def environment(home: Path) -> dict[str, str]:
    path = f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}"
    return {"HOME": str(home), "PATH": path, "TERM": "xterm", "LC_ALL": "C.UTF-8"}


def run(home: Path, *command: str) -> str:
    done = subprocess.run(
        command, env=environment(home), cwd=home, capture_output=True, text=True, check=True,
        timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "word"),
    [("inst", "install"), ("admin qu", "queue"), ("install --ag", "--agent")],
)
def test_bash_completes_commands_and_options(tmp_path: Path, typed: str, word: str) -> None:
    words = f"vskill-platform {typed}"
    script = documented("bash") + _BASH.format(words=words, last=words.count(" "))

    assert run(tmp_path, program("bash"), "--norc", "-c", script).split() == [word]


@pytest.mark.slow
def test_fish_completes_commands_and_options(tmp_path: Path) -> None:
    settings = tmp_path / ".config/fish/config.fish"
    settings.parent.mkdir(parents=True)
    settings.write_text(documented("fish") + "\n")
    ask = "complete -C 'vskill-platform inst'; complete -C 'vskill-platform admin qu'"

    lines = run(tmp_path, program("fish"), "-c", ask).splitlines()

    assert [line.split("\t")[0] for line in lines] == ["install", "queue"]


@pytest.mark.slow
def test_zsh_completes_what_is_typed(tmp_path: Path) -> None:
    # Without the prompt's own line end, which depends on the terminal.
    rc = f"PS1='{_PROMPT}'; unsetopt PROMPT_SP\n{documented('zsh')}\n"
    (tmp_path / ".zshrc").write_text(rc)
    typing = Terminal(program("zsh"), environment(tmp_path))
    try:
        typing.wait_for(_PROMPT)
        typing.type("vskill-platform inst\t")
        typing.wait_for("install")
    finally:
        typing.close()


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, shell: str, env: dict[str, str]) -> None:
        self._screen, terminal = pty.openpty()
        self._shell = subprocess.Popen(
            [shell, "-i"], stdin=terminal, stdout=terminal, stderr=terminal, env=env,
            cwd=env["HOME"], start_new_session=True,
        )  # fmt: skip
        os.close(terminal)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def wait_for(self, text: str) -> None:
        shown, end = "", time.monotonic() + PATIENCE_SECONDS
        while text not in shown:
            ready, _, _ = select.select([self._screen], [], [], max(0, end - time.monotonic()))
            assert ready, f"it never showed {text!r}, only {shown!r}"
            shown += os.read(self._screen, 4096).decode(errors="replace")

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._screen)
