"""The policy in words, and what another one would change before it holds."""

import asyncio

from litestar.response import Template

from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import digest_of
from vskill_platform.model.read_policy import read_policy
from vskill_platform.publish.moderation.policy_words import describe_policy
from vskill_platform.publish.moderation.try_policy import DryRun, try_policy
from vskill_platform.scan.apply_policy import rule_kinds
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.web.html.admin_forms import AdminRequest, admin_page
from vskill_platform.web.http.bodies import MAX_POLICY_BYTES
from vskill_platform.web.http.route import operation

_MAX_CHARACTERS = 200_000


async def policy_page(request: AdminRequest) -> Template:
    return await _show(request)


@operation(max_body=MAX_POLICY_BYTES)
async def dry_run_form(request: AdminRequest) -> Template:
    """Say what the policy that was typed would change; nothing does change."""
    text = str((await request.form()).get("policy", ""))[:_MAX_CHARACTERS]
    try:
        tried = await asyncio.to_thread(read_policy, text, rules=rule_kinds())
    except ConfigError as error:
        return await _show(request, text=text, problem=f"It cannot be used: {error}")
    return await _show(request, text=text, result=await try_policy(tried))


async def _show(
    request: AdminRequest, *, text: str = "", result: DryRun | None = None, problem: str = ""
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
