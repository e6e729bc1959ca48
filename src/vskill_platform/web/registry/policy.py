"""Policy and rescan over the API."""

import asyncio
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Request
from litestar.params import JSONBody
from litestar.status_codes import HTTP_202_ACCEPTED

from vskill_platform.cron.ask_for_rescan import ask_for_rescan
from vskill_platform.errors import ConfigError, InvalidInput
from vskill_platform.model.policy import digest_of
from vskill_platform.model.read_policy import read_policy
from vskill_platform.publish.moderation.policy_words import describe_policy
from vskill_platform.publish.moderation.rescan_skills import (
    current_standard,
    get_open_wish,
    list_changed,
    list_due_skills,
)
from vskill_platform.publish.moderation.try_policy import try_policy
from vskill_platform.scan.apply_policy import rule_kinds
from vskill_platform.scan.data_files import ruleset_version
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.rescan_store import get_rescan_done
from vskill_platform.web.http.bodies import MAX_POLICY_BYTES
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.shapes import Ok
from vskill_platform.web.submissions.shapes import Shape

ApiRequest = Request[Any, Any, Any]


class PolicyAnswer(Shape, frozen=True, kw_only=True):
    digest: str
    words: list[str]


class PolicyText(Shape, frozen=True, kw_only=True):
    #: TOML.
    policy: Annotated[str, msgspec.Meta(max_length=200_000)]


class PolicyChange(Shape, frozen=True, kw_only=True):
    skill: str
    submission_id: str
    now: str
    then: str
    clause: str
    reasons: tuple[str, ...]


class PolicyTried(Shape, frozen=True, kw_only=True):
    policy: str
    published: int
    in_review: int
    changes: list[PolicyChange]
    unknown: tuple[str, ...]


class RescanItem(Shape, frozen=True, kw_only=True):
    slug: str
    version: str
    old: str
    new: str
    is_worse: bool
    clause: str
    rule: str | None


class RescanAnswer(Shape, frozen=True, kw_only=True):
    standard: str
    ruleset: str
    left: int
    done_at: datetime | None
    #: When somebody asked for one that has not come to its end yet.
    asked_at: datetime | None
    changed: list[RescanItem]


async def show_policy() -> PolicyAnswer:
    """Say in words what policy is in force on this node."""
    policy = bound_env().policy
    return PolicyAnswer(digest=digest_of(policy), words=describe_policy(policy, get_now().date()))


@operation(max_body=MAX_POLICY_BYTES, changes=False)
async def try_over_api(data: JSONBody[PolicyText]) -> PolicyTried:
    """Say what another policy would change; nothing is scanned and nothing changes."""
    try:
        policy = await asyncio.to_thread(read_policy, data.policy, rules=rule_kinds())
    except ConfigError as error:
        raise InvalidInput(f"the policy cannot be used: {error}") from error
    found = await try_policy(policy)
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
    )


async def show_rescan() -> RescanAnswer:
    """Say which verdicts changed by the rules and the policy of today."""
    due, changed, done, wish = await asyncio.gather(
        list_due_skills(), list_changed(), get_rescan_done(), get_open_wish()
    )
    return RescanAnswer(
        standard=current_standard(),
        ruleset=ruleset_version(),
        left=len(due),
        done_at=done.at if done else None,
        asked_at=wish.at if wish else None,
        changed=[
            RescanItem(
                slug=one.slug,
                version=one.version,
                old=one.old,
                new=one.new,
                is_worse=one.is_worse,
                clause=one.clause,
                rule=one.finding.rule if one.finding else None,
            )
            for one in changed
        ],
    )


@operation(status=HTTP_202_ACCEPTED)
async def start_rescan(request: ApiRequest) -> Ok:
    """Have everything published checked again; nothing is taken down by that."""
    await ask_for_rescan(actor=visitor_of(request).name)
    return Ok()
