"""Trusted publishers: repositories whose CI jobs may publish to a namespace without a token."""

import hashlib
from datetime import datetime
from enum import StrEnum

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)

_PUBLISHER = "trusted-publisher:"
#: Prefix of the marks that find the records.
_IN_NAMESPACE = "trusted-publisher-in "
#: Prefix for tokens of CI jobs that were already exchanged.
_USED = "ci-token-used:"
#: How many trusted publishers a namespace can have.
MAX_PUBLISHERS = 100


class CiKind(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"


class TrustedPublisher(Record, frozen=True, kw_only=True):
    id: str
    #: The namespace to which its jobs may publish.
    namespace: str
    kind: CiKind
    #: The issuer that signs the tokens of its jobs.
    issuer: str
    #: `owner/repo` at GitHub, the path of the project at GitLab; in lower case.
    repository: str
    #: The file of the workflow, such as `publish.yml`; empty for any.
    workflow: str = ""
    #: The environment that the job must run in; empty for any.
    environment: str = ""
    #: The branch or tag, such as `refs/heads/main`; empty for any.
    ref: str = ""
    #: The owner of the namespace who added it; versions are published in that user's name.
    by: str
    at: datetime
    #: The id of the repository at its host, from the first token. A new repository with the same
    #: name has another id.
    repository_id: str = ""
    last_used_at: datetime | None = None


async def get_trusted_publisher(publisher_id: str) -> Stored[TrustedPublisher] | None:
    return await get_record(_PUBLISHER + publisher_id, TrustedPublisher)


async def list_trusted_publishers(namespace: str) -> list[TrustedPublisher]:
    (keys,) = await get_kv().find_marked([_IN_NAMESPACE + namespace], limit=MAX_PUBLISHERS)
    found = await read_each(keys, lambda key, value: decode(key, value, TrustedPublisher))
    return sorted(found, key=lambda one: (one.at, one.id))


def write_trusted_publisher(publisher: TrustedPublisher, *, expected: int = ABSENT) -> Operation:
    return Put(
        _PUBLISHER + publisher.id,
        encode(publisher),
        expected=expected,
        due=NEVER,
        marks=(_IN_NAMESPACE + publisher.namespace,),
    )


def delete_trusted_publisher(stored: Stored[TrustedPublisher]) -> Operation:
    return Delete(_PUBLISHER + stored.record.id, expected=stored.revision)


def write_used_ci_token(issuer: str, token_id: str, *, expires_at: datetime) -> Operation:
    """Mark the token of a CI job as used; the commit fails if it was used before."""
    return Put(_used_key(issuer, token_id), b"", expected=ABSENT, due=NEVER, expires_at=expires_at)


async def is_used_ci_token(issuer: str, token_id: str) -> bool:
    return bool(await list_all_keys(_used_key(issuer, token_id)))


def _used_key(issuer: str, token_id: str) -> str:
    return _USED + hashlib.sha256(f"{issuer} {token_id}".encode()).hexdigest()
