"""The policy, as a page and over the API: summary and dry run."""

from typing import Annotated

import msgspec
from litestar.params import JSONBody
from litestar.response import Template

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.errors import ConfigError, InvalidInput
from vskill_platform.model.policy import digest_of
from vskill_platform.model.read_policy import read_policy
from vskill_platform.publish.moderation.try_policy import DryRun, describe_policy, try_policy
from vskill_platform.scan.apply_policy import rule_kinds
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.http.api_types import Shape
from vskill_platform.web.http.bodies import MAX_POLICY_BYTES
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation

_MAX_CHARACTERS = 200_000


async def policy_page(request: WebRequest) -> Template:
    return await _show(request)


@operation(max_body=MAX_POLICY_BYTES)
async def dry_run_form(request: WebRequest) -> Template:
    """Show what another policy would change, without changing anything."""
    text = str((await request.form()).get("policy", ""))[:_MAX_CHARACTERS]
    try:
        tried = await work_in_thread(read_policy, text, rules=rule_kinds())
    except ConfigError as error:
        return await _show(request, text=text, problem=f"Invalid policy: {error}")
    return await _show(request, text=text, result=await try_policy(tried))


async def _show(
    request: WebRequest, *, text: str = "", result: DryRun | None = None, problem: str = ""
) -> Template:
    env = bound_env()
    context = {
        "file": env.settings.policy,
        "digest": digest_of(env.policy),
        "words": describe_policy(env.policy, get_now().date()),
        "text": text,
        "result": result,
    }
    return admin_page(
        request, "admin/policy.html", context | ({"problem": problem} if problem else {})
    )


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


async def show_policy() -> PolicyAnswer:
    """Show the active policy of this node."""
    policy = bound_env().policy
    return PolicyAnswer(digest=digest_of(policy), words=describe_policy(policy, get_now().date()))


@operation(max_body=MAX_POLICY_BYTES, changes=False)
async def try_over_api(data: JSONBody[PolicyText]) -> PolicyTried:
    """Show what another policy would change. Nothing is scanned and nothing changes."""
    try:
        policy = await work_in_thread(read_policy, data.policy, rules=rule_kinds())
    except ConfigError as error:
        raise InvalidInput(f"invalid policy: {error}") from error
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
