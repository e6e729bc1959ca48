"""Find files that a skill's instructions and scripts run, and mark them as scripts."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import msgspec
import re2

from vskill_platform.scan.facts.facts import PartRole
from vskill_platform.scan.facts.loading_variables import LOADED
from vskill_platform.scan.facts.pattern_set import loosened
from vskill_platform.scan.read.decode_bytes import read_bytes
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.skill_files import (
    MAX_TEXT_BYTES,
    ScanFile,
    is_program,
    is_prose,
    language_of,
    suffix_of,
)

_MAX_PATTERNS, _ANY_FILE = 200, "*"
_INTERPRETERS = {
    "bash": "shell", "sh": "shell", "zsh": "shell", "dash": "shell", "ksh": "shell",
    "python": "python", "python3": "python", "uv": "python",
    "node": "javascript", "bun": "javascript", "deno": "javascript", "tsx": "typescript",
    "ts-node": "typescript", "pwsh": "powershell", "powershell": "powershell",
    "cmd": "powershell",
}  # fmt: skip
#: The end of a mention in code; in prose, a full stop or a word.
_SOURCING = frozenset({".", "source"})
#: The language of a program that is read only by its strings and lines.
_OTHER = "other"
_INTERPRETERS |= dict.fromkeys(
    ("ruby", "perl", "php", "lua", "go", "osascript", "Rscript", "java", "swift", "julia", "awk"),
    _OTHER,
)
#: Named by a text that runs what it reads, although the file may be data.
_READ = "read"
#: Named by code that runs computed commands; the file stays data, but its contents are run.
_COMMANDS = "commands"
#: Marks that do not name a program.
_WEAK = frozenset({"", _READ, _COMMANDS})
_PATH = r"(?P<path>[\w.*?~${}/\[\]@+-]{2,200})"
_INTERPRETED = re2.compile(
    r"(?m)(?:^|[\s`\"'(;&|])(?P<by>bash|sh|zsh|dash|ksh|source|python3?|uv|node|bun|deno|tsx|ts-node|"
    r"pwsh|powershell|ruby|perl|php|lua|go|osascript|Rscript|java|swift|julia|awk|make|chmod|sudo|"
    r"pytest|jest|vitest|mocha|rspec|phpunit|"
    r"nohup|cmd|\.)(?:\s*<\s*|[\"']\s*,\s*[\"']|\s+)"
    r"(?:(?:run|/c|-f|-x|-e|-u|-O|\+x|755|-jar|-ExecutionPolicy \w+|-File)\s+)*"
    rf"[\"'`]?{_PATH}"
)
_PATH_GROUP = _INTERPRETED.groupindex["path"]
_MODULE = re.compile(r"\bpython3?\s+-m\s+(?P<path>[\w.]{2,200})")
#: Both start with letters that can be searched for; the text before them is checked afterwards.
_BARE = re.compile(r"(?P<path>\./(?<![^\s`\"'(;&|]\./)[\w.*?/-]{1,200})")
_LOOP = re.compile(r"for(?<!\wfor)\s+\w+\s+in\s+[\"']?(?P<path>[\w./-]*[*?/][\w.*?/-]*)")
_TOLD = re2.compile(
    r"(?i)\b(?:run|execute|launch|start|invoke|call|source|load|feed|pipe|import)\b(?:[^\n]{0,50}?)[`\"'\[(\s]"
    r"(?P<path>(?:[\w.*-]+/)+[\w.*-]*|[\w*-]+\.\w{1,8})"
)
#: Settings of tools that name a program or a module to load.
_LOADING_SETTINGS = (
    "script-shell", "node-options", "init-module", "yarn-path", "yarnPath", "preload",
    "rustc-wrapper", "rustc-workspace-wrapper", "runner", "linker", "globalSetup", "globalTeardown",
    r"setupFiles\w*", r"[\w.]*[iI]nterpreterPath", r"git\.path", "hooksPath",
    "vault_password_file", "defaultInterpreter", r"_load\(", r"dlopen\((?:module,\s?)?",
    r"LoadLibrary\(", r"load_extension\(", r"CDLL\(", r"require[\"']?\s?:",
    r"plugins[\"']?\s?:\s?\[[\"']?(?:\{[^{}\n]{0,40}:)?",
)  # fmt: skip
#: Data that a program loads as code, and files that programs load because of a variable.
_LOADED = re2.compile(
    r"(?:\b(?:pickle|joblib|marshal|dill|cloudpickle|shelve|torch)\.(?:load|open)\([^\n]{0,80}?[\"']"
    rf"|\b(?:{'|'.join(sorted(LOADED))})[\"']?\]?\s?[=:]\s?[\"']?(?:--?\w+[ =])?"
    rf"|\b(?:{'|'.join(_LOADING_SETTINGS)})[\"']?\s?[=:]?\s?\[?\s?[\"']?(?:--?\w+[ =])?)"
    r"(?P<path>[\w.${}/-]{2,200})"
)
#: The folder of the running script in shell syntax.
_OWN_FOLDER = re.compile(
    r"\"?\$\((?:cd (?:--)? ?\"?\$\()?dirname (?:--)? ?[\"']?"
    r"\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?[\"']?\)"
    r"(?:\"? ?&& ?pwd(?: -P)?\))?\"?"
)
#: Code that runs the text of a file, and quoted file names.
_RUNS_TEXT = re2.compile(
    r"\b(?:exec|eval|execfile|run_path|exec_module|load_source|runIn\w*Context|Function|import)\("
    r"|\b(?:SourceFileLoader|spec_from_file_location|vm\.Script)\(|\bsys\.executable\b"
    r"|\._compile\b|\.extensions\["
)
#: File names that code computes, and folders that it lists.
_COMPUTED_NAME = re2.compile(
    r"\}\.\w{1,8}[\"'`]|[\"'`]\.\w{1,8}[\"'`]|%s\.\w{1,8}[\"'`]|\}[\"'`]|with_suffix\(|glob\(|listdir\(|"
    r"iterdir\(|readdir(?:Sync)?\("
)
_QUOTED_NAME = re2.compile(r"[\"'`](?P<path>[\w./-]{0,200}[\w-]\.\w{1,8})[\"'`]")
#: The start of code in a file whose name does not show its language.
_LOOKS_LIKE = {
    "python": re2.compile(
        r"(?m)^\s*(?:import [\w., ]+(?: as \w+)?(?:;|$)|from [\w.]+ import )|\b__import__\("
    ),
    "javascript": re2.compile(r"\brequire\(\s*[\"'`]|\bprocess\.(?:env|binding|mainModule)\b"),
}
#: A patch contains lines of code, but no interpreter accepts it.
_DIFF = re.compile(r"diff --git a/")
#: Code that runs a computed command line, which may come from a data file that the code names.
_RUNS_COMMANDS = re2.compile(
    r"\b(?:os\.system|os\.popen|getoutput|execSync|child_process\.exec|cp\.exec|exec|shell_exec"
    r"|system|passthru)\(\s*[A-Za-z_$][\w.$]*(?:\[[^\]\n]{1,40}\])?\s*[,)]"
    r"|\bsubprocess\.\w+\(\s*[A-Za-z_][\w.]*(?:\[[^\]\n]{1,40}\])?\s*,[^)\n]{0,80}shell\s?=\s?True"
    r"|\b(?:eval|sh -c|bash -c) [\"']?\$\{?\w+|\bxargs\b[^\n]{0,40}\b(?:sh|bash)\b"
)
#: Matches wherever one of these patterns may match, and saves two searches of most texts.
_LOADS_OR_RUNS = re2.compile(
    "|".join(loosened(one.pattern) for one in (_LOADED, _RUNS_TEXT, _RUNS_COMMANDS))
)
_DATA_NAME = re2.compile(
    r"(?:[\"'`]|<\s?|\bcat |\b(?:jq|yq)\b[^\n|]{0,60} )(?P<path>[\w./-]{0,200}[\w-]"
    r"\.(?:json|jsonl|ya?ml|toml|csv|tsv|txt|xml|ini|cfg|conf|list))\b"
)
#: Names for the folder of the skill.
_HERE = re.compile(r"^(?:\./|~/|\$\{?\w+\}?/|\{\w+\}/|\.\./)+")
#: Data files that a sentence may seem to tell to run.
_DATA = frozenset(
    {
        ".json", ".jsonc", ".jsonl", ".yaml", ".yml", ".toml", ".csv", ".tsv", ".xml", ".html",
        ".htm", ".css", ".svg", ".sql", ".lock", ".log", ".ini", ".cfg", ".ipynb", ".tmpl", ".j2",
    }
)  # fmt: skip
_OPAQUE = frozenset({FileType.MEDIA, FileType.DOCUMENT, FileType.DATA})


def mark_run_files(files: list[ScanFile]) -> list[ScanFile]:
    """Return the files with roles that reflect which of them are run."""
    if all(map(_is_clear, files)):
        return files
    ran = _Named()
    for file in files:
        if file.kind is not FileType.TEXT or file.role is PartRole.DOCUMENT:
            continue
        for path, by in _tokens(file.text, is_code=bool(file.language)):
            ran.add(path, by)
    return [_marked(file, ran) for file in files]


def _is_clear(file: ScanFile) -> bool:
    """Return whether running a file could not change its type."""
    is_known = file.role is PartRole.INSTRUCTION or (
        file.role is PartRole.SCRIPT and bool(file.language)
    )
    return is_known or file.kind not in {FileType.TEXT, *_OPAQUE}


class _Named:
    """Files that texts name, by a path or its end, by a pattern, or by a folder."""

    def __init__(self) -> None:
        # For each, what names it: a program, "" for none, or _READ; the last mention comes last.
        self._paths: dict[str, list[str]] = {}
        self._patterns: dict[str, list[str]] = {}
        self._folders: dict[str, list[str]] = {}

    def add(self, token: str, by: str) -> None:
        is_pattern = any(sign in token for sign in "*?[")
        if is_pattern and len(self._patterns) >= _MAX_PATTERNS:
            # Each name is compared with each file. With too many names, any file may be run.
            token = _ANY_FILE
        kind = self._patterns if is_pattern else self._folders if token[-1:] == "/" else self._paths
        marks = kind.setdefault(token, [])
        if by in marks:
            marks.remove(by)
        marks.append(by)

    def marks_of(self, path: str) -> list[str]:
        """Return all marks of a file, so that a harmless mention does not hide one that runs it."""
        parts = path.lower().split("/")
        found: list[str] = []
        for start in range(len(parts)):
            found += reversed(self._paths.get("/".join(parts[start:]), ()))
        for start in range(len(parts) - 1):
            for end in range(start + 1, len(parts)):
                found += reversed(self._folders.get("/".join(parts[start:end]) + "/", ()))
        whole = "/".join(parts)
        for pattern, marks in self._patterns.items():
            if fnmatchcase(whole, pattern) or fnmatchcase(whole, f"*/{pattern}"):
                found += reversed(marks)
        return found


def _tokens(text: str, *, is_code: bool) -> Iterator[tuple[str, str]]:
    if "dirname " in text:
        text = _OWN_FOLDER.sub(".", text)
    raw = text.encode(errors="replace")  # the engine searches bytes many times faster
    patterns: list[tuple[Any, Any]] = [(_INTERPRETED, raw)]
    patterns += [] if is_code else [(_TOLD, raw)]
    patterns += [(_BARE, text)] if "./" in text else []
    patterns += [(_LOOP, text)] if "for " in text else []
    for pattern, hay in patterns:
        for found in _matches(pattern, hay):
            by = found["by"].decode() if pattern is _INTERPRETED else ""
            token = _HERE.sub("", _decoded(found["path"])).lower()
            token = token.lstrip("`'\"").rstrip("`'\").,:;")
            if len(token) > 1 and not token.startswith("-"):
                yield token, "shell" if is_code and by in _SOURCING else _INTERPRETERS.get(by, "")
    if _LOADS_OR_RUNS.search(raw):
        yield from _loaded(raw)
        yield from _computed(raw, is_code=is_code)
    for found in _MODULE.finditer(text) if " -m" in text else ():
        yield found["path"].replace(".", "/").lower() + ".py", "python"


def _computed(raw: bytes, *, is_code: bool) -> Iterator[tuple[str, str]]:
    """Yield the files whose text or values a program runs."""
    if _RUNS_TEXT.search(raw):
        for found in _QUOTED_NAME.finditer(raw):
            yield _HERE.sub("", _decoded(found["path"])).lower(), _READ
        if is_code and _COMPUTED_NAME.search(raw):
            yield _ANY_FILE, _READ
    if _RUNS_COMMANDS.search(raw):
        for found in _DATA_NAME.finditer(raw):
            yield _HERE.sub("", _decoded(found["path"])).lower(), _COMMANDS


def _loaded(raw: bytes) -> Iterator[tuple[str, str]]:
    for found in _LOADED.finditer(raw):
        token = _HERE.sub("", _decoded(found["path"])).lower()
        yield token, _OTHER
        if b"hooksPath" in found[0]:
            yield f"{token.rstrip('/')}/", ""


def _matches(pattern: Any, hay: str | bytes) -> Iterator[Any]:
    """Yield all matches; a program may be followed by another program (`sudo python3 x`)."""
    if pattern is not _INTERPRETED:
        yield from pattern.finditer(hay)
        return
    found = pattern.search(hay)
    while found:
        yield found
        found = pattern.search(hay, found.start(_PATH_GROUP) - 1)


def _decoded(path: str | bytes) -> str:
    return path if isinstance(path, str) else path.decode(errors="replace")


def _marked(file: ScanFile, ran: _Named) -> ScanFile:
    if _is_clear(file):
        return file
    marks = ran.marks_of(file.path)
    if program := next((mark for mark in marks if mark not in _WEAK), ""):
        return _run(file, program)
    if "" in marks and _is_runnable(file):
        return _run(file, "")
    if _READ in marks and (language := _looks_like(file)):
        return _run(file, language)
    if _COMMANDS in marks and file.kind is FileType.TEXT:
        return msgspec.structs.replace(file, role=PartRole.SCRIPT)
    return file


def _looks_like(file: ScanFile) -> str:
    """Return the language of a text that seems to be code; empty if it may not be code."""
    if file.kind is not FileType.TEXT:
        return ""
    # Prose may contain code blocks; only a text that starts with code may be code as a whole.
    text = file.text.lstrip().partition("\n")[0] if is_prose(file.path) else file.text
    if _DIFF.match(text):
        return ""
    raw = text.encode(errors="replace")
    return next((name for name, sign in _LOOKS_LIKE.items() if sign.search(raw)), "")


def _is_runnable(file: ScanFile) -> bool:
    """Return whether a file may be intended to run although no text names a program for it."""
    is_data = is_prose(file.path) and "." in file.path.rpartition("/")[2]
    return file.kind is FileType.TEXT and not is_data and suffix_of(file.path) not in _DATA


def _run(file: ScanFile, by: str) -> ScanFile:
    """Give a file the role of a script because something runs it."""
    if file.kind in _OPAQUE:
        text = read_bytes(file.raw[:MAX_TEXT_BYTES]).texts[0]
        language = "" if by == _OTHER else by
        return msgspec.structs.replace(
            file, role=PartRole.SCRIPT, is_run=True, text=text, language=language
        )
    language = file.language or by or language_of("x", file.text)
    if language == _OTHER:
        language = "" if is_program(file.path) else _looks_like(file)
    elif not language and not suffix_of(file.path) and not file.text.startswith("#!"):
        language = "shell"  # the default interpreter without a shebang
    return msgspec.structs.replace(file, role=PartRole.SCRIPT, is_run=True, language=language)
