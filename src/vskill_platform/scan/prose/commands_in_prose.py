"""Find commands in prose: marked as code, inside a sentence, or on their own lines.

An agent runs an unmarked command in a sentence just like a marked one.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import re2

from vskill_platform.scan.facts.packages import known_packages, looks_like
from vskill_platform.scan.facts.pattern_set import lines_with, loosened
from vskill_platform.scan.prose.paragraphs import Paragraphs, View

_INLINE = re.compile(r"(`+)([^`\n]{3,4000})\1")
_LANGUAGE = re.compile(r"(?:bash|sh|shell|zsh|console)[ \t]+(?=[a-z])")
#: Program names at the start of a command, followed by text that cannot continue a sentence.
_PROGRAM = (
    r"(?:sudo[ \t]+|nohup[ \t]+)?(?:curl|wget|nc|ncat|netcat|socat|scp|rsync|sftp|ssh|cat|tar|"
    r"zip|gpg|openssl|base64|xxd|python3?|node|deno|bun|perl|ruby|php|osascript|powershell|pwsh|iwr|irm|"
    r"iex|certutil|bitsadmin|mshta|rundll32|bash|sh|zsh|dash|eval|exec|echo|printf|rm|dd|crontab|xattr|"
    r"security|spctl|launchctl|chmod|source|docker|npx|uvx|pip3?|npm|env|printenv|jq|ping|dig|mv|cp|ln|"
    r"sed|mail|mailx|mutt|at|chattr|iptables|pfctl|sysctl|useradd|usermod|reg|nohup)"
    r"(?:\.exe)?[ \t]{1,3}(?:[-~$/\"'.<0-9%]|https?:)"
    r"|(?:pip3?|pipx|npm|pnpm|yarn|bun|uv|gem|cargo)[ \t]{1,3}(?:install|add|i)[ \t]{1,3}[-@\w]"
    r"|(?:printenv|env|set|history)[ \t]{1,3}\|[ \t]{0,3}[a-z]"
    r"|(?:sudo[ \t]+)?(?:setenforce|ufw|xmrig|mshta|nslookup|mkfifo|claude mcp|kubectl|cast send|"
    r"git push|git clone|systemctl|netsh|Set-MpPreference|nohup|find|for|while|gh|aws|rclone|"
    r"docker run|podman run|"
    r"csrutil|solana|ncat|netcat|socat|nc|"
    r"schtasks|defaults|sqlite3|tee|mkfs\S*|shred|tar|git (?:bundle|config|remote)"
    r"|pbpaste)[ \t]{1,3}[^\s,.;:]"
)
_PIPED = (
    r"(?:sudo[ \t]{1,9})?(?:curl|wget|echo|base64|bash|sh|iwr|irm|cat|printf)[ \t][^`\n]{0,600}?"
    r"(?:\|[ \t]{0,9}(?:sudo[ \t]{1,9})?(?:(?:ba|z|da)?sh|iex|python3?|node|perl|ruby)\b|<\()"
)
_BARE = re.compile(rf"(?:^|[\s:>(*_$\"'“])((?:{_PIPED}|{_PROGRAM})[^`\n]{{0,800}})")
#: Matches wherever the pattern above does, in a quarter of the time: it counts no letters.
_ANY_BARE = re2.compile(loosened(f"{_PROGRAM}|{_PIPED}").encode())
#: A command without one of these is not relevant.
_MATTERS = re2.compile(
    rb"https?:|\.\w{2,}/|~/|install |\badd \w|disable|setenforce|--privileged|pool|"
    rb"mcp|/create|0x[0-9a-fA-F]{40}|-delete|mshta|quarantine|\$\w|\$\(|\$\{|/dev/|base64|xxd|>>|-rf?\b|-c\b|-e\b|/etc/|\.ssh|\.env|\.aws"
    rb"|<\(|\b777\b|\+rwx|\\[0-7]{2,3}|\btransfer \w|/tmp/|--index-url"
)
#: Names of programs that are split, escaped or assembled, and text that decodes them.
_DISGUISED = re2.compile(
    rb"(?m)[A-Za-z](?:''|\"\w?\")[A-Za-z]|^\s*[a-z]+\\[a-z]+\s|\$\{?IFS\b"
    rb"|[A-Za-z\s]\$\{?\w+(?:\[\d+\])?\}?\$\{?\w|[a-z]\$\{\w+\}[a-z]|[a-z]\$@[a-z]"
    rb"|\balias \w+=|\$\((?:printf|echo)\b|\\\n\s*\S|\beval\s|\$'\\"
    rb"|\|\s*(?:rev|tr|base64|xxd|gunzip|zcat|sh|bash)\b"
)
#: An order to install a package, in words.
_INSTALL_IN_WORDS = re.compile(
    r"\b[Ii]nstall (?:the )?(?:\w{1,20} )?(?:(?:package|library|module) )?[`\"']?"
    r"(?P<name>[\w@./-]{4,60})[`\"']? (?:(?:package|library|module) )?"
    r"(?:with|using|via|by|from|through) (?:the )?(?P<by>pip|npm)\b"
)
_ANY_INSTALL_IN_WORDS = re2.compile(rb"[Ii]nstall [^\n]{4,120} (?:pip|npm)\b")
#: The name of a package as code, in a sentence that says that it is one; and what warns of it.
_NAMED_PACKAGE = re.compile(
    r"(?i)\b(?:dependenc(?:y|ies)|packages?|librar(?:y|ies)|requirements\.txt|modules?|pip|npm)\b"
    r"[^\n`.]{0,80}`(?P<name>@?[\w@./-]{4,60})`"
    r"|`(?P<other>@?[\w@./-]{4,60})`[^\n`.]{0,40}"
    r"\b(?:dependency|package|library|requirements\.txt|package\.json|pip|npm|pypi)\b"
)
_ANY_NAMED_PACKAGE = re2.compile(
    rb"(?i)(?:dependenc|package|librar|requirements\.txt|module|\bpip\b|\bnpm\b)[^\n`]*`"
    rb"|`[^\n`]+`[^\n`]*(?:dependency|package|library|requirements\.txt|\bpip\b|\bnpm\b|\bpypi\b)"
)
_INSTALLED = re.compile(r"(?i)\b(?:install|add|need|require|depend|put|pin|use|get)")
_WARNED_OF = re.compile(
    r"(?i)squat|typo|misspel|look-?alike|malicious|fake|instead of|\bnot\b"
    r"|never"
)
_COMMAND_LINE = re.compile(rf"^[ \t]*(?:[$>#%][ \t]+)?(?:{_PROGRAM}|{_PIPED})", re.MULTILINE)
_ONLY_PIPED = re.compile(_PIPED)
#: A command ends where a sentence ends and another one starts.
_NEXT_SENTENCE = re.compile(r"(?<=\w)\.\s+(?=[A-Z])")
_MAX_BARE = 4_000
#: Quotation marks before a command, and those after it.
_CLOSING = {"'": "'", '"': '"', "“": "”"}
#: Marks inside of a command, and one of these in each.
_EMPHASIS = ("* *", "`*", "` *")
_EMPHASISED_CODE = re.compile(r"`[^\s`*]{1,40}\* \*|\*[^\s`*]{1,40}` ?\*")


class ProseCommand(NamedTuple):
    #: The view in which it was found, and the position.
    view: View
    start: int
    code: str


def commands_in(part: Paragraphs) -> Iterator[ProseCommand]:
    """Yield the commands in the paragraphs."""
    marked = part.marked
    if "`" in marked.text:
        for found in _INLINE.finditer(marked.text):
            yield from _spans(marked, found)
    shown = part.shown
    if "&#" in marked.text and "`" in shown.text:  # written with entities
        for found in _INLINE.finditer(shown.text):
            yield from _spans(shown, found)
    may_be_marked = "`" in marked.text and any(mark in marked.text for mark in _EMPHASIS)
    if may_be_marked and _EMPHASISED_CODE.search(marked.text):
        yield from _bare(part.plain, lines_with(_ANY_BARE, part.plain.text))
    yield from _installs_in_words(shown)
    if not _MATTERS.search(shown.text.encode(errors="replace")):
        return
    paragraphs = list(lines_with(_ANY_BARE, shown.text))
    if not paragraphs:
        return
    yield from _bare(shown, paragraphs)
    for start, block in part.blocks():
        if "\n" in block and _COMMAND_LINE.search(block):
            yield ProseCommand(marked, start, block)


def _installs_in_words(view: View) -> Iterator[ProseCommand]:
    """Yield commands for what the text says in words: install a package."""
    if _ANY_INSTALL_IN_WORDS.search(view.text.encode(errors="replace")):
        for found in _INSTALL_IN_WORDS.finditer(view.text):
            yield ProseCommand(view, found.start(), f"{found['by']} install {found['name']}")
    if _ANY_NAMED_PACKAGE.search(view.text.encode(errors="replace")):
        yield from _named_packages(view)


def _named_packages(view: View) -> Iterator[ProseCommand]:
    """Yield an installation for each look-alike that a text names as its dependency."""
    for found in _NAMED_PACKAGE.finditer(view.text):
        line = view.text[view.text.rfind("\n", 0, found.start()) + 1 : view.line_end(found.start())]
        if not _INSTALLED.search(line) or _WARNED_OF.search(line):
            continue
        name = found["name"] or found["other"]
        if any(name.lower() in known_packages(registry) for registry in ("pypi", "npm")):
            continue
        for registry, manager in (("pypi", "pip"), ("npm", "npm")):
            if looks_like(name, registry):
                yield ProseCommand(view, found.start(), f"{manager} install {name}")


def _spans(view: View, found: re.Match[str]) -> Iterator[ProseCommand]:
    yield ProseCommand(view, found.start(2), found[2])
    if found[1] == "```" and (named := _LANGUAGE.match(found[2])):  # a fence on one line
        yield ProseCommand(view, found.start(2) + named.end(), found[2][named.end() :])
    if "\\|" in found[2]:  # as in the cell of a table
        yield ProseCommand(view, found.start(2), found[2].replace("\\|", "|"))


def _bare(view: View, paragraphs: Iterable[tuple[int, str]]) -> Iterator[ProseCommand]:
    """Yield the commands in paragraphs that may have one, which are given with their numbers."""
    numbers = {number for number, text in paragraphs if _MATTERS.search(text.encode())}
    start = 0
    for number, paragraph in enumerate(view.text.split("\n"), start=1):
        if number in numbers:
            for found in _BARE.finditer(paragraph[:_MAX_BARE]):
                begin = start + found.start(1)
                before = paragraph[found.start(1) - 1 : found.start(1)]
                for code in _readings(found, view.line_end(begin) - begin, before):
                    yield ProseCommand(view, begin, code)
        start += len(paragraph) + 1


def _readings(found: re.Match[str], line_length: int, before: str) -> Iterator[str]:
    """Yield possible extents of the command, because nothing marks its end in the sentence.

    A quotation mark *before* it is followed by another one, which may be its end.
    """
    whole = _NEXT_SENTENCE.split(found[1])[0]
    piped = _ONLY_PIPED.match(whole)
    extents = [whole, whole[:line_length], piped[0] if piped else whole]
    if (mark := _CLOSING.get(before)) and mark in whole[:-1]:
        extents += [whole.partition(mark)[0], whole.rpartition(mark)[0]]
    for code in dict.fromkeys(extents):
        plain = _trimmed(code)
        if _MATTERS.search(plain.encode(errors="replace")):
            yield plain


def _trimmed(code: str) -> str:
    """Remove the end of a sentence, except quotes and brackets that were opened inside."""
    plain = code.rstrip("*_~.,:)\"'” ")
    for sign in code[len(plain) :]:
        opening = "(" if sign == ")" else sign
        is_open = plain.count(opening) > plain.count(sign) or (
            opening == sign and plain.count(sign) % 2 == 1
        )
        if sign not in ")\"'" or not is_open:
            break
        plain += sign
    return plain


def is_disguised(text: str) -> bool:
    """Return quickly whether a text could contain a command whose name is hidden."""
    return _DISGUISED.search(text.encode(errors="replace")) is not None


def may_be_command(text: str) -> bool:
    """Return quickly whether a text may contain a relevant command."""
    raw = text.encode(errors="replace")  # without an offset to find, bytes are searched faster
    return bool(_MATTERS.search(raw) and _ANY_BARE.search(raw))
