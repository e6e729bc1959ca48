"""Accept a push webhook of a git host, and check the followed skills of its repository soon."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from enum import StrEnum
from urllib.parse import parse_qs

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.source import git_source
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    find_followed_in,
    get_followed_repo,
    write_followed_repo,
)

log = get_logger(__name__)

#: A push with more commits than fit is found by the next regular check.
MAX_PUSH_BYTES = 1024 * 1024
_FORM_FIELD = b"payload="
_AT_ONCE = 8


class PushKind(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"
    #: Forgejo uses the same kind of signature.
    GITEA = "gitea"


class _Repository(msgspec.Struct, frozen=True):
    """The URLs of a repository, in the fields that each host uses."""

    clone_url: str | None = None
    html_url: str | None = None
    git_http_url: str | None = None
    web_url: str | None = None


class _Push(msgspec.Struct, frozen=True):
    """The fields of a webhook that are used; commits are requested from the host instead."""

    repository: _Repository = msgspec.field(default_factory=_Repository)
    project: _Repository = msgspec.field(default_factory=_Repository)


async def take_push(kind: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Make the followed skills of the repository due; return how many records there are.

    The signature is verified before the body is parsed.
    """
    if kind not in list(PushKind):
        raise NotFound(f"there is no webhook {kind!r}; choose one of {', '.join(PushKind)}")
    key = get_settings().push_secret.reveal().encode()
    if not key:
        raise NotFound("push webhooks are not enabled; the operator has to set VSKILL_PUSH_SECRET")
    if not _is_signed(PushKind(kind), body, headers, key):
        raise NotAllowed("the signature is invalid; check the secret of the webhook")
    urls = set(_repo_urls(_read(body)))
    followed = [one for url in sorted(urls) for one in await find_followed_in(url)]
    for outcome in await settle(_make_due, followed, at_once=_AT_ONCE):
        if isinstance(outcome, Exception):
            raise outcome
    log.info("push webhook accepted", kind=kind, repos=sorted(urls), skills=len(followed))
    return len(followed)


def _is_signed(kind: PushKind, body: bytes, headers: Mapping[str, str], key: bytes) -> bool:
    if kind is PushKind.GITLAB:
        expected, name = key, "x-gitlab-token"
    else:
        digest = hmac.new(key, body, hashlib.sha256).hexdigest()
        is_github = kind is PushKind.GITHUB
        expected = f"sha256={digest}".encode() if is_github else digest.encode()
        name = "x-hub-signature-256" if is_github else "x-gitea-signature"
    given = headers.get(name, "")
    return hmac.compare_digest(expected, given.encode(errors="replace"))


def _read(body: bytes) -> _Push:
    """Parse the body; GitHub can also send the JSON as a form field."""
    content: bytes | str = body
    try:
        if body.startswith(_FORM_FIELD):
            content = parse_qs(body.decode(), max_num_fields=1)["payload"][0]
        return msgspec.json.decode(content, type=_Push)
    except (ValueError, KeyError, RecursionError) as error:
        raise InvalidInput("the body is not the JSON of a push webhook") from error


def _repo_urls(push: _Push) -> Iterator[str]:
    """Yield the canonical form of each URL; skip URLs that are not git sources."""
    for repo in (push.repository, push.project):
        for url in (repo.clone_url, repo.html_url, repo.git_http_url, repo.web_url):
            try:
                yield git_source(url or "").url
            except InvalidInput:
                continue


async def _make_due(followed: FollowedRepo) -> None:
    """Make a record due now; if it is being checked, it is checked again."""

    async def plan() -> PlannedChange[None]:
        stored = await get_followed_repo(followed.name)
        if stored is None or stored.record.stopped_at:
            return PlannedChange(result=None)
        put = write_followed_repo(stored.record, due=get_now(), expected=stored.revision)
        return PlannedChange(operations=[put], result=None)

    await change(f"the followed repo {followed.name}", plan)
