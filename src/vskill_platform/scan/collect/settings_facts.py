"""Find commands, tool servers and texts in settings files and in fences that show settings."""

from collections.abc import Iterator
from itertools import chain

import msgspec
import re2

from vskill_platform.scan.any_language.code_signs import code_signs
from vskill_platform.scan.collect.commands_in_comments import mentioned_commands
from vskill_platform.scan.collect.unlabelled_code import may_be_code, read_unlabelled
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole
from vskill_platform.scan.facts.hidden_text import visible, without_namespaces
from vskill_platform.scan.languages.dispatch import read_python
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.prose.commands_in_prose import is_disguised
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.prose.read_prose import read_prose
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.regions import RegionKind, split_markdown
from vskill_platform.scan.read.skill_files import ScanFile, is_prose, name_of, suffix_of
from vskill_platform.scan.settings_files.dependencies import requests_of_hook, run_at
from vskill_platform.scan.settings_files.parse_settings import (
    FENCES,
    FORMATS,
    FoundSettings,
    read_settings,
)
from vskill_platform.scan.settings_files.settings_signs import settings_signs

#: Lock files: lists of installed packages, with nothing to run.
_LOCKS = frozenset({"package-lock.json", "pnpm-lock.yaml", "poetry.lock", "composer.lock"})
_BY_NAME = {
    ".gitconfig": "ini",
    "gitconfig": "ini",
    ".editorconfig": "ini",
    ".npmrc": "ini",
    ".condarc": "yaml",
}
#: A fence without any of these contains nothing relevant here.
_FENCE_HINT = re2.compile(r"(?i)mcp|permissions|command|\brun\b|script|hooks|exec")
#: Every fence with settings starts like this; most texts have none and need not be split.
_SETTINGS_FENCE = re2.compile(
    r"(?i)(?:```|~~~)[`~{}.\s\v\x1c-\x1f\x{85}\pZ]*(?:jsonc?|ya?ml|toml|\{)"
)
#: All whitespace that `re` matches; this engine's own class has only ASCII.
_SPACE = r"[\s\v\x1c-\x1f\x{85}\pZ]"
#: A text that reads like a command line.
_COMMAND_LINE = re2.compile(
    rf"(?m)^{_SPACE}*(?:sudo{_SPACE}+)?(?:curl|wget|bash|sh|zsh|python3?|node|npx|npm|pip3?|uvx?|powershell|pwsh|"
    r"cmd|osascript|nc|ncat|socat|eval|echo|printf|cat|tar|rm|dd|scp|ssh|env|printenv|crontab|"
    r"launchctl|systemctl|chmod|docker|claude|codex|base64|nohup|xattr|spctl|perl|ruby|php|find|"
    r"mkfifo|exec|source|xmrig|git|sudo)(?:[\s\"'$<>|;&\v\x1c-\x1f\x{85}\pZ]|$)"
    rf"|\|{_SPACE}*(?:sudo{_SPACE}+)?(?:ba|z|da)?sh\b|/dev/tcp/|[$]\({_SPACE}*(?:curl|wget)\b"
)


def settings_facts(files: list[ScanFile]) -> list[LocatedFact]:
    return [located for file in files for located in _facts(file)]


def _facts(file: ScanFile) -> Iterator[LocatedFact]:
    if file.kind is not FileType.TEXT:
        return
    kind = FORMATS.get(suffix_of(file.path)) or _BY_NAME.get(name_of(file.path))
    if kind and not file.language and name_of(file.path) not in _LOCKS:
        yield from _located(file, read_settings(file.text, kind), file.role, shift=0)
    elif file.role is PartRole.INSTRUCTION and not file.language and not is_prose(file.path):
        yield from _words(file, [(1, file.text)], file.role)  # a page, an image, a table
    elif is_prose(file.path) and "```" in file.text and _may_show_settings(file.text):
        for region in split_markdown(file.text):
            kind = FENCES.get(region.language) or _guess(region.language, region.text)
            if region.kind is RegionKind.FENCE and kind and _is_worth_reading(region.text):
                found = read_settings(region.text, kind)
                found.texts = []  # words in fences are read with the rest of the text
                if not found.commands and _has_command_line(region.text):
                    found.commands = [(1, region.text)]  # whatever the label of the fence
                yield from _located(file, found, file.role, shift=region.line)


def _may_show_settings(text: str) -> bool:
    raw = text.encode(errors="replace")
    return _SETTINGS_FENCE.search(raw) is not None and _is_worth_reading(text)


def _is_worth_reading(text: str) -> bool:
    raw = text.encode(errors="replace")  # strings in code may contain lone surrogates
    return bool(_FENCE_HINT.search(raw) or _COMMAND_LINE.search(raw) or is_disguised(text))


def _has_command_line(text: str) -> bool:
    return _COMMAND_LINE.search(text.encode(errors="replace")) is not None or is_disguised(text)


def _guess(language: str, text: str) -> str:
    return "json" if not language and text.lstrip().startswith("{") else ""


def _located(
    file: ScanFile, found: FoundSettings, role: PartRole, *, shift: int
) -> Iterator[LocatedFact]:
    """Attach roles: commands in settings are scripts, texts have the role of their file."""
    runs = role if role in {PartRole.SAMPLE, PartRole.INSTRUCTION} or shift else PartRole.SCRIPT
    for fact in _run(found):
        yield _at(file, fact, runs, shift)
    for fact in found.facts:
        yield _at(file, fact, runs, shift)
    for fact in settings_signs(file.text) if not shift else ():
        yield _at(file, fact, runs, 0)
    if found.texts:
        yield from _words(file, found.texts, role)
    if found.is_cut or found.has_more_commands:
        detail = "cut" if found.has_more_commands else "unknown"
        cut = Fact(act=Act.OPAQUE, line=1, text="more settings than can be analysed", detail=detail)
        yield _at(file, cut, role, 0)


def _run(found: FoundSettings) -> Iterator[Fact]:
    """Yield what the commands and programs in settings do."""
    for line, command in found.commands:
        yield from (fact for fact in run_at(command, line) if not _is_noise(fact))
        for fact in code_signs(command):
            yield msgspec.structs.replace(fact, line=line)
    for line, command in found.hooks:
        yield from requests_of_hook(command, line)
    for line, _, code in found.programs:
        for fact in (*_python(code), *code_signs(code)):
            yield msgspec.structs.replace(fact, line=line)


def _is_noise(fact: Fact) -> bool:
    """Return whether a text cannot be parsed as a command, so that it may not be one."""
    return fact.act is Act.OPAQUE and fact.detail == "unparsed"


def _words(file: ScanFile, texts: list[tuple[int, str]], role: PartRole) -> Iterator[LocatedFact]:
    """Read all texts in one pass, each as its own paragraph."""
    lines, parts = [], []
    for line, text in texts:
        # Escapes hide characters from a search of the whole file.
        part = without_namespaces(visible(text)).rstrip("\n")
        parts.append(part)
        lines += [line] * (part.count("\n") + 2)
    whole = "\n\n".join(parts)
    if _has_command_line(whole):  # most settings have none: one search instead of one per text
        numbered = [(line, part) for (line, _), part in zip(texts, parts, strict=True)]
        commands = (run_at(part, line) for line, part in numbered if _has_command_line(part))
        for fact in chain.from_iterable(commands):
            if fact.act is not Act.OPAQUE:
                yield _at(file, fact, role, 0)
    for line, code in zip((line for line, _ in texts), parts, strict=True):
        for fact in read_unlabelled(code) if may_be_code(code) else ():
            yield _at(file, msgspec.structs.replace(fact, line=line), role, 0)
    yield from _words_of_paragraph(file, Paragraphs(whole, 1), lines, role)


def _words_of_paragraph(
    file: ScanFile, words: Paragraphs, lines: list[int], role: PartRole
) -> Iterator[LocatedFact]:
    for fact in (
        *read_prose(words),
        *mentioned_commands(words, is_obeyed=role is PartRole.INSTRUCTION),
    ):
        at = lines[min(fact.line, len(lines)) - 1]
        yield _at(file, msgspec.structs.replace(fact, line=at), role, 0)


def _python(code: str) -> list[Fact]:
    try:
        return read_python(code)
    except Unparsed as error:
        return error.facts


def _at(file: ScanFile, fact: Fact, role: PartRole, shift: int) -> LocatedFact:
    if shift:
        fact = msgspec.structs.replace(fact, line=fact.line + shift)
    return LocatedFact(fact=fact, path=file.path, role=role)
