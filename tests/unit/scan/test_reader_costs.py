"""What readers must not cost: memory that stays, and time for languages that nobody uses."""

import gc
import subprocess
import sys

import pytest

from vskill_platform.scan.facts import Act
from vskill_platform.scan.languages.flow.state import Function
from vskill_platform.scan.languages.javascript.read_javascript import read_javascript
from vskill_platform.scan.languages.python.read_python import read_python
from vskill_platform.scan.languages.shell.lexer import Lexer
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.read_any_text import read_any_text

TANGLED = """
import os
class A:
    def run(self, other):
        self.other = other
        return other(self.run)
def again(f=lambda: again):
    return A().run(again) or f
again()
"""


def functions_left_by(code: str) -> list[Function]:
    gc.collect()
    gc.disable()
    try:
        read_python(code)
    except Unparsed:
        pass
    finally:
        left = [each for each in gc.get_objects() if isinstance(each, Function)]
        gc.enable()
    return left


@pytest.mark.parametrize("code", [TANGLED, TANGLED + "x = " + "f(" * 150 + ")" * 150])
def test_functions_that_know_each_other_are_freed_with_their_program(code: str) -> None:
    assert functions_left_by(code) == []


def test_what_knows_a_language_is_loaded_when_that_language_is_met() -> None:
    script = """
import sys
from vskill_platform.scan.languages.shell.read_shell import read_shell
read_shell("echo hello | cat > notes.txt")
print([name for name in sys.modules if "languages" in name and name.endswith((
    "python.language", "javascript.language", "powershell.statements"))])
"""

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "[]\n"
    assert read_python("import os\nos.system('ls')")
    assert read_javascript("require('child_process').exec('ls')")


@pytest.mark.parametrize("at_most", [1, 2, 3, 4])
def test_each_word_counts_however_many_are_taken_at_once(at_most: int) -> None:
    lexer = Lexer("one two three four five")

    tokens = lexer.tokens(at_most)

    words = [word for token in tokens for word in (token.word, *token.run) if word]
    assert words == ["one", "two", "three", "four"][:at_most]
    assert lexer.taken == at_most


def test_of_very_many_decoded_names_the_one_that_is_run_is_found() -> None:
    many = "".join(f"x{number} = base64(y)\n" for number in range(40_000))

    facts = read_any_text(many + "Exec(X39999)\n", is_code=True)

    assert [(fact.act, fact.line) for fact in facts if fact.act is Act.RUN_DECODED] == [
        (Act.RUN_DECODED, 40_001)
    ]
