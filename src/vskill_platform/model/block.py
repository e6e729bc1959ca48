"""The blocklist: content and sources that must not be published, and how submissions match.

`find_block` in `stores/block_store.py` finds the block of a submission, and `end_if_blocked` in
`stores/end_submission.py` ends a blocked submission.
"""

import hashlib
import re
from datetime import datetime
from enum import StrEnum

import msgspec

from vskill_platform.errors import InvalidInput
from vskill_platform.model.record import Reasoned, Record
from vskill_platform.model.skill import FormerLocation, PublishedSkill
from vskill_platform.model.source import Source, public_source

_DIGEST = re.compile(r"[0-9a-f]{64}")
#: Length of an id, which makes a subject of any length fit into a key.
_ID_CHARS = 32


class BlockKind(StrEnum):
    DIGEST = "digest"  #: exactly this content, from any source
    SOURCE = "source"  #: everything in a repo, folder or upload, or one folder of it
    NAME = "name"  #: one name within a source; the same name elsewhere is another skill
    PUBLISHER = "publisher"  #: everything of one publisher


class BlockSubject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a block applies to. Equal subjects have equal ids, so each has at most one block."""

    kind: BlockKind
    value: str

    @property
    def id(self) -> str:
        sealed = hashlib.sha256(self.value.encode(errors="surrogatepass")).hexdigest()
        return f"{self.kind}:{sealed[:_ID_CHARS]}"

    def in_words(self) -> str:
        """Describe it for operators."""
        if self.kind is BlockKind.NAME:
            source, _, name = self.value.rpartition("#")
            return f"name {name} in {source}"
        return f"{self.kind} {self.value}"

    def in_public_words(self) -> str:
        """Describe it for everyone, without paths on the registry's own machine."""
        source, _, name = self.value.rpartition("#")
        if self.kind is BlockKind.NAME and not public_source(source):
            return f"name {name} in local files"
        if self.kind is BlockKind.SOURCE and not public_source(self.value):
            return "source local files"
        return self.in_words()


class Block(Reasoned, Record, frozen=True, kw_only=True):
    subject: BlockSubject
    reason: str
    by: str
    at: datetime


def digest_subject(digest: str) -> BlockSubject:
    text = digest.strip().lower().removeprefix("sha256:")
    if not _DIGEST.fullmatch(text):
        raise InvalidInput(f"{digest!r} is not a digest: 64 hex digits, as shown by `versions`")
    return BlockSubject(BlockKind.DIGEST, text)


def source_subject(source: Source) -> BlockSubject:
    """Return the subject for a whole source, or for the folder given by its path."""
    return BlockSubject(BlockKind.SOURCE, source.owner_key if source.path else source.url)


def name_subject(source: Source, name: str) -> BlockSubject:
    if not name or not name.isprintable() or "#" in name:
        raise InvalidInput(f"{name!r} cannot be the name of a skill")
    return BlockSubject(BlockKind.NAME, f"{source.url}#{name}")


def publisher_subject(publisher: str) -> BlockSubject:
    text = publisher.strip().strip("/").lower()
    if not text or not text.isprintable() or "://" in text:
        raise InvalidInput(f"{publisher!r} is not a publisher, such as git.example/ada or @local")
    return BlockSubject(BlockKind.PUBLISHER, text)


def former_subjects(skill: PublishedSkill) -> tuple[BlockSubject, ...]:
    """Return every subject that blocks a skill at its former locations."""
    subjects: dict[BlockSubject, None] = {}
    for home in skill.moved_from:
        subjects |= dict.fromkeys(_subjects_at(home, skill.name))
    return tuple(subjects)


def current_subjects(skill: PublishedSkill) -> tuple[BlockSubject, ...]:
    """Return every subject that blocks a skill at its current location, with any content."""
    return _subjects_at(skill, skill.name)


def _subjects_at(home: PublishedSkill | FormerLocation, name: str) -> tuple[BlockSubject, ...]:
    return (
        BlockSubject(BlockKind.SOURCE, home.repo_url),
        BlockSubject(BlockKind.SOURCE, home.source_key),
        BlockSubject(BlockKind.PUBLISHER, home.publisher),
        BlockSubject(BlockKind.NAME, f"{home.repo_url}#{name}"),
    )


def subjects_of(
    source: Source, *, name: str | None = None, digest: str | None = None
) -> tuple[BlockSubject, ...]:
    """Return every subject that blocks this skill, by what is known of its name and digest."""
    subjects = {
        BlockSubject(BlockKind.SOURCE, source.url): None,
        BlockSubject(BlockKind.SOURCE, source.owner_key): None,
        BlockSubject(BlockKind.PUBLISHER, source.publisher): None,
    }
    if name:
        subjects[BlockSubject(BlockKind.NAME, f"{source.url}#{name}")] = None
    if digest:
        subjects[BlockSubject(BlockKind.DIGEST, digest)] = None
    return tuple(subjects)
