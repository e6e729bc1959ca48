"""The pages of the policy's versions: the list, and each version compared with the one before."""

from typing import Any

from litestar.params import FromPath
from litestar.response import Template

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.errors import (
    PolicyInvalid,
)
from vskill_platform.model.describe_policy import describe_policy
from vskill_platform.publish.policy.edit_policy import (
    check_policy,
    compare_texts,
    current_version,
    find_policy_version,
)
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.policy_store import list_policy_versions
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.html.highlight import Code, highlight
from vskill_platform.web.html.numbered_lines import show_lines
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.skills.diff_page import show_page

_PAGE = 30
_MAX_DIGITS = 8


async def versions_page(request: WebRequest) -> Template:
    before = request.query_params.get("before", "")
    page = await list_policy_versions(before=read_number(before) if before else None, limit=_PAGE)
    context = {"page": page, "is_first": not before, "current": await current_version()}
    return admin_page(request, "admin/policy_versions.html", context)


async def version_page(request: WebRequest, number: FromPath[int]) -> Template:
    """Show a version, and its changes since the one before or since the chosen one."""
    version = await find_policy_version(number)
    compared = read_number(request.query_params.get("from") or str(number - 1))
    older = await find_policy_version(compared) if compared else None
    diff = await compare_texts(older.text if older else "", version.text)
    context = {
        "version": version,
        "compared": compared,
        "diff": await show_page((diff,)) if diff.lines or diff.note else None,
        "words": await _words(version.text),
        "lines": await _lines(version.text),
        "current": await current_version(),
        "file": bound_env().settings.policy,
    }
    return admin_page(request, "admin/policy_version.html", context)


async def _words(text: str) -> list[str]:
    """Describe an old version; it may name rules that this release does not have."""
    try:
        return describe_policy(await check_policy(text), get_now().date())
    except PolicyInvalid as error:
        return [f"This release cannot apply this version: {error}"]


async def _lines(text: str) -> Any:
    (spans,) = await highlight([Code(text, "toml")])
    return await work_in_thread(show_lines, text, frozenset(), spans=spans)


def read_number(text: str) -> int:
    """Return the number of a version; 0 if the text is not one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 0
