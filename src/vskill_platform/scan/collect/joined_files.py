"""Join split code: files that a script joins and runs, and strings that it runs.

Each piece is harmless by itself, so the joined code is scanned as one text.
"""

import hashlib
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice

import msgspec
import re2

from vskill_platform.scan.collect.locate_facts import Fragments
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole
from vskill_platform.scan.languages.dispatch import read_shell
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.skill_files import ScanFile, name_of, suffix_of

#: The maximum number of characters that one file joins.
_MAX_JOINED = 400_000
_MAX_PIECES = 50
_TOO_MUCH = "more files put together than can be analysed"
_PATH = r"[\w./${}~\"'-]{1,200}"
_CAT = re.compile(
    rf"\bcat((?:[ \t]+{_PATH}){{2,20}})[ \t]*(?:>[ \t]*({_PATH})"
    r"|\|[ \t]*(?:sudo[ \t]+)?(?:ba|z|da)?sh\b)"
)
_SOURCE = re.compile(rf"(?m)^[ \t]*(?:\.|source)[ \t]+({_PATH})[ \t]*$")
_SOURCE_LOOP = re.compile(
    r"\bfor[ \t]+(\w+)[ \t]+in[ \t]+([\w./${}\"'-]*\*[\w.\"']*)[ \t]*;?\s*do\s+"
    r"(?:\[[^\n]{1,60}&&[ \t]*)?(?:\.|source)[ \t]+\"?\$\{?\1\b[^\n]*"
)
#: Why pieces are joined.
_JOINS = re2.compile(
    rb"(?m)\bcat(?:[ \t]+\S+){2,}[ \t]*[>|]|\beval\b|(?:^|\bdo|;)[ \t]*(?:\.|source)[ \t]"
)
_SERIOUS = frozenset({Act.RUN_REMOTE, Act.LEAK, Act.REVERSE_SHELL, Act.RUN_DECODED})
#: Commands in strings of programs that pass them to something that runs commands.
_COMMAND_STRING = re2.compile(
    rb"\|\s*(?:sudo )?(?:ba|z|da)?sh\b|/dev/tcp/"
    rb"|\bcurl[^\n\"']*\s(?:-T|-d|-F|--data\S*|--upload-file)\s"
)
_RUNNER = re2.compile(
    rb"(?i)\.(?:local|run|sudo|execute|exec_command|shell|sh|cmd|bash|raw|invoke)\(\s*[frb]?[\"']"
    rb"|[\"'](?:actions|cmds?|commands?)[\"']\s*:\s*\["
    rb"|\b\w*(?:execute|run_|_run|exec_|_exec|shell)\w*\(\s*\w+\s*[,)]"
)
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.){12,2000})\"|'((?:[^'\\\n]|\\.){12,2000})'")
#: A search string is not a command.
_IS_PATTERN = re.compile(r"\\[sbdwSBDW]|\.\*|\[\^|\(\?|\.\+")


#: A script that runs text that it reads.
_RUNS_TEXT = re2.compile(
    rb"(?m)\beval\b|\bxargs\b|\b(?:ba|z|da)?sh[\"']? -\w*c\b|\|\s*(?:ba|z|da)?sh\b"
    rb"|(?:^|[;&|({]|\bthen|\bdo)\s*(?:source|\.)\s"
)
#: Limits for data files that a script names: their number, the size of each, and the total.
_MAX_DATA, _MAX_DATA_LENGTH, _MAX_WITH_DATA = 20, 200_000, 1_000_000
_SCRIPTS = frozenset({".sh", ".bash", ".zsh", ".ksh", ".fish", ".command"})
#: A variable with the folder of a file; quotes around it stay paired.
_FOLDER = r"(?:\"\$\{?\w{1,40}\}?\"|\$\{?\w{1,40}\}?)/(?:\.\./){0,4}"
#: Text that may be a path in a script, with or without quotes.
_WORD = re.compile(r"[^\s\"'`=<>|;&()]{1,200}|(?<=[\"'])[^\"'\n]{1,200}(?=[\"'])")


def joined_facts(files: list[ScanFile]) -> Iterator[LocatedFact]:
    by_name: dict[str, ScanFile] = {}
    for file in files:
        if file.kind is FileType.TEXT:
            by_name.setdefault(name_of(file.path), file)
    data: dict[str, list[ScanFile]] = {}
    characters = 0
    for file in filter(_is_data, files):
        data.setdefault(name_of(file.path), []).append(file)
    for file in files:
        if file.kind is not FileType.TEXT or file.role not in {
            PartRole.SCRIPT,
            PartRole.INSTRUCTION,
        }:
            continue
        raw = file.text.encode(errors="replace")
        if file.language == "python" and _COMMAND_STRING.search(raw) and _RUNNER.search(raw):
            yield from _located(file, _strings_run(file.text))
        if file.language == "shell" and _RUNS_TEXT.search(raw):
            found, characters = _with_data(file, data, characters)
            yield from found
        if file.language in {"", "shell"} and _JOINS.search(raw):
            yield from _joined_code(file, by_name)


def _joined_code(file: ScanFile, by_name: dict[str, ScanFile]) -> Iterator[LocatedFact]:
    read = 0
    for line, text in islice(_joined(file, by_name), _MAX_PIECES):
        read += len(text)
        if read > _MAX_JOINED:
            break
        found = Fragments().read(read_shell, text)
        for fact in found:
            if fact.act is not Act.OPAQUE:
                shown = msgspec.structs.replace(fact, line=line)
                yield LocatedFact(fact=shown, path=file.path, role=file.role)
    if read > _MAX_JOINED or _count_joins(file.text) > _MAX_PIECES:
        yield _too_much(file)


def _with_data(
    file: ScanFile, data: dict[str, list[ScanFile]], read: int
) -> tuple[list[LocatedFact], int]:
    """Read a script again, together with the data files that it names and may run.

    *read* counts the characters of all scripts; it is returned with those of this script added.
    """
    words = dict.fromkeys(name_of(word) for word in _WORD.findall(file.text.lower()) if word)
    named = [other for word in words for other in data.get(word, ()) if other is not file]
    if not named:
        return [], read
    short = [other for other in named if len(other.text) <= _MAX_DATA_LENGTH]
    before, text = "", file.text
    for other in short[:_MAX_DATA]:
        path = other.path
        text = re.sub(rf"{_FOLDER}(?={re.escape(path)})", "", text)
        before += _as_command(path, other.text)
    read += len(before) + 2 * len(text)
    is_cut = read > _MAX_WITH_DATA or len(named) > len(short[:_MAX_DATA])
    found = [_too_much(file)] if is_cut else []
    if read > _MAX_WITH_DATA:
        return found, read
    alone = {(fact.act, fact.line, fact.host) for fact in Fragments().read(read_shell, text)}
    lines = before.count("\n")
    for fact in Fragments().read(read_shell, before + text):
        line = fact.line - lines
        if line > 0 and (fact.act, line, fact.host) not in alone:
            new = msgspec.structs.replace(fact, line=line)
            found.append(LocatedFact(fact=new, path=file.path, role=file.role))
    return found, read


def _as_command(path: str, text: str) -> str:
    """Return a command that writes a file, with a digest of the text as its end mark."""
    end = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return f"cat > {shlex.quote(path)} <<'{end}'\n{text}\n{end}\n"


def _too_much(file: ScanFile) -> LocatedFact:
    cut = Fact(act=Act.OPAQUE, line=1, text=_TOO_MUCH, detail="cut")
    return LocatedFact(fact=cut, path=file.path, role=file.role)


def _is_data(file: ScanFile) -> bool:
    """Return whether a text does nothing alone and is not read as a script anyway."""
    is_script = suffix_of(file.path) in _SCRIPTS or file.text.startswith("#!")
    is_plain = file.kind is FileType.TEXT and file.language in {"", "shell"} and not is_script
    return is_plain and file.role is not PartRole.INSTRUCTION


def _located(file: ScanFile, facts: list[Fact]) -> Iterator[LocatedFact]:
    for fact in facts:
        if fact.act in _SERIOUS:
            yield LocatedFact(fact=fact, path=file.path, role=file.role)


def _joined(file: ScanFile, by_name: dict[str, ScanFile]) -> Iterator[tuple[int, str]]:
    """Yield the line of each place where files are joined, and the joined text."""
    text = file.text
    for found in islice(_CAT.finditer(text), _MAX_PIECES):
        parts = [_of(by_name, path) for path in found[1].split()]
        target = found[2].strip("\"'") if found[2] else ""
        is_run = not target or re.search(
            rf"(?:sh|source|\.|\+x|python3?)[ \t]+[\"']?{re.escape(target)}", text[found.end() :]
        )
        if is_run and all(parts):
            whole = "".join(part.text for part in parts if part)
            yield text.count("\n", 0, found.start()) + 1, whole
    if file.language == "shell" and _SOURCE.search(text):
        whole = _SOURCE.sub(lambda found: _text_of(by_name, found), text, count=_MAX_PIECES)
        if whole != text:
            yield text.count("\n", 0, max(text.find("eval"), 0)) + 1, whole
    for found in islice(_SOURCE_LOOP.finditer(text), 2) if file.language == "shell" else ():
        pattern = found[2].rpartition("/")[2].strip("\"'").lower()
        sourced = [other.text for name, other in by_name.items() if fnmatchcase(name, pattern)]
        whole = "\n".join([*sourced[:_MAX_PIECES], text[found.end() :]])
        yield text.count("\n", 0, found.start()) + 1, whole


def _count_joins(text: str) -> int:
    """Count the places where files are joined, up to one more than the limit."""
    limit = _MAX_PIECES + 1
    places = [*islice(_CAT.finditer(text), limit)]
    if "eval" in text:
        places += islice(_SOURCE.finditer(text), limit)
    return len(places)


def _of(by_name: dict[str, ScanFile], path: str) -> ScanFile | None:
    return by_name.get(name_of(path.strip("\"'")))


def _text_of(by_name: dict[str, ScanFile], found: re.Match[str]) -> str:
    other = _of(by_name, found[1])
    return other.text if other else found[0]


def _strings_run(text: str) -> list[Fact]:
    facts = []
    fragments = Fragments()
    for number, line in enumerate(text.split("\n"), start=1):
        if not _COMMAND_STRING.search(line.encode(errors="replace")):
            continue
        for found in _STRING.finditer(line):
            command = found[1] or found[2] or ""
            if not _IS_PATTERN.search(command):
                read = fragments.read(read_shell, command)
                facts += [msgspec.structs.replace(fact, line=number) for fact in read]
    return facts
