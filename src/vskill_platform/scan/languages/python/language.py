"""Python for the data-flow analysis: parser, node types and functions."""

from vskill_platform.scan.facts.facts import Fact, storable
from vskill_platform.scan.languages.flow import reading
from vskill_platform.scan.languages.flow.expressions import EXPRESSIONS
from vskill_platform.scan.languages.flow.state import Language
from vskill_platform.scan.languages.flow.statements import STATEMENTS
from vskill_platform.scan.languages.python.calls import (
    PYTHON_CALLS,
    PYTHON_CONSTANTS,
    PYTHON_METHODS,
)
from vskill_platform.scan.languages.python.read_python import read_python
from vskill_platform.scan.languages.python.repair import parse_python

_PYTHON = Language(
    expressions=EXPRESSIONS,
    statements=STATEMENTS,
    calls=PYTHON_CALLS,
    methods=PYTHON_METHODS,
    constants=PYTHON_CONSTANTS,
    read=read_python,
)


def read_program(code: str) -> list[Fact]:
    # Lone surrogates may come from an escape in a shell string; the parser refuses them.
    program = reading.Program(code=storable(code), parse=parse_python, language=_PYTHON)
    return reading.read_program(program)
