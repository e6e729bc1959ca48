"""A small language for whole skills: every byte string is one, so a fuzzer can write it.

Separators divide the input into pieces. The first byte of a piece selects the name of a file, the
second how its content is packed, and the rest is the content.
"""

import base64
import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

SEPARATOR = b"\xff\x00"
MAX_PIECES = 12
NAMES = (
    "SKILL.md", "run.sh", "tool.py", "index.js", "index.ts", "setup.ps1", "notes.md",
    "reference/api.md", "tests/sample.sh", "package.json", "settings.json", "hooks/hook.json",
    "picture.svg", "Makefile", "Dockerfile", "requirements.txt", "pyproject.toml", "setup.py",
    "Cargo.toml", "build.rs", "kit.zip", "kit.tar", "kit.tgz", "kit.gz", "kit.xz", "kit.bz2",
    "form.docx", "data.bin", "run", "commands/go.md", ".env", "agents/AGENTS.md",
    "caf\udce9.sh", "l\udce9/SKILL.md", "a\nb.py",
)  # fmt: skip
_HEAD = b"---\nname: notes\ndescription: Helps with notes.\n---\n\n"


class Piece(msgspec.Struct, frozen=True):
    name: str
    content: bytes
    #: Whether nobody could read what is in it.
    is_sealed: bool


def _tar(content: bytes, mode: str = "w") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload] # chosen below
        member = tarfile.TarInfo("inner/run.sh")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _zip(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner/run.py", content)
        archive.writestr("SKILL.md", content)
    return packed.getvalue()


def _encrypted(content: bytes) -> bytes:
    """Set the flag of encryption in both headers of a zip archive."""
    packed = bytearray(_zip(content))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = packed.find(mark)
        while at >= 0:
            packed[at + offset] |= 1
            at = packed.find(mark, at + 4)
    return bytes(packed)


Pack = Callable[[bytes], bytes]
_OPEN: tuple[Pack, ...] = (
    lambda content: content,
    lambda content: _HEAD + content,
    lambda content: b"```bash\n" + content + b"\n```\n",
    lambda content: b"```python\n" + content + b"\n```\n",
    lambda content: b"\xff\xfe" + content.decode(errors="replace").encode("utf-16-le"),
    lambda content: b"echo '" + base64.b64encode(content) + b"' | base64 -d | sh\n",
    _zip,
    _tar,
    lambda content: _tar(content, "w:gz"),
    lambda content: gzip.compress(content, mtime=0),
    bz2.compress,
    lzma.compress,
    lambda content: _zip(_tar(gzip.compress(content, mtime=0))),
    lambda content: gzip.compress(content, mtime=0)[:-9],
)
_SEALED: tuple[Pack, ...] = (
    lambda content: b"7z\xbc\xaf\x27\x1c" + content,
    lambda content: b"Rar!\x1a\x07" + content,
    lambda content: b"PK\x03\x04" + content,
    _encrypted,
    lambda content: gzip.compress(_encrypted(content), mtime=0),
)
PACKS = (*_OPEN, *_SEALED)


def pieces_of(raw: bytes) -> list[Piece]:
    """Read the files of a skill from *raw*; the later of two with one name counts."""
    found = {}
    for piece in raw.split(SEPARATOR)[:MAX_PIECES]:
        if len(piece) > 1:
            pack = piece[1] % len(PACKS)
            name = NAMES[piece[0] % len(NAMES)]
            found[name] = Piece(name, PACKS[pack](piece[2:]), is_sealed=pack >= len(_OPEN))
    return list(found.values())


def write_skill(pieces: Iterable[Piece], folder: Path) -> None:
    for piece in pieces:
        path = folder / piece.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(piece.content)


def to_bytes(*files: tuple[str, int, bytes]) -> bytes:
    """Write a skill in the language above: a name, a number of packing, a content each."""
    return SEPARATOR.join(
        bytes([NAMES.index(name), pack]) + content for name, pack, content in files
    )
