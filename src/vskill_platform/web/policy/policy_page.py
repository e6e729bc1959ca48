"""The page of the policy: a form and a text editor, with a dry run before saving."""

import re
from typing import Any

import msgspec
from litestar import Response
from litestar.response import Redirect, Template

from vskill_platform.errors import (
    ChangedSinceSeen,
    InvalidInput,
    InvalidTransition,
    PolicyInvalid,
    PolicyUnavailable,
)
from vskill_platform.model.describe_policy import describe_policy
from vskill_platform.model.policy import Level, Policy, Thresholds, Trust, digest_of
from vskill_platform.publish.policy.current_policy import with_current_policy
from vskill_platform.publish.policy.edit_policy import (
    MAX_CHARACTERS,
    PolicyDraft,
    check_policy,
    compare_texts,
    current_version,
    normalise_line_ends,
    save_policy,
)
from vskill_platform.publish.policy.try_policy import DryRun, try_part
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.policy_store import list_policy_versions
from vskill_platform.web.html.flash import DONE, admin_page, flash
from vskill_platform.web.http.bodies import MAX_POLICY_BYTES, read_choices, read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.policy.policy_form import (
    KINDS,
    LEVELS,
    LIMITS,
    TRUSTED_KINDS,
    TRUSTED_LEVELS,
    apply_form,
    show_form,
)
from vskill_platform.web.policy.policy_rows import MAX_ROWS, apply_rows, place_of, typed_rows
from vskill_platform.web.policy.policy_versions import read_number
from vskill_platform.web.skills.diff_page import show_page

_HERE = "/admin/policy"
#: The name of a table before an error, which need not be repeated at a field.
_TABLE = re.compile(r"^(?:(?:suppression|namespace) \d+: )?(?:\[\w+\]: )?")
FORM, TEXT = "form", "text"
_RECENT = 5
#: How many lines are shown around an error.
_AROUND = 3


class _Typed(msgspec.Struct, frozen=True, kw_only=True):
    """The values that the forms of these pages send to each other."""

    text: str
    #: The version that was edited; 0 if there is none.
    base: int
    reason: str = ""
    restored: int | None = None
    #: FORM or TEXT: the editor in use.
    editor: str = FORM


async def policy_page(request: WebRequest) -> Template:
    """Show the current policy with its editor."""
    last = await current_version()
    typed = _Typed(
        text=last.text if last else "",
        base=last.number if last else 0,
        editor=TEXT if request.query_params.get("edit") == TEXT else FORM,
    )
    return await _show_editor(request, typed, is_fresh=True)


@operation(max_body=MAX_POLICY_BYTES)
async def dry_run_form(request: WebRequest) -> Template:
    """Check the typed policy; then show what it would change, or show the other editor."""
    fields = await read_fields(request)
    typed = await _read(request, fields)
    form_fields = fields if typed.editor == FORM and "base" in fields else None
    places: dict[str, list[int]] = {}
    try:
        text = typed.text
        if form_fields is not None:
            await check_policy(text)
            text = apply_form(text, form_fields, await read_choices(request, "trust.kinds"))
            text, places = apply_rows(text, form_fields)
        policy = await _check_form(text, places)
        typed = msgspec.structs.replace(typed, text=text)
    except PolicyInvalid as error:
        return await _show_editor(request, typed, error=error, fields=form_fields)
    if (editor := fields.get("show")) in {FORM, TEXT}:
        other = msgspec.structs.replace(typed, editor=editor)
        return await _show_editor(request, other)
    return await _show_preview(request, typed, policy, after=fields.get("after", ""))


async def _check_form(text: str, places: dict[str, list[int]]) -> Policy:
    """Check a policy; an error names the row of the form."""
    try:
        return await check_policy(text)
    except PolicyInvalid as error:
        at = place_of(error.at, places)
        raise PolicyInvalid(str(error), at=at, line=error.line) from error


@operation(max_body=MAX_POLICY_BYTES)
async def save_form(request: WebRequest) -> Response[Any]:
    typed = await _read(request, await read_fields(request))
    draft = PolicyDraft(
        text=typed.text,
        base=typed.base,
        reason=typed.reason,
        author=visitor_of(request).name,
        restored=typed.restored,
    )
    try:
        saved = await save_policy(draft)
    except PolicyInvalid as error:
        return await _show_editor(request, typed, error=error)
    except ChangedSinceSeen as error:
        return await _show_conflict(request, typed, str(error))
    except (InvalidInput, InvalidTransition) as error:
        policy = await check_policy(typed.text)
        return await _show_preview(request, typed, policy, problem=str(error))
    words = f"Version {saved.number} is saved. All nodes apply it from now on."
    return Redirect(_HERE, status_code=303, cookies=[flash(DONE, words, on="/admin")])


async def _read(request: WebRequest, fields: dict[str, str]) -> _Typed:
    # Without read_fields(), which cuts long fields: a policy that is too long is an error.
    text = str((await request.form()).get("policy", ""))
    restored = fields.get("restored", "")
    return _Typed(
        text=normalise_line_ends(text),
        base=read_number(fields.get("base", "")),
        reason=fields.get("reason", ""),
        restored=read_number(restored) if restored else None,
        editor=FORM if fields.get("editor") == FORM else TEXT,
    )


async def _show_editor(
    request: WebRequest,
    typed: _Typed,
    *,
    error: PolicyInvalid | None = None,
    fields: dict[str, str] | None = None,
    is_fresh: bool = False,
) -> Template:
    """Show the typed policy, in the form if possible; *fields* are those of an invalid form."""
    current, unavailable = await _current_policy()
    form = None
    if typed.editor == FORM:
        try:
            await check_policy(typed.text)
            form = show_form(typed.text)
        except PolicyInvalid as found:
            typed, error = msgspec.structs.replace(typed, editor=TEXT), error or found
    if form and fields is not None:  # the fields as typed, with the error
        form = msgspec.structs.replace(
            form,
            values=form.values | {name: fields.get(name, "") for name in form.values},
            two_grave_reject="thresholds.two_grave_reject" in fields,
            own="review.own" in fields,
            trusted=frozenset(await read_choices(request, "trust.kinds")),
            rows=form.rows | {name: rows for name, rows in typed_rows(fields).items() if rows},
        )
    page = await list_policy_versions(limit=_RECENT)
    context = {
        "file": bound_env().settings.policy,
        "current": await current_version(),
        "digest": digest_of(current),
        "words": describe_policy(current, get_now().date()),
        "unavailable": unavailable,
        "typed": typed,
        "is_fresh": is_fresh,
        "form": form,
        "invalid": error,
        "invalid_words": _TABLE.sub("", str(error)) if error else "",
        "invalid_field": ".".join(map(str, error.at)) if error else "",
        "excerpt": await _excerpt(typed.text, error) if error else (),
        "recent": page.versions,
        "has_older": page.before is not None,
        "max_characters": MAX_CHARACTERS,
        "kinds": KINDS,
        "kind_fields": [f"thresholds.{one}.{name}" for one in KINDS for name in LEVELS],
        "levels": tuple(Level),
        "defaults": Thresholds(),
        "trust_defaults": Trust(),
        "trusted_kinds": TRUSTED_KINDS,
        "trusted_levels": TRUSTED_LEVELS,
        "limits": LIMITS,
        "max_rows": MAX_ROWS,
    }
    return admin_page(request, "admin/policy.html", context)


async def _show_preview(
    request: WebRequest,
    typed: _Typed,
    policy: Policy,
    *,
    after: str = "",
    problem: str = "",
    conflict: str = "",
) -> Template:
    """Show the changed lines and the decisions that would change, before it is saved."""
    last = await current_version()
    diff = await compare_texts(last.text if last else "", typed.text)
    current, unavailable = await _current_policy()
    result = await _try(policy, after)
    context = {
        "file": bound_env().settings.policy,
        "typed": typed,
        "conflict": conflict,
        "current": last,
        "is_same": typed.text == (last.text if last else ""),
        "diff": await show_page((diff,)) if diff.lines or diff.note else None,
        "words": describe_policy(policy, get_now().date()),
        "old_words": set(describe_policy(current, get_now().date())),
        "unavailable": unavailable,
        "result": result,
        "is_part": bool(after or result.cursor),
    }
    return admin_page(
        request, "admin/policy_preview.html", context | ({"problem": problem} if problem else {})
    )


async def _show_conflict(request: WebRequest, typed: _Typed, why: str) -> Template:
    """Show how the typed text differs from the version that another user has saved meanwhile."""
    last = await current_version()
    typed = msgspec.structs.replace(typed, base=last.number if last else 0)
    return await _show_preview(request, typed, await check_policy(typed.text), conflict=why)


async def _try(policy: Policy, after: str) -> DryRun:
    try:
        env = await with_current_policy(bound_env())
    except PolicyUnavailable:
        env = bound_env()
    return await run_with_worker_env(env, lambda: try_part(policy, after=after))


async def _current_policy() -> tuple[Policy, str]:
    """Return the current policy, and the reason if this node cannot apply it."""
    try:
        return (await with_current_policy(bound_env())).policy, ""
    except PolicyUnavailable as error:
        return Policy(), str(error)


async def _excerpt(text: str, error: PolicyInvalid) -> list[tuple[int, str, bool]]:
    """Return the lines around an error: number, text, and whether it is this line."""
    if not error.line:
        return []
    lines = text.splitlines()
    start = max(error.line - 1 - _AROUND, 0)
    return [
        (number, line[:500], number == error.line)
        for number, line in enumerate(lines[start : error.line + _AROUND], start=start + 1)
    ]
