"""The development corpus: laid out as inert folders, cut in halves, its labels judged anew.

Part of it is live malware kept as text. It is read and scanned, never run, and never committed.
"""

import base64
import hashlib
import lzma
import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared" / "corpus" / "dev.jsonl.xz"
ADJUDICATED = Path(__file__).with_name("adjudicated.toml")
#: In the order in which they are printed; what has no label is left out.
KINDS = ("real", "synthetic", "trusted", "security", "community")
MALICIOUS_KINDS = frozenset({"real", "synthetic"})
SPLITS = ("all", "dev", "hold")


class Skill(msgspec.Struct, frozen=True):
    """One row of the corpus, without its files."""

    id: str
    label: str
    kind: str
    source: str
    #: Near-copies and one author's skills share one; each counts once.
    campaign: str
    #: Where its files were laid out.
    folder: Path
    size: int

    @property
    def split(self) -> str:
        number = int(hashlib.sha256(self.campaign.encode()).hexdigest(), 16)
        return "dev" if number % 2 == 0 else "hold"


class _File(msgspec.Struct, frozen=True):
    path: str
    text: str | None = None
    b64: str = ""

    @property
    def body(self) -> bytes:
        return base64.b64decode(self.b64) if self.text is None else self.text.encode()


class _Row(msgspec.Struct, frozen=True):
    id: str
    label: str
    kind: str
    source: str
    campaign: str
    files: tuple[_File, ...]


class Adjudication(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a label should have been, in the words of someone who read the files."""

    id: str
    label: str
    reason: str


def corpus_digest(corpus: Path) -> str:
    with corpus.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(corpus: Path, folder: Path) -> list[Skill]:
    """Write the labelled skills of *corpus* below *folder*, without any right to be run."""
    with lzma.open(corpus, "rb") as lines:
        rows = (msgspec.json.decode(line, type=_Row) for line in lines)
        return [_lay_out(row, folder) for row in rows if row.kind in KINDS]


def adjudications(path: Path = ADJUDICATED) -> dict[str, Adjudication]:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    judged = msgspec.convert(table.get("skill", []), list[Adjudication])
    found = {one.id: one for one in judged}
    if len(found) < len(judged):
        raise SystemExit(f"{path} names a skill twice")
    return found


def rightly_labelled(skills: Iterable[Skill], judged: dict[str, Adjudication]) -> list[Skill]:
    """Leave out every skill whose published label was found to be wrong."""
    known = list(skills)
    unknown = judged.keys() - {skill.id for skill in known}
    if unknown:
        raise SystemExit(
            f"{ADJUDICATED.name} names skills that the corpus lacks: {sorted(unknown)}"
        )
    return [
        skill for skill in known if skill.id not in judged or judged[skill.id].label == skill.label
    ]


def _lay_out(row: _Row, folder: Path) -> Skill:
    home = folder / row.label / row.kind / row.id.replace("/", "__")
    size = 0
    for file in row.files:
        path = home / file.path
        if not path.resolve().is_relative_to(home.resolve()):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_bytes(file.body)
        path.chmod(0o644)
    return Skill(row.id, row.label, row.kind, row.source, row.campaign, home, size)
