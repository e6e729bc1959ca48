"""Normalise PowerShell and batch code: remove escapes, join strings, expand variables."""

import re

#: No one reviews a longer script; the rest is not read.
MAX_CHARACTERS = 512 * 1024
MAX_STATEMENTS = 5000
#: Longer statements are data, recognised by their start.
MAX_STATEMENT = 32 * 1024
_ROUNDS = 8
_PRINTABLE = range(32, 127)
#: With this many open brackets, they count as never closed.
_MAX_OPEN = 60
_JOINED = re.compile(r"(['\"])([^'\"\n$]{0,2000})\1\s{0,8}\+\s{0,8}(['\"])([^'\"\n$]{0,2000})\3")
_CHARS = re.compile(r"\[char\]\s?\(?(0x[0-9a-fA-F]{1,4}|\d{1,5})\)?", re.IGNORECASE)
_FORMAT = re.compile(
    r"\(?\s?(['\"])((?:\{\d\}){2,10})\1\s{0,4}-f\s{0,4}((?:['\"][^'\"\n]{0,200}['\"]\s?,?\s?){2,10})\)?",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|(?<=[A-Za-z])([`^])(?=[A-Za-z])")
_PROMPT = re.compile(
    r"(?m)^[ \t]{0,8}(?:PS(?: [A-Za-z]:[^>\n]{0,120})?>|[A-Za-z]:\\[^>\n]{0,120}>)[ \t]?"
)
_COMMENT = re.compile(
    r"(?m)<#[\s\S]*?#>|^[ \t]*#[^\n]*|^[ \t]*(?:REM|::)[ \t][^\n]*", re.IGNORECASE
)
_LITERAL = re.compile(
    r"\$(?:\w{1,12}:)?(\w{1,60})\s{0,4}=\s{0,4}(['\"])([^'\"\n]{0,4000})\2\s{0,4}$"
)
_SET = re.compile(r"(?:@?set)\s+\"?(\w{1,40})=([^\"\n]{0,2000})\"?$", re.IGNORECASE)
_STOPS = re.compile(r"['\"()\n;]")
_VARIABLE = re.compile(r"\$\{?(?:\w{1,12}:)?(\w{1,60})\}?|%(\w{1,40})%")


def clean(code: str) -> tuple[str, bool]:
    """Return code without escapes that split words, and whether there were any."""
    code = code[:MAX_CHARACTERS].replace("\r\n", "\n")
    code = _without_comments(_PROMPT.sub("", code)).replace("`\n", "  ").replace("^\n", "  ")
    plain = _SPLIT.sub(lambda found: "" if found[1] else found[0], code)
    return plain, plain != code


def _without_comments(code: str) -> str:
    if code.count("<#") > code.count("#>"):  # unclosed: the pattern would search for each end
        code = code.replace("<#", "  ")
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), code)


def join_strings(text: str) -> str:
    """Replace ``'a'+'b'``, ``[char]99`` and ``'{1}{0}' -f …`` with the resulting text."""
    text = _CHARS.sub(_char, text)
    text = _FORMAT.sub(_format, text)
    for _ in range(_ROUNDS):
        joined = _JOINED.sub(lambda found: f"'{found[2]}{found[4]}'", text)
        if joined == text:
            break
        text = joined
    return text


def _char(found: re.Match[str]) -> str:
    number = int(found[1], 0)
    return f"'{chr(number)}'" if number in _PRINTABLE else found[0]


def _format(found: re.Match[str]) -> str:
    pieces = re.findall(r"['\"]([^'\"\n]{0,200})['\"]", found[3])
    order = [int(number) for number in re.findall(r"\{(\d)\}", found[2])]
    if any(number >= len(pieces) for number in order):
        return found[0]
    return "'" + "".join(pieces[number] for number in order) + "'"


def statements(code: str) -> list[tuple[int, str]]:
    """Split code at line ends and semicolons outside quotes and brackets; lines start at 1."""
    found: list[tuple[int, str]] = []
    start = at = depth = 0
    line, line_end = 1, code.find("\n")
    while (stop := _STOPS.search(code, at)) and len(found) < MAX_STATEMENTS:
        sign, at = stop[0], stop.end()
        if sign in "'\"":
            end = code.find(sign, at)
            if 0 <= line_end < at:
                line_end = code.find("\n", at)
            is_closed = end >= 0 and (
                line_end < 0 or end < line_end or code[at - 2 : at - 1] == "@"
            )
            at = end + 1 if is_closed else at
        elif sign in "()":
            depth = max(0, depth + (1 if sign == "(" else -1))
        elif depth == 0 or (sign == "\n" and depth > _MAX_OPEN):
            line = _add(found, code, start, at, line)
            start, depth = at, 0
    _add(found, code, start, len(code), line)
    return found


def _add(found: list[tuple[int, str]], code: str, start: int, end: int, line: int) -> int:
    text = code[start:end]
    stripped = text.strip(" \t\n;")
    if stripped:
        lead = len(text) - len(text.lstrip())
        found.append((line + text[:lead].count("\n"), stripped[:MAX_STATEMENT]))
    return line + text.count("\n")


def assigned(statement: str) -> tuple[str, str] | None:
    """Return name and text of a variable that is assigned a text."""
    found = _LITERAL.match(statement) or None
    if found:
        return found[1].lower(), found[3]
    batch = _SET.match(statement)
    return (batch[1].lower(), batch[2].strip()) if batch else None


def fill_in(statement: str, known: dict[str, str]) -> str:
    """Expand the variables of a statement, as far as they are known."""
    if not known:
        return statement

    def value(found: re.Match[str]) -> str:
        return known.get((found[1] or found[2]).lower(), found[0])

    head, equals, tail = statement.partition("=")
    if equals and re.fullmatch(r"\s*\$[\w:]{1,60}\s*\+?", head):
        return head + equals + _VARIABLE.sub(value, tail)[:20_000]
    return _VARIABLE.sub(value, statement)[:20_000]
