"""The submit form: a repository or files, and a choice if there are several skills."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from litestar import Response
from litestar.datastructures import Cookie, FormMultiDict, UploadFile
from litestar.response import Redirect, Template
from litestar.status_codes import (
    HTTP_200_OK,
    HTTP_303_SEE_OTHER,
    HTTP_400_BAD_REQUEST,
    HTTP_403_FORBIDDEN,
    HTTP_422_UNPROCESSABLE_ENTITY,
    HTTP_429_TOO_MANY_REQUESTS,
)

from vskill_platform.access.namespaces import may_act_in
from vskill_platform.base.show_text import count_of
from vskill_platform.errors import (
    InvalidInput,
    NotAllowed,
    SourceError,
    SourceRefused,
    TooMany,
    VskillError,
)
from vskill_platform.fetch.snapshot import MAX_SOURCE_BYTES
from vskill_platform.intake.discover import DiscoveredSkill
from vskill_platform.intake.read_source import read_remote_source
from vskill_platform.intake.submit import SubmitKind
from vskill_platform.intake.submit_set import SubmittedSet
from vskill_platform.model.rights import Visitor
from vskill_platform.model.source import LOCAL_NAMESPACE, Source
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import list_namespaces_of
from vskill_platform.web.html.flash import DONE, PROBLEM, flash
from vskill_platform.web.http.bodies import MAX_PATHS_BYTES
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.search_index import wait_for_index
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.submissions.set_page import SETS
from vskill_platform.web.submissions.submit_skills import (
    MAX_FORM_BYTES,
    find_skills_in,
    skill_folder,
    submit_chosen,
    submit_files,
    submit_source,
)

_K = SubmitKind
#: How many refused skills are listed with their reason.
_MAX_REFUSED = 5
_TAKEN = frozenset({_K.CREATED, _K.REQUEUED})
#: Messages for skipped skills: singular and plural.
_SKIPPED: dict[SubmitKind, tuple[str, str]] = {
    _K.PENDING: ("is already in progress", "are already in progress"),
    _K.ALREADY_VERIFIED: ("is already published", "are already published"),
    _K.BLOCKED: ("is on the blocklist", "are on the blocklist"),
}
#: Errors that the form shows; others lead to an error page.
_SHOWN_ERRORS = (InvalidInput, NotAllowed, SourceError, TooMany)
_STATUSES = {
    TooMany: HTTP_429_TOO_MANY_REQUESTS,
    NotAllowed: HTTP_403_FORBIDDEN,
    SourceRefused: HTTP_422_UNPROCESSABLE_ENTITY,
}
_FIELDS = ("source", "path", "ref", "namespace", "private")


def refused(submitted: SubmittedSet) -> str:
    """Return the reasons of refused skills; empty if none was refused."""
    reasons = [
        f"{member.skill.path or member.skill.name}: {member.error}"
        for member in submitted.members
        if member.result is None
    ]
    more = len(reasons) - _MAX_REFUSED
    return "; ".join(reasons[:_MAX_REFUSED]) + (f"; and {more} more" if more > 0 else "")


def summarize_set(submitted: SubmittedSet) -> tuple[str, str]:
    """Summarize a submitted set: return the kind and the text of a flash message."""
    kinds = Counter(member.result.kind for member in submitted.members if member.result)
    taken = sum(kinds[kind] for kind in _TAKEN)
    skipped = [
        f"{kinds[kind]} {one if kinds[kind] == 1 else several}"
        for kind, (one, several) in _SKIPPED.items()
        if kinds[kind]
    ]
    of_all = f"of {count_of(len(submitted.members), 'skill')}"
    news = f"{taken} {of_all} {'was' if taken == 1 else 'were'} submitted."
    sentences = [news if taken else f"None {of_all} was submitted."]
    if skipped:
        sentences.append(f"{', '.join(skipped)}.")
    not_taken = refused(submitted)
    if not_taken:
        sentences.append(f"Refused: {not_taken}")
    return PROBLEM if not_taken or kinds[_K.BLOCKED] else DONE, " ".join(sentences)


async def submit_page(request: WebRequest) -> Template:
    return await _form_page(request, {"source": request.query_params.get("source", "")})


@operation(max_body=MAX_FORM_BYTES, takes_files=True)
async def submit_form(request: WebRequest) -> Response[Any]:
    """Submit the form; a repository with several skills leads to a choice."""
    form = await request.form()
    typed = _typed(form)
    visitor, is_private = visitor_of(request), typed["private"] == "yes"
    try:
        if files := _uploads(form):
            submitted = await submit_files(
                visitor, files, namespace=typed["namespace"], is_private=is_private
            )
            return await _redirect_to_set(request, submitted)
        source = _source(typed)
        if source.path:
            result = await submit_source(visitor, source, is_private=is_private)
            return _see(f"/submissions/{result.submission.id}")
        return await _submit_repo(request, source, is_private=is_private)
    except _SHOWN_ERRORS as error:
        return await _show_error(request, typed, error)


@operation(max_body=MAX_PATHS_BYTES)
async def submit_chosen_form(request: WebRequest) -> Response[Any]:
    """Submit the selected skills."""
    form = await request.form()
    typed = _typed(form)
    paths = [path for path in form.getall("paths", []) if isinstance(path, str)]
    visitor, is_private = visitor_of(request), typed["private"] == "yes"
    try:
        source = _source(typed)
        if not paths:
            skills = await _skills_of(visitor, source)
            return _choice(source, skills, is_private=is_private, is_again=True)
        submitted = await submit_chosen(visitor, source, paths, is_private=is_private)
    except _SHOWN_ERRORS as error:
        return await _show_error(request, typed, error)
    return await _redirect_to_set(request, submitted)


async def _submit_repo(request: WebRequest, source: Source, *, is_private: bool) -> Response[Any]:
    """Submit the only skill of a repository, or let the visitor choose."""
    skills = await _skills_of(visitor_of(request), source)
    if len(skills) == 1:
        submitted = await submit_chosen(
            visitor_of(request), source, [skills[0].path], is_private=is_private
        )
        return await _redirect_to_set(request, submitted)
    return _choice(source, skills, is_private=is_private)


async def _skills_of(visitor: Visitor, source: Source) -> tuple[DiscoveredSkill, ...]:
    async with find_skills_in(visitor, source) as discovery:
        skills = discovery.skills
    if not skills:
        raise InvalidInput(
            f"no SKILL.md found in {source.url}; a skill is a folder with a SKILL.md"
        )
    return skills


def _choice(
    source: Source, skills: tuple[DiscoveredSkill, ...], *, is_private: bool, is_again: bool = False
) -> Template:
    """Show the skills to choose from; with *is_again*, say that none was selected."""
    context = {
        "source": source,
        "skills": skills,
        "is_private": is_private,
        "error": "choose at least one skill" if is_again else "",
    }
    status = HTTP_400_BAD_REQUEST if is_again else HTTP_200_OK
    return Template("pages/choose.html", context=context, status_code=status)


async def _form_page(
    request: WebRequest, typed: dict[str, str], error: VskillError | None = None
) -> Template:
    context = {
        "typed": dict.fromkeys(_FIELDS, "") | typed,
        "namespaces": await _upload_namespaces(request),
        "error": str(error) if error else "",
        "default_host": get_settings().default_host,
        "max_bytes": MAX_SOURCE_BYTES,
    }
    return Template("pages/submit.html", context=context)


async def _upload_namespaces(request: WebRequest) -> list[str]:
    """Return the namespaces to which this visitor may upload; members may not.

    Empty without an account if `@local` has owners.
    """
    visitor = visitor_of(request)
    names = await list_namespaces_of(visitor.user.name) if visitor.user else [LOCAL_NAMESPACE]
    return [name for name in names if name.startswith("@") and await may_act_in(visitor, name)]


async def _show_error(
    request: WebRequest, typed: dict[str, str], error: VskillError
) -> Response[Any]:
    """Show the form again with its values and the error."""
    page = await _form_page(request, typed, error)
    page.status_code = next(
        (code for kind, code in _STATUSES.items() if isinstance(error, kind)), HTTP_400_BAD_REQUEST
    )
    if error.retry_after:
        page.headers["Retry-After"] = str(math.ceil(error.retry_after.total_seconds()))
    return page


async def _redirect_to_set(request: WebRequest, submitted: SubmittedSet) -> Redirect:
    """Redirect to the submission, or to the page of the set, when the index contains it."""
    if not submitted.submission_ids:
        raise InvalidInput(refused(submitted))
    if len(submitted.members) == 1:
        return _see(f"/submissions/{submitted.submission_ids[0]}")
    await wait_for_index(request)
    kind, words = summarize_set(submitted)
    return _see(f"{SETS}/{submitted.set_id}", [flash(kind, words, on=SETS)])


def _see(path: str, cookies: Sequence[Cookie] = ()) -> Redirect:
    return Redirect(path, status_code=HTTP_303_SEE_OTHER, cookies=cookies)


def _source(typed: dict[str, str]) -> Source:
    return read_remote_source(
        typed["source"],
        settings=get_settings(),
        path=skill_folder(typed["path"]),
        ref=typed["ref"],
    )


def _typed(form: FormMultiDict) -> dict[str, str]:
    values = {name: form.get(name, "") for name in _FIELDS}
    return {name: value.strip() if isinstance(value, str) else "" for name, value in values.items()}


def _uploads(form: FormMultiDict) -> list[UploadFile]:
    """Return the files of a form; browsers send an empty one if none was chosen."""
    parts = [part for part in form.getall("files", []) if isinstance(part, UploadFile)]
    return [part for part in parts if part.filename]
