"""The policy over the API: the current one, dry runs, and versions."""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.status_codes import HTTP_201_CREATED

from vskill_platform.errors import InvalidInput, PolicyInvalid
from vskill_platform.model.describe_policy import describe_policy
from vskill_platform.model.policy import Policy, digest_of
from vskill_platform.publish.policy.current_policy import with_current_policy
from vskill_platform.publish.policy.edit_policy import (
    MAX_CHARACTERS,
    PolicyDraft,
    check_policy,
    compare_texts,
    current_version,
    find_policy_version,
    restore_policy,
    save_policy,
)
from vskill_platform.publish.policy.try_policy import try_part
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.policy_store import PolicyVersion, list_policy_versions
from vskill_platform.web.http.api_types import (
    Limit,
    ReasonRequest,
    Shape,
    clamp,
    key_cursor,
    number_cursor,
    read_key,
    read_number,
)
from vskill_platform.web.http.bodies import MAX_POLICY_BYTES
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of

_MAX_VERSIONS = 50
VersionNumber = Annotated[int, QueryParameter(ge=0, le=10**8)]
#: TOML.
_Toml = Annotated[str, msgspec.Meta(max_length=MAX_CHARACTERS)]


class PolicyResponse(Shape, frozen=True, kw_only=True):
    digest: str
    words: list[str]
    #: `file` if VSKILL_POLICY is set, `saved` for a saved version, otherwise `default`.
    source: str
    #: The saved version; None if there is none, or if a file is used instead.
    version: int | None
    #: The text of that version.
    text: str | None


class PolicyText(Shape, frozen=True, kw_only=True):
    policy: _Toml
    #: nextCursor of the previous part of the dry run.
    cursor: str | None = None


class PolicyChange(Shape, frozen=True, kw_only=True):
    skill: str
    submission_id: str
    now: str
    then: str
    clause: str
    reasons: tuple[str, ...]


class PolicyTried(Shape, frozen=True, kw_only=True):
    """One part of a dry run: published, inReview and changes count only this part."""

    policy: str
    published: int
    in_review: int
    changes: list[PolicyChange]
    unknown: tuple[str, ...]
    #: How many skills were evaluated so far, and how many there are.
    checked: int
    total: int
    next_cursor: str | None


class NewPolicy(ReasonRequest, frozen=True, kw_only=True):
    policy: _Toml
    #: The version that was edited, 0 for the first; it is a conflict if another one is current.
    base: Annotated[int, msgspec.Meta(ge=0)]


class RestoreRequest(ReasonRequest, frozen=True, kw_only=True):
    base: Annotated[int, msgspec.Meta(ge=0)]


class PolicyVersionItem(Shape, frozen=True, kw_only=True):
    number: int
    at: datetime
    author: str
    reason: str
    digest: str
    #: The version whose text was restored, if any.
    restored: int | None


class PolicyVersionDetail(PolicyVersionItem, frozen=True, kw_only=True):
    text: str


class VersionItems(Shape, frozen=True, kw_only=True):
    versions: list[PolicyVersionItem]
    next_cursor: str | None


class PolicyDiff(Shape, frozen=True, kw_only=True):
    old: int
    new: int
    #: A unified diff without its header.
    lines: tuple[str, ...]
    #: Why there are no lines.
    note: str


async def show_policy() -> PolicyResponse:
    """Show the current policy."""
    env = await with_current_policy(bound_env())
    version = None if env.settings.policy else await current_version()
    return PolicyResponse(
        digest=digest_of(env.policy),
        words=describe_policy(env.policy, get_now().date()),
        source="file" if env.settings.policy else "saved" if version else "default",
        version=version.number if version else None,
        text=version.text if version else None,
    )


@operation(max_body=MAX_POLICY_BYTES, changes=False)
async def try_over_api(data: JSONBody[PolicyText]) -> PolicyTried:
    """Show what another policy would change, part by part. This scans and changes nothing."""
    policy, after = await _checked(data.policy), read_key(data.cursor) or ""
    env = await with_current_policy(bound_env())
    found = await run_with_worker_env(env, lambda: try_part(policy, after=after))
    return PolicyTried(
        policy=found.policy,
        published=found.published,
        in_review=found.in_review,
        changes=[
            PolicyChange(
                skill=one.skill,
                submission_id=one.submission_id,
                now=one.now,
                then=one.then,
                clause=one.clause,
                reasons=one.reasons,
            )
            for one in found.changes
        ],
        unknown=found.unknown,
        checked=found.checked,
        total=found.total,
        next_cursor=key_cursor(found.cursor),
    )


@operation(max_body=MAX_POLICY_BYTES, status=HTTP_201_CREATED, also=(409,))
async def save_over_api(request: WebRequest, data: JSONBody[NewPolicy]) -> PolicyVersionItem:
    """Save a new version of the policy. Each node applies it from its next decision on."""
    draft = PolicyDraft(
        text=data.policy, base=data.base, reason=data.reason, author=visitor_of(request).name
    )
    try:
        return _item(await save_policy(draft))
    except PolicyInvalid as error:
        raise _invalid(error) from error


@operation(status=HTTP_201_CREATED, also=(409,))
async def restore_over_api(
    request: WebRequest, number: FromPath[int], data: JSONBody[RestoreRequest]
) -> PolicyVersionItem:
    """Save the text of an old version as a new version."""
    author = visitor_of(request).name
    try:
        saved = await restore_policy(number, base=data.base, reason=data.reason, author=author)
    except PolicyInvalid as error:
        raise _invalid(error) from error
    return _item(saved)


async def list_versions(cursor: FromQuery[str | None] = None, limit: Limit = 20) -> VersionItems:
    """List the saved versions of the policy, newest first."""
    size, _ = clamp(limit, _MAX_VERSIONS)
    page = await list_policy_versions(before=read_number(cursor) or None, limit=size)
    return VersionItems(
        versions=[_item(one) for one in page.versions], next_cursor=number_cursor(page.before)
    )


async def show_version(number: FromPath[int]) -> PolicyVersionDetail:
    """Show a saved version of the policy with its text."""
    version = await find_policy_version(number)
    return PolicyVersionDetail(**msgspec.structs.asdict(_item(version)), text=version.text)


async def show_policy_diff(number: FromPath[int], older: VersionNumber = 0) -> PolicyDiff:
    """Compare a version of the policy with an older one, by default the one before."""
    version = await find_policy_version(number)
    base = older or number - 1
    old = (await find_policy_version(base)).text if base else ""
    change = await compare_texts(old, version.text)
    return PolicyDiff(old=base, new=number, lines=change.lines, note=change.note)


async def _checked(text: str) -> Policy:
    try:
        return await check_policy(text)
    except PolicyInvalid as error:
        raise _invalid(error) from error


def _invalid(error: PolicyInvalid) -> InvalidInput:
    line = f" at line {error.line}" if error.line else ""
    return InvalidInput(f"invalid policy{line}: {error}")


def _item(version: PolicyVersion) -> PolicyVersionItem:
    return PolicyVersionItem(
        number=version.number,
        at=version.at,
        author=version.author,
        reason=version.reason,
        digest=version.digest,
        restored=version.restored,
    )
