"""Find endless loops that send requests without a pause, which overload a service.

Loops in shell code are found by its own reader.
"""

import re
from collections.abc import Iterator

from vskill_platform.scan.facts.facts import Act, Fact, shorten

_PYTHON = re.compile(r"(?m)^([ \t]{0,40})while (?:True|1):([^\n]{0,200})\n?")
_JAVASCRIPT = re.compile(r"\b(?:while ?\( ?(?:true|1) ?\)|for ?\( ?; ?; ?\)) ?\{")
_REQUEST = re.compile(
    r"\b(?:requests\.\w+\(|httpx\.\w+\(|urlopen\(|fetch\(|axios\b|"
    r"http\.(?:get|request)\()"
)
#: What ends a loop or lets it wait.
_RESTS = re.compile(
    r"sleep|\bwait|break|return|exit|\bread\b|input\(|yield|raise|throw|setTimeout|delay|timeout"
    r"|recv|select\(|queue|\.get\(\)|cursor|next_page|page"
)
_MAX_BODY, _MAX_LOOPS = 2_000, 500


def endless_requests(code: str) -> list[Fact]:
    """Return the first loop of a program that sends requests forever and never waits."""
    for number, (start, body) in enumerate(_loops(code)):
        if number >= _MAX_LOOPS:
            text = "more endless loops than can be analysed"
            return [Fact(act=Act.OPAQUE, line=1, text=text, detail="cut")]
        if _REQUEST.search(body) and not _RESTS.search(body):
            line = code.count("\n", 0, start) + 1
            text = shorten(code[start : start + 200])
            return [Fact(act=Act.OVERLOAD, line=line, text=text, detail="endless requests")]
    return []


def _loops(code: str) -> Iterator[tuple[int, str]]:
    """Yield the start and the body of each loop without a condition."""
    if "while" not in code and "for" not in code:
        return
    for found in _PYTHON.finditer(code):
        below = code[found.end() : found.end() + _MAX_BODY]
        yield found.start(), f"{found[2]}\n{_indented(below, len(found[1]))}"
    for found in _JAVASCRIPT.finditer(code):
        yield found.start(), _in_braces(code[found.end() : found.end() + _MAX_BODY])


def _indented(code: str, indent: int) -> str:
    """Return the lines that are indented more than their loop."""
    lines = []
    for line in code.split("\n"):
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        lines.append(line)
    return "\n".join(lines)


def _in_braces(code: str) -> str:
    """Return the code up to the brace that closes the loop."""
    depth = 1
    for place, char in enumerate(code):
        depth += (char == "{") - (char == "}")
        if not depth:
            return code[:place]
    return code
