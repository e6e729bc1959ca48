"""Read the strings and lines of a text as commands, in a language without a parser."""

import html
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
import re2

from vskill_platform.scan.any_language.code_signs import code_signs, may_have_signs
from vskill_platform.scan.any_language.program_values import is_list
from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.facts.pattern_set import lines_with
from vskill_platform.scan.languages.dispatch import read_powershell, read_shell
from vskill_platform.scan.languages.unparsed import Unparsed

_MAX_LINES, _MAX_LINE, _MAX_STRINGS = 1_000, 4_000, 200
#: A line without one of these is not a relevant command.
_TRIGGER = re2.compile(
    rb"(?i)\bcurl|\bwget|/dev/tcp/|base64|\beval\b|\bexec|powershell|pwsh|invoke-|\biwr\b|\birm\b|\biex\b|"
    rb"\bnc\b|ncat|netcat|socat|\bbash\b|\bsh\b|\bzsh\b|osascript|certutil|mshta|bitsadmin|rundll32|"
    rb"regsvr32|schtasks|crontab|launchctl|authorized_keys|rm -rf|xattr|spctl|do shell script|"
    rb"system\s?\(|popen|getruntime|process\.start|os\.execute|command::new|loadstring|\bscp\b|rsync|"
    rb"shell_exec|passthru|proc_open|launchpath|setenforce|\bufw\b|\bpip3? install|"
    rb"\bnpm (?:i|install)\b|nslookup|\bdig\b|claude |execcmd|execute_process|local-exec|pbpaste|"
    rb"xclip|kubectl|\bgit push|>>|-delete\b|csrutil|\bsolana\b|\bmv\b[^\n]*~/|cast send|"
    rb"socket|createobject|xmlhttp|id_rsa|id_ed25519|\.aws|\.ssh|xmrig -|stratum\+|mkfifo|printenv|"
    rb"screencapture|systemctl|docker run|openssl enc|\bdd if=|reg add|net user|-mppreference|"
    rb"remove-item|vssadmin|\btar [xc-]|\bzip -|auth token|find-generic|cmd\|'|npm install -|\|'/c"
)
#: In a program that starts others, any string may be a command.
_RUNS_OTHERS = re2.compile(
    rb"(?i)system\s?[(\[\"' ]|popen|getruntime|processbuilder|process\.start|process\(\)|"
    rb"launchpath|os\.execute|"
    rb"command::new|exec\.command|shell_exec|passthru|proc_open|execcmd|execute_process|local-exec|"
    rb"\bsh (?:'|\")|%x[\[({]|=\s?`|\bexec\b|do shell script|wscript\.shell|provision|"
    rb"programarguments|<executable>|\bprogram \$|shellhook|\brun\(`|spawn"
)
_ANY_STRING = re2.compile(rf"(?:{_TRIGGER.pattern.decode()})|[\"'`>{{][^\"'`\n]* ".encode())
_STRING = re.compile(
    r"\"((?:[^\"\\\n]|\\.){0,2000})\"|'((?:[^'\\\n]|\\.){0,2000})'|`([^`\n]{0,2000})`"
    r"|%[xqQ]?(?:\{([^}\n]{0,2000})\}|\(([^\n]{0,2000})\)|\[([^\]\n]{0,2000})\])|<\w{1,20}>([^<\n]{8,2000})</\w"
    r"|(?:(?<=-c )|\bset \w{1,40} )\{([^\n]{8,2000})\}"
    r"|\[\[([^\]\n]{8,2000})\]\]"
    r"|<!\[CDATA\[([^\n]{8,2000}?)\]\]|\bqx\s?[\[({/!]([^\])}\n]{8,2000})[\])}/!]"
    r"|\bqq?\s?[\[({/!|]([^\n]{8,2000}?)[\])}/!|](?=\s{0,4}(?:[;,)]|$))"
)
_LONG_STRING = re.compile(
    r"(?:system|exec\w{0,4}|popen|passthru|proc_open|os\.execute|\"-c\",|do shell script|spawn)"
    r"\s?\(?\s?([\"'])((?:(?!\1)[^\\]|\\.){8,2000})\1"
)
#: Strings with delimiters of their own, in which quotation marks mean nothing: Lua, SQL, Rust, C++,
#: Python and others.
_DELIMITED = re.compile(
    r"\[(=+)\[(.{8,2000}?)\]\1\]|\$(\w{0,20})\$(.{8,2000}?)\$\3\$"
    r"|('{3}|\"{3})(.{8,2000}?)\5|[rR]?(#+)\"(.{8,2000}?)\"\7"
    r"|R\"(\w{0,16})\((.{8,2000}?)\)\9\"|=\s?''\s(.{8,2000}?)''",
    re.DOTALL,
)
_MAY_BE_DELIMITED = re2.compile(rb"=\s?''\s|\[=+\[|\$\w*\$|'{3}|\"{3}|#\"|R\"\w*\(")
#: A string that is inserted into a command: `$("…")` in Julia, `${"…"}` in JavaScript.
_INSERTED = re.compile(r"[$#][({]\s?(\"(?:[^\"\\\n]|\\.){8,2000}\")\s?[)}]")
_UNESCAPED = re.compile(r"\"([^\"\n]{8,2000})\"")
#: From the first quotation mark of a line to the last one: a string that contains such marks.
_WIDEST = (re.compile(r"\"([^\n]{8,3000})\""), re.compile(r"'([^\n]{8,3000})'"))
_CONCATENATED = re.compile(r"([\"'])\s{0,9}(?:\+|\.\.?|&|<>)\s{0,9}\1")
#: Strings of a list that is joined elsewhere.
_LISTED = re.compile(r"([\"'])\s{0,9},\s{0,9}\1")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{4,6})\}?|([\"'\\/nrt$`]))")
#: A call that starts a program with separate arguments, and these arguments.
_RUN_WITH_LIST = re.compile(
    r"(?i)\b(?:system|exec\w*|spawn\w*|popen\w*|command(?:::new)?|cmd|start|run|process"
    r"|processbuilder)\s?"
    r"[(\[{ ][^\n\"']{0,40}[\"'][\w./~-]{1,100}[\"']\s?[\])},]"
)
_WORDS = re.compile(r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'")
#: The options that pass a command to a shell.
_SWITCH = re.compile(r"^\s*(?:-\w*c|/c)\s+")
_WINDOWS = re.compile(r"\s*(?:powershell|pwsh|cmd)(?:\.exe)?\s", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][\w:-]{0,40}(?:\s[^<>\n]{0,200})?>")
#: A command in the prompt of an agent, which runs it before it reads the prompt.
_INJECTED = re.compile(r"!\{([^{}\n]{8,2000})\}")
#: Commands that a call connects with a pipe, as in Julia.
_PIPELINE, _NEXT_COMMAND = "pipeline(", re.compile(r"`\s{0,9},\s{0,9}`")
#: A formula of a table that starts a program.
_FORMULA = re.compile(
    r"[=+@-]\s?(?:cmd|powershell|pwsh|mshta|msexcel|bash|sh)\|'\s?(?:/c )?([^\n!]{4,2000})'!",
    re.IGNORECASE,
)
_BRACED = re.compile(r"-c \{([^\n]{4,2000})\}")
_WRITE18 = "write18{"
_CONTROL = {"n": "\n", "r": "\n", "t": "\t"}
#: Prefixes of a command in a task file or markup.
_LEAD = re.compile(
    r"^\s*(?:[-*>@+]\s*|\d{0,4}(?:,\d{1,4})?e\s+(?=curl|wget|sh\b|bash)|\d{1,4}e\s+|"
    r"<[^<>]{1,80}>|[\w.-]{1,40}\s*[:=]\s*|RUN\s+|do shell script\s+|"
    r":?(?:sil(?:ent)?!?\s+)?[:\\]?!\s*|shell\s+|\.(?:shell|system)\s+|(?:\\immediate)?\\write18\{|Run(?:Wait)?,\s*"
    r"|(?:Local|Proxy|Remote)Command\s+"
    r"|au(?:tocmd)?\s+\w+\s+\S+\s+(?::?silent!?\s+)?|(?:[\d*/,-]{1,30}\s+){5}|@\w{4,10}\s+)*"
)


def runs_others(raw: bytes) -> bool:
    """Return whether a program starts others, so that any of its strings may be a command."""
    return _RUNS_OTHERS.search(raw) is not None


def may_have_commands(raw: bytes) -> bool:
    """Return quickly whether any line of a text may be a command."""
    return _TRIGGER.search(raw) is not None


def commands_in_strings(text: str, *, in_any: bool) -> Iterator[Fact]:
    """Yield what the commands in strings and lines do; *in_any* if every string may be one."""
    trigger: Any = _ANY_STRING if in_any else _TRIGGER
    script: list[tuple[int, str]] = []
    left = _MAX_LINES
    for number, line in lines_with(trigger, text):
        short = line[:_MAX_LINE]
        if trigger.search(short.encode(errors="replace")):
            left -= 1
            script += [(number, command) for command in _candidates(short)]
        if left < 0:
            yield Fact(
                act=Act.OPAQUE, line=number, text="more commands than can be analysed", detail="cut"
            )
            break
    if in_any:
        script += islice(_long_strings(text), _MAX_STRINGS)
    if _MAY_BE_DELIMITED.search(text.encode(errors="replace")):
        script += islice(_delimited_strings(text, in_any=in_any), _MAX_STRINGS)
    may_have = not in_any and may_have_signs(text)
    for number, command in script:
        yield from read_command(command, number)
        if may_have:
            signs = code_signs(command)
            yield from (msgspec.structs.replace(fact, line=number) for fact in signs)
    if len({number for number, _ in script}) > 1:  # one line downloads, the next runs
        whole = "\n".join(command.replace("\n", ";") for _, command in script)
        for fact in read_command(whole, 0):
            number = script[min(max(fact.line, 1), len(script)) - 1][0]
            yield msgspec.structs.replace(fact, line=number)


def _long_strings(text: str) -> Iterator[tuple[int, str]]:
    """Yield commands over several lines that are passed to a function that runs them."""
    for found in _LONG_STRING.finditer(text):
        if "\n" in found[2]:
            yield text.count("\n", 0, found.start(2)) + 1, _ESCAPE.sub(_unescaped, found[2])


def _delimited_strings(text: str, *, in_any: bool) -> Iterator[tuple[int, str]]:
    """Yield commands in strings with delimiters of their own."""
    for found in _DELIMITED.finditer(text):
        inside = found[found.lastindex or 0]
        if " " in inside and (in_any or _TRIGGER.search(inside.encode(errors="replace"))):
            yield text.count("\n", 0, found.start()) + 1, inside.strip()


def _candidates(line: str) -> Iterator[str]:
    joined = _INSERTED.sub(r"\1", _CONCATENATED.sub("", line))
    if "|'" in joined:
        yield from (found[1] for found in _FORMULA.finditer(joined))
    if "-c {" in joined:  # as Tcl quotes
        yield from (found[1] for found in _BRACED.finditer(joined))
    if _PIPELINE in joined:
        joined = _NEXT_COMMAND.sub(" | ", joined)
    yield from (found[1] for found in _INJECTED.finditer(joined))
    yield from _in_strings(joined)
    if _RUN_WITH_LIST.search(joined):
        words = [next(part for part in parts if part) for parts in _WORDS.findall(joined)]
        yield " ".join(words[:_MAX_STRINGS])
    if is_list(line):
        for found in _STRING.finditer(_LISTED.sub("", line)):
            inside = next(part for part in found.groups() if part is not None)
            yield _ESCAPE.sub(_unescaped, inside)
    if _TRIGGER.search(line.encode(errors="replace")):
        yield from _widest_strings(joined)
    is_whole = joined.count("(") == joined.count(")")  # otherwise it continues in another line
    if is_whole and not joined.lstrip().startswith(("#", "//", "--", ";", "REM ")):
        command = _LEAD.sub("", _TAG.sub(" ", joined))
        yield command.rstrip("} ") if _WRITE18 in joined else command
        if '""' in joined:  # as Basic writes a quotation mark in a string
            yield from (part[1] for part in _STRING.finditer(joined.replace('""', "'")) if part[1])


def _in_strings(line: str) -> Iterator[str]:
    """Yield the strings of a line that contain several words."""
    for found in _STRING.finditer(line):
        inside = next(part for part in found.groups() if part is not None)
        if " " in inside:
            plain = html.unescape(_ESCAPE.sub(_unescaped, inside))
            command = _SWITCH.sub("", plain)
            command = command if command == plain else command.strip("'\"")
            yield command.lstrip("!|")  # as aliases of Git and pipes of Tcl begin
            if "\\ " in inside:  # a space in the options of an editor
                yield inside.replace("\\ ", " ")


def _widest_strings(line: str) -> Iterator[str]:
    """Yield a line between its outermost quotation marks, if they are not those of one string."""
    if '\\"' in line:  # the end of a string, in a language where a backslash means nothing
        yield from (found[1] for found in _UNESCAPED.finditer(line))
    for pattern in _WIDEST:
        if found := pattern.search(line):
            inside = found[1]
            mark = found[0][0]
            if mark in inside:
                yield _SWITCH.sub("", html.unescape(inside.replace(mark * 2, mark))).lstrip("!")


def _unescaped(found: re.Match[str]) -> str:
    if code := found[1] or found[2]:
        value = int(code, 16)
        return chr(value) if value < 0xD800 or 0xDFFF < value < 0x110000 else ""  # noqa: PLR2004 - a number of the format
    return _CONTROL.get(found[3], found[3])


def read_command(command: str, number: int) -> Iterator[Fact]:
    """Yield what a command does, at line *number*; 0 keeps its own lines."""
    # A program that starts PowerShell itself passes variables on; a shell would expand them.
    readers = [read_shell, read_powershell] if _WINDOWS.match(command) else [read_shell]
    facts: list[Fact] = []
    for reader in readers:
        try:
            facts += reader(command)
        except Unparsed as error:
            facts += error.facts
    for fact in facts:
        yield msgspec.structs.replace(fact, line=number) if number else fact
