"""Read the files of a skill and classify them: type, language, and role."""

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path, PurePosixPath

import msgspec

from vskill_platform.scan.facts.facts import PartRole, storable
from vskill_platform.scan.read.decode_bytes import read_bytes
from vskill_platform.scan.read.list_files import FoundFile, list_files
from vskill_platform.scan.read.magic import (
    CONTAINERS,
    MAX_CONTAINER_BYTES,
    FileType,
    file_type,
    has_archive_behind,
    pretends,
)

#: A longer text is read up to this size, and reported as partly read.
MAX_TEXT_BYTES = 1024 * 1024
MAX_FILES_READ = 2000


class ScanFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    size: int
    kind: FileType
    role: PartRole
    #: Empty for files that are not text.
    text: str = ""
    #: Other texts to which programs may decode the same bytes.
    other_texts: tuple[str, ...] = ()
    #: The language of code; empty for prose and data.
    language: str = ""
    raw: bytes = b""
    is_cut: bool = False
    #: Whether its bytes are not text, but programs would read or run it as text.
    is_disguised: bool = False
    #: Whether an archive is unexpectedly appended to it.
    has_archive_behind: bool = False
    #: Whether an instruction or a script of the skill runs it.
    is_run: bool = False
    #: Whether the instructions tell the agent to follow its words, although it is code.
    is_obeyed: bool = False


_LANGUAGES = {
    ".py": "python",
    ".pyw": "python",
    ".pth": "python",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".fish": "shell",
    ".command": "shell",
    ".ksh": "shell",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".tsx": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".ps1": "powershell",
    ".psm1": "powershell",
    ".psd1": "powershell",
    ".bat": "powershell",
    ".cmd": "powershell",
    ".mk": "shell",
    ".make": "shell",
    ".env": "shell",
}
_NAMES = {
    "makefile": "shell",
    "gnumakefile": "shell",
    ".env": "shell",
    ".envrc": "shell",
    ".bashrc": "shell",
    ".zshrc": "shell",
    ".profile": "shell",
    "justfile": "shell",
    "dockerfile": "shell",
    "earthfile": "shell",
    "containerfile": "shell",
    "bashrc": "shell",
    "zshrc": "shell",
    "profile": "shell",
    "bash_profile": "shell",
    ".bash_profile": "shell",
    ".zshenv": "shell",
    ".zprofile": "shell",
    ".xinitrc": "shell",
    "procfile": "shell",
    "pkgbuild": "shell",
    # Git runs files with these names.
    "pre-commit": "shell",
    "pre-push": "shell",
    "commit-msg": "shell",
    "prepare-commit-msg": "shell",
    "post-checkout": "shell",
    "post-commit": "shell",
    "post-merge": "shell",
    "post-rewrite": "shell",
}
_SHEBANGS = (
    (re.compile(r"^#!.*\bpython"), "python"),
    (re.compile(r"^#!.*\b(?:ba|z|da|k)?sh\b"), "shell"),
    (re.compile(r"^#!.*\b(?:node|deno|bun)\b"), "javascript"),
    (re.compile(r"^#!.*\bpwsh\b"), "powershell"),
)
_PROSE = {".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ""}
_TEXT_SUFFIXES = (_PROSE - {""}) | {
    ".json", ".yaml", ".yml", ".toml", ".svg", ".html", ".xml", ".cfg", ".conf", ".env", ".rs",
    ".rb", ".pl", ".php", ".go", ".lua", ".java",
}  # fmt: skip
#: Types of files that are not read at all.
_INERT = frozenset({FileType.MEDIA, FileType.DOCUMENT, FileType.DATA})
#: Programs in languages without a reader.
_PROGRAMS = frozenset(
    {
        ".rb", ".pl", ".pm", ".php", ".lua", ".go", ".rs", ".java", ".kt", ".kts", ".cs", ".swift",
        ".applescript", ".scpt", ".awk", ".r", ".jl", ".groovy", ".gradle", ".scala", ".vb", ".vbs",
        ".wsf", ".hta", ".tcl", ".el", ".clj", ".ex", ".exs", ".dart", ".c", ".cc", ".cpp", ".m",
        ".zig", ".nim", ".inc", ".cmake", ".bats", ".csh", ".nu", ".reg", ".jsp", ".asp", ".aspx",
        ".csx", ".fsx", ".fs", ".rake", ".gemspec", ".tf", ".hcl", ".nomad", ".plist", ".csproj",
        ".targets", ".hs", ".ml", ".erl", ".cr", ".raku", ".scm", ".rkt", ".lisp", ".coffee",
        ".ahk", ".au3", ".tex", ".sty", ".sql", ".bas", ".vba",
        ".fnl", ".pas", ".sc", ".sbt", ".bzl", ".star", ".podspec", ".vim",
        ".v", ".vala", ".d", ".gd", ".pyx", ".mm", ".ino", ".f90", ".hx", ".odin", ".hy", ".cljs",
        ".cljc", ".janet", ".escript", ".wren", ".erb", ".vbe", ".wsc", ".sct", ".gleam", ".cob",
        ".nix", ".bazel", ".nf", ".smk", ".gp", ".gnuplot", ".exp", ".service", ".desktop", ".cron",
        ".ovpn", ".nims",
    }
)  # fmt: skip
#: The same, for files without a suffix.
_PROGRAM_NAMES = frozenset(
    {
        "rakefile", "vagrantfile", "jenkinsfile", "gemfile", "podfile", "fastfile", "brewfile",
        "snakefile", "guardfile", "berksfile", "thorfile", "capfile", "dangerfile", "tiltfile",
        "cmakelists.txt", "pom.xml", "build.xml", "build", "workspace", "sconstruct", "wscript",
        "crontab", "user-data", ".gdbinit", ".lldbinit", ".vimrc", "ssh_config", ".irbrc", ".pryrc",
        ".gitconfig", "gitconfig", ".inputrc", ".mailcap", ".emacs", ".exrc", ".nvimrc", ".muttrc",
        ".screenrc", ".psqlrc", ".sqliterc", ".curlrc", ".wgetrc", ".condarc", ".gemrc", ".yarnrc",
        ".npmrc", ".terraformrc", ".gitmodules", "go.mod", ".rprofile", "meson.build",
    }
)  # fmt: skip
#: A file that pytest loads automatically, wherever the tests are.
_RUN_BY_ITSELF = frozenset({"conftest.py"})
_SAMPLE_FOLDERS = {
    "test",
    "tests",
    "__tests__",
    "testdata",
    "test-fixtures",
    "fixtures",
    "fixture",
    "evals",
    "eval",
    "examples",
    "example",
    "samples",
    "sample",
    "spec",
    "specs",
    "mocks",
    "benchmarks",
}
_INSTRUCTION_NAMES = {
    "skill.md",
    "claude.md",
    "agents.md",
    "gemini.md",
    "soul.md",
    "heartbeat.md",
    "identity.md",
    "memory.md",
    ".cursorrules",
    "copilot-instructions.md",
    "system_prompt.md",
    "system_prompt.txt",
}
#: Words in the name of a file that say that it is for agents, such as `notes-for-ai.md`.
_FOR_AGENTS = re.compile(
    r"(?:^|[^a-z])(?:agents?|claude|codex|gemini|copilot|cursor|assistants?|llms?|ai)(?:[^a-z]|$)"
)
_INSTRUCTION_FOLDERS = {"commands", "agents", "prompts", "rules", "hooks"}


def read_skill_files(folder: Path) -> list[ScanFile]:
    """Read every file of a skill, the manifest first."""
    return read_files(folder, list_files(folder))


def read_files(folder: Path, found: Iterable[FoundFile]) -> list[ScanFile]:
    """Read the files found in *folder*, the manifest first; links are skipped."""
    names = sorted(
        (file.name for file in found if file.is_plain),
        key=lambda name: (name.rpartition("/")[2] != "SKILL.md", name),
    )[:MAX_FILES_READ]
    is_alone = names == ["SKILL.md"]  # otherwise it could not name other files
    manifest = "" if is_alone else _manifest_text(folder)
    return [_read(folder, name, manifest) for name in names]


def language_of(path: str, text: str) -> str:
    """Return the language of a file, by its name or its first line."""
    suffix = suffix_of(path)
    found = _LANGUAGES.get(suffix) or _NAMES.get(name_of(path))
    if found or suffix not in {"", ".cgi", ".run", ".tool"} or not text.startswith("#!"):
        return found or ""
    return next((language for shebang, language in _SHEBANGS if shebang.match(text[:200])), "")


def role_of(path: str, language: str, manifest: str) -> PartRole:
    """Return the role of a file: how likely it is that it is obeyed or run."""
    parts = [part.lower() for part in PurePosixPath(path).parts]
    name = parts[-1]
    if name in _INSTRUCTION_NAMES or (is_prose(path) and _FOR_AGENTS.search(name)):
        return PartRole.INSTRUCTION
    is_named = name in manifest or path.lower() in manifest
    if set(parts[:-1]) & _SAMPLE_FOLDERS and not is_named and name not in _RUN_BY_ITSELF:
        return PartRole.SAMPLE
    if language or is_program(path):
        return PartRole.SCRIPT
    if set(parts[:-1]) & _INSTRUCTION_FOLDERS and is_prose(path):
        return PartRole.INSTRUCTION
    if not is_prose(path):
        return PartRole.SCRIPT if parts[0] in {"hooks", ".claude"} else PartRole.REFERENCE
    return PartRole.REFERENCE if is_named else PartRole.DOCUMENT


def is_program(path: str) -> bool:
    """Return whether a file's name shows that it is a program in a language without a parser."""
    return suffix_of(path) in _PROGRAMS or name_of(path) in _PROGRAM_NAMES


def is_prose(path: str) -> bool:
    return suffix_of(path) in _PROSE and name_of(path) not in _PROGRAM_NAMES


@lru_cache(maxsize=MAX_FILES_READ)  # every check of a file needs it
def name_of(path: str) -> str:
    """Return the last part of a path in lower case."""
    return PurePosixPath(path).name.lower()


@lru_cache(maxsize=MAX_FILES_READ)
def suffix_of(path: str) -> str:
    """Return a file's suffix with its dot, in lower case."""
    return PurePosixPath(path).suffix.lower()


def _manifest_text(folder: Path) -> str:
    path = folder / "SKILL.md"
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(MAX_TEXT_BYTES).decode(errors="replace").lower()


def _read(folder: Path, name: str, manifest: str) -> ScanFile:
    with open(os.path.join(folder, name), "rb") as file:  # noqa: PTH118, PTH123 - for many files
        size = os.fstat(file.fileno()).st_size
        # Up to the size that another check reports as too large, but never more than the remaining
        # budget.
        raw = file.read(min(size, MAX_CONTAINER_BYTES - 1) + 1)
        if len(raw) > size:  # some file systems report no size
            raw += file.read(MAX_CONTAINER_BYTES - len(raw))
    return scan_file(storable(name), raw, size=max(size, len(raw)), manifest=manifest)


def scan_file(path: str, raw: bytes, *, size: int, manifest: str) -> ScanFile:
    """Classify a file, or the beginning of one."""
    kind = file_type(raw, path)
    if kind in CONTAINERS:
        return ScanFile(
            path=path,
            size=size,
            kind=kind,
            role=PartRole.REFERENCE,
            raw=raw,
            is_cut=size > len(raw),
        )
    behind = has_archive_behind(raw)
    is_disguised = kind in _INERT and _is_called_text(path, raw)
    if kind is not FileType.TEXT and not is_disguised:
        role = (
            PartRole.SCRIPT
            if kind in {FileType.EXECUTABLE, FileType.BYTECODE}
            else PartRole.REFERENCE
        )
        return ScanFile(
            path=path,
            size=size,
            kind=kind,
            role=role,
            raw=raw[:MAX_TEXT_BYTES] if kind in _INERT else b"",
            has_archive_behind=behind,
        )
    reading = read_bytes(raw[:MAX_TEXT_BYTES])
    text = reading.texts[0]
    language = language_of(path, text)
    return ScanFile(
        path=path,
        size=size,
        kind=FileType.TEXT,
        role=role_of(path, language, manifest),
        text=text,
        other_texts=reading.texts[1:],
        language=language,
        is_cut=size > MAX_TEXT_BYTES,
        is_disguised=is_disguised or reading.is_doubtful or pretends(raw),
        has_archive_behind=behind,
    )


def _is_called_text(path: str, raw: bytes) -> bool:
    """Return whether a shell or an agent would read the file, whatever its first bytes pretend."""
    if name_of(path) in _INSTRUCTION_NAMES or language_of(path, raw[:200].decode("latin-1")):
        return True
    return suffix_of(path) in _TEXT_SUFFIXES
