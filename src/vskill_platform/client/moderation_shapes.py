"""The fields of responses about blocks and reviews."""

from typing import NotRequired, TypedDict

from vskill_platform.client.shapes import Gained, ScanReport


class BlockEntry(TypedDict):
    id: str
    contentHash: str | None
    sourceUrl: str | None
    publisher: str | None
    skillName: str
    reason: str
    discoveredAt: str


class Blocklist(TypedDict):
    entries: list[BlockEntry]


class BlockAdded(TypedDict):
    entry: BlockEntry
    isNew: bool
    takenDown: list[str]
    ended: list[str]
    message: str


class BlockRemoved(TypedDict):
    entry: BlockEntry
    reopened: list[str]
    stillBlocked: list[str]


class BlockReason(TypedDict):
    reason: NotRequired[str]


class BlockCheck(TypedDict):
    blocked: bool
    entry: NotRequired[BlockReason | None]


class Review(TypedDict):
    id: str
    skillName: str
    submitter: str
    since: str
    rule: str | None
    decided: str


class Reviews(TypedDict):
    reviews: list[Review]


class CaseFile(TypedDict):
    path: str
    size: int


class ReviewCase(TypedDict):
    id: str
    skillName: str
    state: str
    repoUrl: str
    skillPath: str
    submitter: str
    digest: str
    published: str | None
    gained: Gained
    report: ScanReport | None
    files: list[CaseFile]


class DecisionResult(TypedDict):
    id: str
    state: str
    reason: str
