"""The fields that commands read from a registry's responses, to check each response by type.

Everything else in a response is unchanged, for `--json`.
"""

from typing import Any, NotRequired, TypedDict

import msgspec

from vskill_platform.model.verdict import Verdict

Gained = dict[str, list[str]]


class CiPublishToken(TypedDict):
    """The token that a CI job gets."""

    token: str
    namespace: str
    expiresAt: str


class TrustedPublisherItem(TypedDict):
    id: str
    namespace: str
    repository: str
    issuer: str
    workflow: str
    environment: str
    ref: str
    lastUsedAt: str | None


class TrustedPublishers(TypedDict):
    publishers: list[TrustedPublisherItem]
    audience: str
    issuers: list[str]


class NamespaceItem(TypedDict):
    name: str
    owners: list[str]
    members: list[str] | None


class Namespaces(TypedDict):
    namespaces: list[NamespaceItem]
    nextCursor: str | None


class Account(TypedDict):
    name: str | None
    role: str | None
    scopes: list[str]
    namespaces: list[str]


class Pagination(TypedDict):
    total: int


class FoundSkill(TypedDict):
    slug: str
    currentVersion: str | None
    trustTier: str
    trustScore: int
    description: str
    #: Older registries do not send it.
    deprecated: NotRequired[dict[str, Any] | None]


class FoundSkills(TypedDict):
    skills: list[FoundSkill]
    pagination: Pagination
    #: What was searched for instead, if nothing matched; older registries do not send it.
    searchedFor: NotRequired[str | None]
    nextCursor: NotRequired[str | None]


class FollowedRepo(TypedDict):
    slug: str
    repoUrl: str
    branch: str | None
    status: str
    problem: str


class FollowedRepos(TypedDict):
    followed: list[FollowedRepo]
    nextCursor: str | None


class Named(TypedDict):
    slug: str


class Suggestions(TypedDict):
    results: list[Named]


class Skill(TypedDict):
    skill: dict[str, Any]


class Version(TypedDict):
    version: str
    standing: str
    createdAt: str
    contentHash: str
    diffSummary: str
    reason: str
    approvedBy: str | None
    #: Older registries do not send it.
    deprecated: NotRequired[dict[str, Any] | None]


class TransferOffer(TypedDict):
    id: str
    subject: str
    to: str
    by: str
    expiresAt: str
    canAccept: bool


class TransferOffers(TypedDict):
    transfers: list[TransferOffer]


class Deletion(TypedDict):
    slug: str
    versions: list[str]
    isWholeSkill: bool
    aliases: list[str]
    installs: int
    bytes: int
    refused: str | None


class SessionItem(TypedDict):
    id: str
    lastUsedAt: str
    expiresAt: str
    address: str
    browser: str


class Sessions(TypedDict):
    sessions: list[SessionItem]


class AccountDeletion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    tokens: int
    sessions: int
    #: Namespaces that no other user owns, with the number of skills that stay in each.
    ownerless: dict[str, int]
    webhooks: int
    trusted_publishers: int


class OwnAccountDeletion(AccountDeletion, frozen=True, kw_only=True, rename="camel"):
    needs_password: bool
    needs_code: bool
    refused: str | None


class DeletedSkill(TypedDict):
    slug: str
    versions: int
    installs: int


class NamespaceDeletion(TypedDict):
    namespace: str
    skills: list[DeletedSkill]
    owners: list[str]
    members: list[str]
    webhooks: int
    trustedPublishers: int
    tokens: int
    installs: int
    bytes: int
    refused: str | None


class Done(TypedDict):
    ok: bool


class MovedTo(TypedDict):
    subject: str
    isDone: bool
    transfer: NotRequired[TransferOffer | None]


class Visibility(TypedDict):
    slug: str
    private: bool


class Versions(TypedDict):
    versions: list[Version]
    nextCursor: NotRequired[str | None]


Diff = TypedDict(
    "Diff",
    {
        "from": str,
        "to": str,
        "diffSummary": str,
        "contentDiff": str,
        "gained": Gained | None,
    },
)


class ScanReport(TypedDict):
    verdict: Verdict
    score: int | None
    findings: list[dict[str, Any]]
    capabilities: Gained
    scanner: str
    ruleset: str


class StateChange(TypedDict):
    at: str
    toState: str
    reason: str
    actor: str


class FollowedSubmission(TypedDict):
    state: str
    reason: str


class Submission(FollowedSubmission):
    id: str
    skillName: str
    skillPath: str
    repoUrl: str | None
    submitter: str
    createdAt: str
    publishedSkillName: str | None
    position: int | None
    stateHistory: list[StateChange]
    scanResult: NotRequired[ScanReport | None]


class Changed(TypedDict):
    id: str
    state: str


class SubmissionRow(TypedDict):
    id: str
    state: str
    updatedAt: str
    skillName: str
    publishedSkillName: str | None


class Submissions(TypedDict):
    submissions: list[SubmissionRow]
    total: int
    nextCursor: NotRequired[str | None]


class Submitted(TypedDict):
    id: str
    state: str
    skillName: str
    reason: NotRequired[str]
    blocked: NotRequired[bool]
    alreadyVerified: NotRequired[bool]
    duplicate: NotRequired[bool]
    requeued: NotRequired[bool]


class Skipped(TypedDict):
    path: str
    error: str


class SubmittedSet(TypedDict):
    submissions: list[Submitted]
    skipped: list[Skipped]


class DiscoveredSkill(TypedDict):
    name: str
    path: str
    isFine: bool
    description: str
    problems: NotRequired[list[str]]


class Discovered(TypedDict):
    skills: list[DiscoveredSkill]


class DeviceToken(TypedDict):
    access_token: str


class Webhook(TypedDict):
    id: str
    url: str
    namespace: str
    owner: str
    types: list[str]
    shape: str
    label: str
    isEnabled: bool
    problem: str


class Webhooks(TypedDict):
    webhooks: list[Webhook]


class WebhookSecret(TypedDict):
    webhook: Webhook
    secret: str


class WebhookDelivery(TypedDict):
    id: str
    type: str
    state: str
    attempts: int
    createdAt: str
    status: int
    answer: str


class WebhookDeliveries(TypedDict):
    deliveries: list[WebhookDelivery]


class Replayed(TypedDict):
    replayed: int
