"""The development corpus: unpacked as inert folders, split in halves, with corrected labels.

Part of it is live malware stored as text. It is read and scanned, never run, and never committed.
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
#: The labelled ones, in the order in which they are printed.
KINDS = ("real", "synthetic", "trusted", "security", "community")
#: A sample of a public marketplace, good and bad mixed, that nobody has labelled.
UNLABELLED = "unlabelled"
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
    size: int = 0
    text: str | None = None
    b64: str = ""

    @property
    def body(self) -> bytes:
        return base64.b64decode(self.b64) if self.text is None else self.text.encode()

    @property
    def is_cut_archive(self) -> bool:
        """Whether the corpus holds only the head of an archive, which nobody could open.

        Its author published a whole one, so a finding about it would say nothing about the skill.
        """
        body = self.body if self.text is None else b""
        return len(body) < self.size and body.startswith((b"PK\x03\x04", b"\x1f\x8b"))


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
    #: Who is behind a campaign, where several have one author.
    actor: str = ""


class Adjudications(msgspec.Struct, frozen=True):
    """The judgements about single skills and about whole campaigns, by their ids."""

    skills: dict[str, Adjudication]
    campaigns: dict[str, Adjudication]

    def about(self, skill: Skill) -> Adjudication | None:
        return self.skills.get(skill.id) or self.campaigns.get(skill.campaign)

    def actor_of(self, skill: Skill) -> str:
        """Name who is behind a skill: what is known, or else its campaign."""
        campaign = self.campaigns.get(skill.campaign)
        return (campaign.actor if campaign else "") or skill.campaign


def corpus_digest(corpus: Path) -> str:
    with corpus.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(corpus: Path, folder: Path) -> list[Skill]:
    """Write the skills of *corpus* below *folder*, without any right to be run."""
    with lzma.open(corpus, "rb") as lines:
        rows = (msgspec.json.decode(line, type=_Row) for line in lines)
        return [_lay_out(row, folder) for row in rows if row.kind in {*KINDS, UNLABELLED}]


def adjudications(path: Path = ADJUDICATED) -> Adjudications:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return Adjudications(*(_by_id(path, table.get(name, [])) for name in ("skill", "campaign")))


def _by_id(path: Path, rows: list[object]) -> dict[str, Adjudication]:
    judged = msgspec.convert(rows, list[Adjudication])
    found = {one.id: one for one in judged}
    if len(found) < len(judged):
        raise SystemExit(f"{path} has two entries with the same id")
    return found


def rightly_labelled(skills: Iterable[Skill], judged: Adjudications) -> list[Skill]:
    """Leave out every skill whose published label was found to be wrong."""
    known = list(skills)
    unknown = judged.skills.keys() - {skill.id for skill in known}
    unknown |= judged.campaigns.keys() - {skill.campaign for skill in known}
    if unknown:
        raise SystemExit(f"{ADJUDICATED.name} names what the corpus lacks: {sorted(unknown)}")
    unread = {skill.id for skill in known if skill.kind == "real" and not judged.about(skill)}
    if unread:
        raise SystemExit(f"{ADJUDICATED.name} lacks real skills: {sorted(unread)}")
    return [skill for skill in known if _is_right(skill, judged.about(skill))]


def _is_right(skill: Skill, judgement: Adjudication | None) -> bool:
    return judgement is None or judgement.label == skill.label


def _lay_out(row: _Row, folder: Path) -> Skill:
    home = folder / row.label / row.kind / row.id.replace("/", "__")
    size = 0
    for file in row.files:
        path = home / file.path
        if not path.resolve().is_relative_to(home.resolve()) or file.is_cut_archive:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_bytes(file.body)
        path.chmod(0o644)
    return Skill(row.id, row.label, row.kind, row.source, row.campaign, home, size)
