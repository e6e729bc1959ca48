"""Facts about whole files: programs, archives, active images, hooks, hidden characters."""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import msgspec

from vskill_platform.scan.collect import Placed, facts_of
from vskill_platform.scan.facts import Act, Fact, shorten
from vskill_platform.scan.hidden_text import (
    bidi_lines,
    hidden_message,
    invisible_in_words,
    mixed_words,
    visible,
)
from vskill_platform.scan.languages.shell.read_shell import read_shell
from vskill_platform.scan.magic import FileType
from vskill_platform.scan.skill_files import Role, ScanFile, scan_file

_MAX_MEMBERS = 200
_MAX_MEMBER_BYTES = 512 * 1024
_ACTIVE = re.compile(
    r"<script\b|\bon(?:load|error|click|mouseover|begin)\s*=|javascript:|<foreignObject\b",
    re.IGNORECASE,
)
_DOCUMENTS = {".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub", ".vsix", ".nupkg"}
#: Members of office files that are code.
_MEMBER_CODE = re.compile(
    r"\.(?:py|sh|bash|js|mjs|ps1|bat|cmd|vbs|exe|dll|so|dylib|jar|scr|hta)$|vbaProject\.bin$",
    re.IGNORECASE,
)
#: Under these names settings keep what they run.
_COMMAND_KEYS = frozenset(
    {"command", "cmd", "run", "script", "shell", "exec", "install", "shellCommand"}
)
_MAX_COMMAND = 10_000
_INSTALL_SCRIPTS = (
    "preinstall",
    "install",
    "postinstall",
    "prepare",
    "preuninstall",
    "postuninstall",
)


def file_facts(files: list[ScanFile]) -> list[Placed]:
    return [placed for file in files for placed in _facts(file)]


def _facts(file: ScanFile) -> Iterator[Placed]:
    if file.kind is not FileType.TEXT:
        yield from _binary(file)
        return
    yield from _hidden(file)
    if file.is_cut:
        yield _at(file, Act.OPAQUE, 1, "only its beginning was read", "cut")
    suffix = PurePosixPath(file.path).suffix.lower()
    if suffix == ".svg" and (found := _ACTIVE.search(file.text)):
        line = file.text.count("\n", 0, found.start()) + 1
        yield _at(file, Act.ACTIVE, line, found[0], "svg")
    if suffix == ".json":
        yield from _json(file)


def _binary(file: ScanFile) -> Iterator[Placed]:
    match file.kind:
        case FileType.EXECUTABLE | FileType.DISK_IMAGE:
            yield _at(file, Act.EXECUTABLE, 1, file.kind, file.kind)
        case FileType.BYTECODE | FileType.ARCHIVE:
            yield _at(file, Act.OPAQUE, 1, file.kind, file.kind)
        case FileType.ZIP:
            yield from _zip(file)
        case FileType.GZIP | FileType.TAR:
            yield _at(file, Act.OPAQUE, 1, file.kind, file.kind)
        case _:
            return


def _zip(file: ScanFile) -> Iterator[Placed]:
    """Look inside of a zip archive, one level deep and within bounds."""
    try:
        with zipfile.ZipFile(io.BytesIO(file.raw)) as archive:
            members = archive.infolist()[:_MAX_MEMBERS]
            if any(member.flag_bits & 1 for member in members):
                yield _at(file, Act.OPAQUE, 1, "an encrypted archive", "encrypted")
                return
            is_document = PurePosixPath(file.path).suffix.lower() in _DOCUMENTS
            for member in members:
                if _MEMBER_CODE.search(member.filename) or (
                    not is_document and member.filename.lower().endswith("skill.md")
                ):
                    yield from _member(file, archive, member)
            if not is_document:
                yield _at(file, Act.OPAQUE, 1, "an archive inside of the skill", "archive")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, EOFError):
        yield _at(file, Act.OPAQUE, 1, "an archive that cannot be read", "broken")


def _member(file: ScanFile, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[Placed]:
    with archive.open(member) as content:
        raw = content.read(_MAX_MEMBER_BYTES)
    path = f"{file.path}!{member.filename}"
    inner = scan_file(path, raw, size=member.file_size, manifest="")
    yield _at(file, Act.OPAQUE, 1, f"code inside of an archive: {member.filename}", "code")
    yield from facts_of(inner)


def _hidden(file: ScanFile) -> Iterator[Placed]:
    if file.text.isascii():
        return
    message = hidden_message(file.text)
    if message:
        yield _at(file, Act.HIDDEN, 1, message, "instruction")
    for line in bidi_lines(file.text)[:1]:
        yield _at(file, Act.HIDDEN, line, "characters that change the order of the text", "bidi")
    for line in mixed_words(file.text)[:1] if file.language else ():
        text = file.text.split("\n")[line - 1]
        yield _at(file, Act.HIDDEN, line, shorten(text), "word")
    for line in invisible_in_words(file.text)[:1]:
        text = visible(file.text.split("\n")[line - 1])
        yield _at(file, Act.HIDDEN, line, shorten(text), "word")


def _json(file: ScanFile) -> Iterator[Placed]:
    try:
        content = json.loads(file.text)
    except (ValueError, RecursionError):
        return
    if PurePosixPath(file.path).name == "package.json":
        yield from _package_json(file, content)
    else:
        yield from _commands(file, content)


def _commands(file: ScanFile, content: Any) -> Iterator[Placed]:
    """Read what a settings file runs: hooks, servers, tasks."""
    todo = [content]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            for name, item in value.items():
                if name in _COMMAND_KEYS and isinstance(item, str):
                    line = _line_of(file, item)
                    for fact in read_shell(item[:_MAX_COMMAND]):
                        moved = msgspec.structs.replace(fact, line=line)
                        yield Placed(fact=moved, path=file.path, role=Role.SCRIPT)
                todo.append(item)
        elif isinstance(value, list):
            todo += value


def _line_of(file: ScanFile, text: str) -> int:
    place = file.text.find(text[:40])
    return file.text.count("\n", 0, place) + 1 if place >= 0 else 1


def _package_json(file: ScanFile, package: Any) -> Iterator[Placed]:
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return
    for name in _INSTALL_SCRIPTS:
        command = scripts.get(name)
        if isinstance(command, str):
            line = file.text.count("\n", 0, max(file.text.find(f'"{name}"'), 0)) + 1
            yield _at(file, Act.HOOK, line, f"{name}: {command}", name)
            for fact in read_shell(command):
                yield Placed(fact=fact, path=file.path, role=Role.SCRIPT)


def _at(file: ScanFile, act: Act, line: int, text: str, detail: str) -> Placed:
    fact = Fact(act=act, line=line, text=shorten(text), detail=detail)
    return Placed(fact=fact, path=file.path, role=file.role)
