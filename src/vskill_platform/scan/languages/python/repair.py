"""Parse Python that may be broken: fragments, transcripts, notebooks, Python 2."""

import ast
import re
import warnings

from vskill_platform.scan.languages.unparsed import Unparsed

_PROMPT = re.compile(r"^(?:>>>|\.\.\.|In \[\d{1,4}\]:) ?", re.MULTILINE)
_OLD_STATEMENT = re.compile(r"^([ \t]*)(print|exec)[ \t]+(?![=(.,])(.+)$", re.MULTILINE)
_SHELL_LINE = re.compile(r"^([ \t]*)[!%](?:sh |bash |system )?(?=[a-z~./])(.+)$", re.MULTILINE)
_OLD_EXCEPT = re.compile(
    r"^([ \t]*except [\w.() ]{1,80}(?:, [\w.]{1,40}\))?), (\w{1,40}):", re.MULTILINE
)
_OLD_RAISE = re.compile(r"^([ \t]*raise [\w.]{1,80}), (.+)$", re.MULTILINE)
_FORMATTED = re.compile(r"""\b[fF]([rR]?["'])""")
#: The expression in braces, without its format.
_EXPRESSION = re.compile(r"(?<!\{)\{([^{}:!]{1,400})[^{}]{0,40}\}")
_INDENT = re.compile(r"[ \t]*")
_MAX_REPAIRS = 12
_MAX_LINES = 80
_SHORT = 20_000
_MAX_CHUNKS = 2000


def parse_python(code: str) -> tuple[list[ast.stmt], bool]:
    """Return the statements of *code* that can be parsed, and whether none is too deep."""
    code = code.replace("\0", "")
    try:
        body = _parse(code) or _parse(_modernise(code))
        if body is not None:
            return body, True
        repaired = _parse_repaired(_modernise(code))
    except (RecursionError, MemoryError):
        repaired = None
    if repaired is not None:
        return repaired
    body, is_whole = _parse_chunks(_modernise(code))
    if not body and code.strip():
        raise Unparsed("not Python")
    return body, is_whole


def _parse(code: str) -> list[ast.stmt] | None:
    try:
        return _tree(code)
    except SyntaxError:
        return None


def _tree(code: str) -> list[ast.stmt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about odd but valid escapes
        return ast.parse(code).body


def _modernise(code: str) -> str:
    if ">>>" in code or "In [" in code:
        code = _PROMPT.sub("", code)
    code = _SHELL_LINE.sub(lambda at: f'{at[1]}__import__("os").system({at[2]!r})', code)
    code = _OLD_STATEMENT.sub(r"\1\2(\3)", code)
    code = _OLD_EXCEPT.sub(r"\1 as \2:", code)
    code = _OLD_RAISE.sub(r"\1(\2)", code)
    lines = code.splitlines()
    first = next((line for line in lines if line.strip()), "")
    indent = _INDENT.match(first)
    margin = indent[0] if indent else ""
    return "\n".join(line.removeprefix(margin) for line in lines)


def _parse_repaired(code: str) -> tuple[list[ast.stmt], bool] | None:
    """Drop a few lines that cannot be parsed; return whether none was dropped."""
    lines = code.splitlines()
    inside: list[ast.stmt] = []
    is_whole = True
    for _ in range(_MAX_REPAIRS if len(code) < _SHORT else 3):
        try:
            body = [*_tree("\n".join(lines)), *inside]
        except SyntaxError as error:
            place = min((error.lineno or 1), len(lines)) - 1
            if place < 0 or lines[place].strip() == "pass":
                return None
            if "f-string" in str(error.msg):
                start = _start_of_format(lines, place)
                found = _inside(lines, start, place)
                inside += found or ()
                place, is_whole = start, is_whole and found is not None
            lines[place] = _repaired(lines[place], str(error.msg))
            is_whole = is_whole and lines[place].strip() != "pass"
        else:
            is_code = any(not isinstance(node, ast.Pass) for node in body)
            return (body, is_whole) if is_code else None
    return None


def _inside(lines: list[str], start: int, end: int) -> list[ast.stmt] | None:
    """Parse the expressions in an f-string of a newer Python; None if that fails."""
    found: list[ast.stmt] = []
    for number in range(start, end + 1):
        for expression in _EXPRESSION.findall(lines[number]):
            body = _parse(expression.strip())
            if body is None:
                return None
            for statement in body:
                ast.increment_lineno(statement, number)
            found += body
    return found


def _start_of_format(lines: list[str], place: int) -> int:
    """Return the first line of an f-string, if it has several."""
    near = range(place, max(place - _MAX_LINES, -1), -1)
    return next((number for number in near if _FORMATTED.search(lines[number])), place)


def _repaired(line: str, problem: str) -> str:
    """Return a replacement for a line that can be parsed."""
    if "f-string" in problem and _FORMATTED.search(line):  # newer Pythons allow more inside
        return _FORMATTED.sub(r"\1", line)
    indent = _INDENT.match(line)
    return (indent[0] if indent else "") + "pass"


def _parse_chunks(code: str) -> tuple[list[ast.stmt], bool]:
    """Parse each top-level chunk separately; return whether none was lost."""
    body: list[ast.stmt] = []
    is_whole = True
    for start, chunk in _chunks(code.splitlines()):
        try:
            statements = _parse(chunk)
        except (RecursionError, MemoryError):
            statements = None
        if statements is None:
            is_whole = False
            continue
        for statement in statements:
            ast.increment_lineno(statement, start)
        body.extend(statements)
    return body, is_whole


def _chunks(lines: list[str]) -> list[tuple[int, str]]:
    starts = [
        number
        for number, line in enumerate(lines)
        if line[:1].strip()
        and line[:1] not in ")]}#"
        and not line.startswith(("else", "except", "elif", "finally"))
    ][:_MAX_CHUNKS]
    ends = [*starts[1:], len(lines)]
    return [(start, "\n".join(lines[start:end])) for start, end in zip(starts, ends, strict=False)]
