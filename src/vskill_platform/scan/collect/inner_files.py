"""Open archives in a skill and add their members as further files: `kit.tgz!/run.sh`."""

import re
from pathlib import PurePosixPath

import msgspec

from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, shorten, storable
from vskill_platform.scan.read.containers import (
    MAX_DEPTH,
    ArchiveMember,
    UnpackBudget,
    UnreadableArchive,
    open_container,
)
from vskill_platform.scan.read.magic import CONTAINERS, FileType
from vskill_platform.scan.read.skill_files import ScanFile, scan_file

_DOCUMENTS = {".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub", ".vsix", ".nupkg"}
#: Kinds of files that don't belong in a document.
_CODE = re.compile(
    r"\.(?:py|sh|bash|js|mjs|ps1|bat|cmd|vbs|exe|dll|so|dylib|jar|scr|hta)$|vbaProject\.bin$",
    re.IGNORECASE,
)


class Opened(msgspec.Struct, frozen=True):
    files: list[ScanFile]
    #: Files that could not be read, or do not belong in their place.
    facts: list[LocatedFact]


def open_containers(files: list[ScanFile], manifest: str) -> Opened:
    """Open every archive of a skill, including nested ones; all archives share the same limits."""
    opener = _Opener(manifest.lower())
    for file in files:
        opener.open(file, depth=1)
    return Opened(opener.files, opener.facts)


class _Opener:
    def __init__(self, manifest: str) -> None:
        self.files: list[ScanFile] = []
        self.facts: list[LocatedFact] = []
        self._manifest = manifest
        self._budget = UnpackBudget()

    def open(self, file: ScanFile, *, depth: int) -> None:
        if file.kind not in CONTAINERS:
            return
        if file.is_cut or depth > MAX_DEPTH:
            self._add(file, "an archive that is too large or nested too deeply", "cut")
            return
        has_bytecode = False
        try:
            for member in open_container(file.path, file.kind, file.raw, self._budget):
                inner = self._take(file, member)
                if inner.kind is FileType.BYTECODE and has_bytecode:
                    continue  # a Java library counts as one unreadable file
                has_bytecode |= inner.kind is FileType.BYTECODE
                self.files.append(inner)
                self.open(inner, depth=depth + 1)
        except UnreadableArchive as unreadable:
            self._add(file, str(unreadable), unreadable.detail)

    def _take(self, file: ScanFile, member: ArchiveMember) -> ScanFile:
        if member.flaw:
            self._add(file, member.flaw, member.detail)
        is_document = PurePosixPath(file.path).suffix.lower() in _DOCUMENTS
        if is_document and _CODE.search(member.name):
            self._add(file, f"code inside a document: {member.name}", "code")
        path = f"{file.path}!/{storable(member.name).lstrip('/')}"
        return scan_file(path, member.raw, size=len(member.raw), manifest=self._manifest)

    def _add(self, file: ScanFile, text: str, detail: str) -> None:
        fact = Fact(act=Act.OPAQUE, line=1, text=shorten(text), detail=detail)
        self.facts.append(LocatedFact(fact=fact, path=file.path, role=file.role))
