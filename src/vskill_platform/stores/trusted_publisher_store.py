"""Trusted publishers: repositories whose CI jobs may publish to a namespace without a token."""

import hashlib
from datetime import datetime
from enum import StrEnum

from vskill_platform.engines.ports import ABSENT, NEVER, Delete, Operation, Put
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
#: Prefixes of the marks under which they are found.
_OF_REPO = "trusted-publisher-of "
_IN_NAMESPACE = "trusted-publisher-in "
#: Prefix for tokens of CI jobs that were exchanged.
_USED = "ci-token-used:"
#: How many of one repository or namespace are found.
MAX_PUBLISHERS = 100


class CiKind(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"


class TrustedPublisher(Record, frozen=True, kw_only=True):
    id: str
    #: Where its jobs may publish.
    namespace: str
    kind: CiKind
    #: Who signs the tokens of its jobs.
    issuer: str
    #: `owner/repo` at GitHub, the path of the project at GitLab; in lower case.
    repository: str
    #: The file of the workflow, such as `publish.yml`; empty for any.
    workflow: str = ""
    #: The environment that the job must run in; empty for any.
    environment: str = ""
    #: The branch or tag, such as `refs/heads/main`; empty for any.
    ref: str = ""
    #: The owner of the namespace who added it; versions are published in this name.
    by: str
    at: datetime
    #: The id of the repository at its host, from the first token: a new repository with the same
    #: name is another one.
    repository_id: str = ""
    last_used_at: datetime | None = None


async def get_trusted_publisher(publisher_id: str) -> Stored[TrustedPublisher] | None:
    return await get_record(_PUBLISHER + publisher_id, TrustedPublisher)


async def find_trusted_publishers(issuer: str, repository: str) -> list[TrustedPublisher]:
    return await _find(_repo_mark(issuer, repository))


async def list_trusted_publishers(namespace: str) -> list[TrustedPublisher]:
    found = await _find(_IN_NAMESPACE + namespace)
    return sorted(found, key=lambda one: (one.at, one.id))


async def _find(mark: str) -> list[TrustedPublisher]:
    (keys,) = await get_kv().find_marked([mark], limit=MAX_PUBLISHERS)
    return await read_each(keys, lambda key, value: decode(key, value, TrustedPublisher))


def write_trusted_publisher(publisher: TrustedPublisher, *, expected: int = ABSENT) -> Operation:
    return Put(
        _PUBLISHER + publisher.id,
        encode(publisher),
        expected=expected,
        due=NEVER,
        marks=(
            _repo_mark(publisher.issuer, publisher.repository),
            _IN_NAMESPACE + publisher.namespace,
        ),
    )


def delete_trusted_publisher(stored: Stored[TrustedPublisher]) -> Operation:
    return Delete(_PUBLISHER + stored.record.id, expected=stored.revision)


def write_used_ci_token(issuer: str, token_id: str, *, expires_at: datetime) -> Operation:
    """Record a token of a CI job; the commit fails if it was used before."""
    return Put(_used_key(issuer, token_id), b"", expected=ABSENT, due=NEVER, expires_at=expires_at)


async def is_used_ci_token(issuer: str, token_id: str) -> bool:
    return bool(await list_all_keys(_used_key(issuer, token_id)))


def _used_key(issuer: str, token_id: str) -> str:
    return _USED + hashlib.sha256(f"{issuer} {token_id}".encode()).hexdigest()


def _repo_mark(issuer: str, repository: str) -> str:
    return f"{_OF_REPO}{issuer} {repository}"
