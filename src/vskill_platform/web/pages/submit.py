"""The way in for people: an address or files, and a choice if there are several skills."""

from typing import Any

from litestar import Request, Response, get, post
from litestar.datastructures import FormMultiDict, UploadFile
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from vskill_platform.errors import (
    InvalidInput,
    NotAllowed,
    SourceError,
    TooMany,
    VskillError,
)
from vskill_platform.fetch.snapshot import MAX_TOTAL_BYTES
from vskill_platform.intake.read_source import read_remote_source
from vskill_platform.intake.submit_set import SubmittedSet
from vskill_platform.model.access import Right
from vskill_platform.model.source import LOCAL_NAMESPACE, Source
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import list_namespaces_of
from vskill_platform.web.access.visitor import visitor_of
from vskill_platform.web.hand_in import (
    UploadedFile,
    looked_through,
    submit_chosen,
    submit_files,
    submit_source,
)

PageRequest = Request[Any, Any, Any]
#: The largest that is taken, and a little for what stands between the files.
MAX_FORM_BYTES = MAX_TOTAL_BYTES + 4 * 1024 * 1024
_SUBMIT = {"right": Right.SUBMIT}
#: What the form can say about what went wrong; all else is not about what was typed.
_SAYABLE = (InvalidInput, NotAllowed, SourceError, TooMany)
_STATUSES = {TooMany: 429, NotAllowed: 403}


@get("/submit", opt=_SUBMIT, include_in_schema=False)
async def submit_page(request: PageRequest) -> Template:
    return await _form_page(request, {"source": request.query_params.get("source", "")})


@post(
    "/submit", opt=_SUBMIT, include_in_schema=False, request_max_body_size=MAX_FORM_BYTES,
    status_code=HTTP_303_SEE_OTHER,
)  # fmt: skip
async def submit_form(request: PageRequest) -> Response[Any]:
    """Take what was typed or dropped; a repo with several skills leads to a choice."""
    form = await request.form()
    typed = {name: _text(form, name) for name in ("source", "path", "ref", "namespace", "private")}
    visitor, is_private = visitor_of(request), typed["private"] == "yes"
    try:
        if files := await read_files(form):
            submitted = await submit_files(
                visitor, files, namespace=typed["namespace"], is_private=is_private
            )
            return _lead_to(submitted)
        source = read_remote_source(
            typed["source"], settings=get_settings(), path=typed["path"], ref=typed["ref"]
        )
        if source.path:
            result = await submit_source(visitor, source, is_private=is_private)
            return _see(f"/submissions/{result.submission.id}")
        return await _submit_repo(request, source, is_private=is_private)
    except _SAYABLE as error:
        return await _say(request, typed, error)


@post("/submit/chosen", opt=_SUBMIT, include_in_schema=False, status_code=HTTP_303_SEE_OTHER)
async def submit_chosen_form(request: PageRequest) -> Response[Any]:
    """Take the skills that were ticked."""
    form = await request.form()
    typed = {name: _text(form, name) for name in ("source", "path", "ref", "namespace", "private")}
    try:
        source = read_remote_source(
            typed["source"], settings=get_settings(), path=typed["path"], ref=typed["ref"]
        )
        submitted = await submit_chosen(
            visitor_of(request),
            source,
            [path for path in form.getall("paths", []) if isinstance(path, str)],
            is_private=typed["private"] == "yes",
        )
    except _SAYABLE as error:
        return await _say(request, typed, error)
    return _lead_to(submitted)


async def _submit_repo(request: PageRequest, source: Source, *, is_private: bool) -> Response[Any]:
    """Submit the one skill of a repo; let the visitor choose if there are more."""
    async with looked_through(source) as discovery:
        skills = discovery.skills
    if not skills:
        raise InvalidInput(
            f"there is no SKILL.md in {source.url}; a skill is a folder with that file in it"
        )
    if len(skills) == 1:
        submitted = await submit_chosen(
            visitor_of(request), source, [skills[0].path], is_private=is_private
        )
        return _lead_to(submitted)
    context = {"source": source, "skills": skills, "is_private": is_private}
    return Template("pages/choose.html", context=context)


async def _form_page(
    request: PageRequest, typed: dict[str, str], error: VskillError | None = None
) -> Template:
    user = visitor_of(request).user
    namespaces = [
        name
        for name in (await list_namespaces_of(user.name) if user else [LOCAL_NAMESPACE])
        if name.startswith("@")
    ]
    context = {
        "typed": {"source": "", "path": "", "ref": "", "namespace": "", "private": ""} | typed,
        "namespaces": namespaces,
        "error": str(error) if error else "",
        "default_host": get_settings().default_host,
        "max_bytes": MAX_TOTAL_BYTES,
    }
    return Template("pages/submit.html", context=context)


async def _say(request: PageRequest, typed: dict[str, str], error: VskillError) -> Response[Any]:
    """Show the form again as it was filled in, with what to do about it."""
    page = await _form_page(request, typed, error)
    page.status_code = next(
        (code for kind, code in _STATUSES.items() if isinstance(error, kind)), 400
    )
    return page


def _lead_to(submitted: SubmittedSet) -> Redirect:
    """Lead to the one submission, or to the list of those that came in together."""
    refused = [member for member in submitted.members if member.result is None]
    if len(submitted.members) == 1 and refused:
        raise InvalidInput(refused[0].error)
    if len(submitted.submission_ids) == 1:
        return _see(f"/submissions/{submitted.submission_ids[0]}")
    return _see(f"/queue?set={submitted.set_id}")


def _see(path: str) -> Redirect:
    return Redirect(path, status_code=HTTP_303_SEE_OTHER)


def _text(form: FormMultiDict, name: str) -> str:
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


async def read_files(form: FormMultiDict) -> list[UploadedFile]:
    """Return the files that were chosen; a browser sends an empty one if there was none."""
    parts = [part for part in form.getall("files", []) if isinstance(part, UploadFile)]
    files = [UploadedFile(part.filename, await part.read()) for part in parts if part.filename]
    for part in parts:
        await part.close()
    return files
