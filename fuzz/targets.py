"""The fuzz targets: what each does with its input, and what must hold afterwards."""

import io
import re
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from fuzz import seeds
from fuzz.skill_from_bytes import pieces_of, write_skill
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.archive import unpack
from vskill_platform.model.verdict import FindingKind, Verdict
from vskill_platform.scan.any_language.code_signs import SIGNS, code_signs
from vskill_platform.scan.any_language.read_any_text import read_any_text
from vskill_platform.scan.any_language.trace_program import trace_program
from vskill_platform.scan.collect.encoded_texts import encoded_facts
from vskill_platform.scan.collect.file_facts import file_facts
from vskill_platform.scan.collect.frontmatter_values import FrontmatterValues
from vskill_platform.scan.collect.instruction_files import mark_instruction_files
from vskill_platform.scan.collect.link_facts import link_facts
from vskill_platform.scan.collect.locate_facts import Fragments
from vskill_platform.scan.collect.run_files import mark_run_files
from vskill_platform.scan.collect.settings_facts import settings_facts
from vskill_platform.scan.facts import hidden_text
from vskill_platform.scan.facts.decode_text import decode_literal, find_encoded
from vskill_platform.scan.facts.facts import Fact, LocatedFact, storable
from vskill_platform.scan.facts.hosts import classify_host, hosts_in
from vskill_platform.scan.facts.leaked_secrets import find_leaked_secrets, redact
from vskill_platform.scan.languages.javascript.read_javascript import read_javascript
from vskill_platform.scan.languages.powershell.read_powershell import read_powershell
from vskill_platform.scan.languages.python.read_python import read_python
from vskill_platform.scan.languages.shell.read_shell import read_shell
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.prose.commands_in_prose import commands_in
from vskill_platform.scan.prose.find_instructions import find_instructions
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.prose.read_prose import read_prose, read_words_in_code
from vskill_platform.scan.prose.search_views import search_views
from vskill_platform.scan.read.containers import (
    MAX_MEMBERS,
    UnpackBudget,
    UnreadableArchive,
    open_container,
)
from vskill_platform.scan.read.decode_bytes import read_bytes, text_of
from vskill_platform.scan.read.frontmatter import FrontmatterError, read_frontmatter
from vskill_platform.scan.read.magic import CONTAINERS, FileType, file_type
from vskill_platform.scan.read.regions import Region, RegionKind, split_markdown
from vskill_platform.scan.read.skill_files import ScanFile, language_of, role_of, scan_file
from vskill_platform.scan.reports.report_html import write_html
from vskill_platform.scan.reports.report_json import write_json, write_jsonl
from vskill_platform.scan.reports.report_sarif import write_sarif
from vskill_platform.scan.reports.report_text import write_text
from vskill_platform.scan.rules.match_rules import apply_rules
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.scan.scan_many import Scanned, ScanTarget
from vskill_platform.scan.scan_skill import ScanResult, all_facts, scan_skill
from vskill_platform.scan.settings_files.remote_settings import remote_settings
from vskill_platform.scan.settings_files.settings_signs import settings_signs

Check = Callable[[bytes], None]
Reader = Callable[[str], list[Fact]]
#: How long a text is made of one repeated piece.
PUMPED_CHARACTERS = 32 * 1024
#: What other kinds of files begin with, as a shell would take it.
_STARTS = (
    b"", b"#!/bin/sh\n", b"GIF89a=1\n", b"RIFF=1\n", b"ID3=1\n", b"OTTO=1\n", b"\xef\xbb\xbf",
    b"%PDF\n", b"BZh=1\n", b"wOFF=1\n", b"MZ=1\n",
)  # fmt: skip
#: So much of a secret must never be seen in one piece.
_SECRET_CHARACTERS = 12
_SIGN_PARTS = [re.compile(part) for _, _, _, parts in SIGNS for part in parts]
#: One of each format of settings.
_SUFFIXES = (".json", ".yaml", ".toml", ".ini", ".ipynb")
_MAX_UNPACKED = 16 * 1024 * 1024
#: Characters that no reader sees and no text needs: tags, and marks of the direction of writing.
_UNSEEN = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")


class FuzzTarget(msgspec.Struct, frozen=True, kw_only=True):
    check: Check
    seeds: Callable[[], Iterable[bytes]]
    #: The longest input; time is allowed by the length.
    max_bytes: int = 64 * 1024
    #: What the check makes of an input, if that is longer than the input itself.
    grows_to: int = 0


class Broken(AssertionError):
    """A promise that was not kept."""


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _storable(value: object) -> None:
    msgspec.json.decode(msgspec.json.encode(value))


def _read(reader: Reader, code: str) -> None:
    try:
        facts = reader(code)
    except Unparsed as error:
        facts = error.facts
    _storable(facts)
    if any(fact.line < 1 for fact in facts):
        raise Broken("a fact stands before the first line")


def _language(reader: Reader) -> Check:
    return lambda raw: _read(reader, _text(raw))


def _typescript(code: str) -> list[Fact]:
    return read_javascript(code, typescript=True)


_READERS: tuple[Reader, ...] = (
    read_shell, read_python, read_javascript, _typescript, read_powershell,
)  # fmt: skip


def _markdown(raw: bytes) -> None:
    text = _text(raw)
    lines = text.count("\n") + 1
    for region in split_markdown(text):
        part = Paragraphs(region.text, region.line)
        facts = read_prose(part)
        _storable(facts)
        places = [fact.line for fact in facts]
        places += [part.line_at(view, start) for view, start, _ in commands_in(part)]
        if any(not region.line <= place <= lines for place in places):
            raise Broken("something was found outside of the region that it is in")


def _frontmatter(raw: bytes) -> None:
    try:
        found = read_frontmatter(_text(raw))
    except FrontmatterError as error:
        if error.line < 1:
            raise Broken("an error before the first line") from error
        return
    msgspec.to_builtins(found)


def _decode(raw: bytes) -> None:
    text = _text(raw)
    decode_literal(text)
    for start, plain in find_encoded(text):
        if not (0 <= start < len(text) and plain):
            raise Broken("something was decoded that is not there")


def _hidden(raw: bytes) -> None:
    text = _text(raw)
    seen = hidden_text.visible(text)
    if seen.count("\n") != text.count("\n"):
        raise Broken("lines did not stay lines")
    if hidden_text.without_escapes(text).count("\n") != text.count("\n"):
        raise Broken("a decoded escape became a line")
    if not hidden_text.hidden_message(text + seeds.UNSEEN_ATTACK):
        raise Broken("a message in invisible characters was passed over")
    if _UNSEEN.search(seen):
        raise Broken("hidden characters are still there")
    for find in (
        hidden_text.bidi_lines, hidden_text.invisible_in_words, hidden_text.mixed_words,
    ):  # fmt: skip
        if any(not 1 <= line <= text.count("\n") + 1 for line in find(text)):
            raise Broken("a line that is not there")


def _hosts(raw: bytes) -> None:
    for host in hosts_in(_text(raw)):
        classify_host(host)


def _archive(raw: bytes) -> None:
    name = "a.zip" if raw[:2] == b"PK" else "a.tar.gz"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / name).write_bytes(raw)
        with suppress(SourceRefused):
            unpack(place / name, place / "out")
        _check_unpacked(place, name)


def _container(raw: bytes) -> None:
    kind = file_type(raw, "kit.tar")
    if kind not in CONTAINERS:
        return
    names = []
    try:
        for member in open_container("kit.tar", kind, raw, UnpackBudget()):
            names.append(member.name)
            scan_file(f"kit!/{storable(member.name)}", member.raw, size=1, manifest="")
    except UnreadableArchive:
        pass
    if len(names) > MAX_MEMBERS:
        raise Broken("more came out than was allowed")


def _secrets(raw: bytes) -> None:
    text = _text(raw)
    shown = redact(text)
    if shown.count("\n") != text.count("\n"):
        raise Broken("lines did not stay lines")
    for found in find_leaked_secrets(text):
        secret = text[found.start : found.start + _SECRET_CHARACTERS]
        if secret in shown and text.count(secret) == 1:  # elsewhere it may have no shape
            raise Broken(f"{found.name} is still there")


def _file(path: str, text: str) -> ScanFile:
    language = language_of(path, text)
    role = role_of(path, language, "")
    return ScanFile(
        path=path, size=len(text), kind=FileType.TEXT, role=role, text=text, language=language
    )


def _located(facts: Iterable[LocatedFact], text: str) -> None:
    found = [located.fact for located in facts]
    _storable(found)
    if any(not 1 <= fact.line <= text.count("\n") + 1 for fact in found):
        raise Broken("a fact stands in a line that is not there")


def _settings(raw: bytes) -> None:
    suffix = _SUFFIXES[raw[0] % len(_SUFFIXES)] if raw else ".json"
    text = _text(raw[1:])
    fence = f"```{suffix[1:]}\n{text}\n```\n"
    _located(settings_facts([_file(f"a{suffix}", text)]), text)
    _located(settings_facts([_file("SKILL.md", fence)]), fence)


def _remote_settings(raw: bytes) -> None:
    name = seeds.REMOTE_FILES[raw[0] % len(seeds.REMOTE_FILES)] if raw else "page.html"
    text = _text(raw[1:])
    _located(remote_settings([_file(name, text)]), text)


def _encoded_texts(raw: bytes) -> None:
    text = _text(raw)
    _located(encoded_facts([_file("SKILL.md", text)]), text)


def _frontmatter_values(raw: bytes) -> None:
    text = _text(raw)
    values = FrontmatterValues(Region(kind=RegionKind.FRONTMATTER, line=2, text=text))
    search_views(values.views())
    facts = values.facts(Fragments())
    _storable(facts)
    if any(not 2 <= fact.line <= text.count("\n") + 3 for fact in facts):  # noqa: PLR2004 - a number of the format
        raise Broken("a value stands outside of the frontmatter")


def _any_text(raw: bytes) -> None:
    for is_code in (False, True):
        _read(partial(read_any_text, is_code=is_code), _text(raw))


def _words_in_code(raw: bytes) -> None:
    _read(lambda text: [fact for facts in read_words_in_code(text) for fact in facts], _text(raw))


def _orders(raw: bytes) -> None:
    """Find what sentences are about, in any language and next to a row of a numbered table."""
    text = _text(raw)
    for shown in (text, f"| 1 | {text} |\n", f"1. [{text}](https://a.acme.dev)\n"):
        _markdown(shown.encode())
    for told in find_instructions(text, []):
        if not 0 <= told.start < told.end <= len(text):
            raise Broken("a sentence stands outside of the text")


def _links(raw: bytes) -> None:
    text = _text(raw)
    _located(link_facts([_file("SKILL.md", text)]), text)


def _signs(text: str) -> list[Fact]:
    """Search a text for all signs, also for those whose words it does not have."""
    for part in _SIGN_PARTS:
        part.search(text)
    return [*code_signs(text), *settings_signs(text)]


def _read_together(raw: bytes) -> None:
    """Read instructions and a file of any kind that they name, and match the rules."""
    name = seeds.READ_FILES[raw[0] % len(seeds.READ_FILES)] if raw else "run.sh"
    whole = _text(raw[1:]).replace("\r", "\n")  # as files are read
    told, _, text = whole.partition("\0")
    told = f"{told}\nRun {name}\n"
    facts = all_facts(mark_run_files([_file("SKILL.md", told), _file(name, text)]))
    for path, its in (("SKILL.md", told), (name, text)):
        _located((one for one in facts if one.path == path), its)
    for is_about_security in (False, True):
        apply_rules(load_rules(), facts, is_about_security=is_about_security)


def _file_bytes(raw: bytes) -> None:
    """Take bytes for files of many kinds: media have a structure, texts an encoding."""
    texts = read_bytes(raw).texts
    if not texts or texts[0] != text_of(raw):
        raise Broken("what is scanned is not what is shown")
    for name in ("a.png", "a.sh", "SKILL.md", "a.pdf", "a"):
        file = scan_file(name, raw, size=len(raw), manifest="")
        _storable(file.text)
        _storable([located.fact for located in file_facts([file])])


def _named_files(raw: bytes) -> None:
    """Let instructions and scripts name each other as something to run or to obey."""
    texts = [_text(part) for part in raw.split(b"\0", 3)]
    names = ("SKILL.md", "notes.md", "tests/run", "data.json")
    files = [_file(name, text) for name, text in zip(names, texts, strict=False)]
    marked = mark_instruction_files(mark_run_files(files))
    if [file.path for file in marked] != [file.path for file in files]:
        raise Broken("a file was lost")


def _check_unpacked(place: Path, name: str) -> None:
    if {path.name for path in place.iterdir()} != {name, "out"}:
        raise Broken("something was written outside of the folder")
    paths = list((place / "out").rglob("*"))
    if any(path.is_symlink() or not (path.is_file() or path.is_dir()) for path in paths):
        raise Broken("something came out that is neither file nor folder")
    if sum(path.stat().st_size for path in paths if path.is_file()) > _MAX_UNPACKED:
        raise Broken("far more came out than went in")


def _scan(folder: Path, raw: bytes) -> ScanResult:
    pieces = pieces_of(raw)
    write_skill(pieces, folder)
    result = scan_skill(folder, None)
    _storable(result)
    is_said = any(finding.kind is FindingKind.OPAQUE for finding in result.findings)
    if any(piece.is_sealed for piece in pieces) and (not is_said or result.verdict is Verdict.PASS):
        raise Broken("a sealed file was passed over")
    return result


def _skill(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _scan(Path(folder), raw)


def _smuggled(raw: bytes) -> None:
    """Put an attack behind a comment that says anything: a shell runs it, so it must be found."""
    start = _STARTS[raw[0] % len(_STARTS)] if raw else b""
    comment = raw[1:].replace(b"\n", b"").replace(b"\r", b"")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "SKILL.md").write_bytes(b"---\nname: notes\ndescription: x\n---\nRun run.sh.\n")
        (place / "run.sh").write_bytes(start + b"#" + comment + b"\n" + seeds.ATTACK + b"\n")
        if scan_skill(place, None).verdict is Verdict.PASS:
            raise Broken("an attack was passed over")


def _reports(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        target = ScanTarget(path="notes", folder=place)
        scanned = [Scanned(target=target, result=_scan(place, raw))]
        for write in (write_text, write_html, write_json, write_jsonl, write_sarif):
            out = io.StringIO()
            write(scanned, out)
            out.getvalue().encode()


def _pumped(raw: bytes) -> None:
    """Read the beginning, then one piece again and again, then the end: what grows, shows."""
    chosen, cut = (raw[0], raw[1]) if len(raw) > 1 else (0, 0)
    text = _text(raw[2:])
    at = len(text) * cut // 256
    head, piece, tail = text[:at], text[at : at + 1 + chosen // 8], text[at + 1 + chosen // 8 :]
    pumped = head + (piece or "(") * (PUMPED_CHARACTERS // max(len(piece), 1)) + tail
    _PUMPED[chosen % len(_PUMPED)](pumped[:PUMPED_CHARACTERS].encode())


_PUMPED: tuple[Check, ...] = (
    *(_language(reader) for reader in _READERS), _markdown, _decode, _hidden, _settings,
    _encoded_texts, _frontmatter_values, _any_text, _words_in_code, _file_bytes, _named_files,
    _remote_settings, _orders, _links, _language(_signs), _language(trace_program),
)  # fmt: skip
TARGETS: dict[str, FuzzTarget] = {
    "skill": FuzzTarget(check=_skill, seeds=seeds.skills),
    "smuggled": FuzzTarget(check=_smuggled, seeds=seeds.hidden),
    "reports": FuzzTarget(check=_reports, seeds=seeds.skills, max_bytes=16 * 1024),
    "shell": FuzzTarget(check=_language(read_shell), seeds=seeds.shell),
    "python": FuzzTarget(check=_language(read_python), seeds=seeds.python),
    "javascript": FuzzTarget(check=_language(read_javascript), seeds=seeds.javascript),
    "typescript": FuzzTarget(check=_language(_typescript), seeds=seeds.javascript),
    "powershell": FuzzTarget(check=_language(read_powershell), seeds=seeds.powershell),
    "frontmatter": FuzzTarget(check=_frontmatter, seeds=seeds.frontmatter),
    "markdown": FuzzTarget(check=_markdown, seeds=seeds.markdown),
    "decode": FuzzTarget(check=_decode, seeds=seeds.encoded),
    "hidden_text": FuzzTarget(check=_hidden, seeds=seeds.hidden),
    "hosts": FuzzTarget(check=_hosts, seeds=seeds.hosts, max_bytes=4 * 1024),
    "archive": FuzzTarget(check=_archive, seeds=seeds.archives),
    "container": FuzzTarget(check=_container, seeds=seeds.containers),
    "secrets": FuzzTarget(check=_secrets, seeds=seeds.secrets),
    "settings": FuzzTarget(check=_settings, seeds=seeds.settings),
    "remote_settings": FuzzTarget(check=_remote_settings, seeds=seeds.remote_settings),
    "encoded_texts": FuzzTarget(check=_encoded_texts, seeds=seeds.told_encoded),
    "frontmatter_values": FuzzTarget(check=_frontmatter_values, seeds=seeds.frontmatter),
    "any_text": FuzzTarget(check=_any_text, seeds=seeds.any_text),
    "words_in_code": FuzzTarget(check=_words_in_code, seeds=seeds.markdown),
    "orders": FuzzTarget(check=_orders, seeds=seeds.orders, max_bytes=16 * 1024),
    "links": FuzzTarget(check=_links, seeds=seeds.links),
    "signs": FuzzTarget(check=_language(_signs), seeds=seeds.signs),
    "trace_program": FuzzTarget(check=_language(trace_program), seeds=seeds.any_text),
    "file_bytes": FuzzTarget(check=_file_bytes, seeds=seeds.files),
    "named_files": FuzzTarget(check=_named_files, seeds=seeds.named_files),
    "read_together": FuzzTarget(check=_read_together, seeds=seeds.read_together),
    "pumped": FuzzTarget(
        check=_pumped, seeds=seeds.pumped, max_bytes=1024, grows_to=PUMPED_CHARACTERS
    ),
}
