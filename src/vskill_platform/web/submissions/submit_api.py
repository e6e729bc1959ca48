"""Submitting over the API: a git repository or files, and results of third-party scanners."""

from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.enums import RequestEncodingType
from litestar.openapi import ResponseSpec
from litestar.params import Body, JSONBody
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED, HTTP_409_CONFLICT

from vskill_platform.errors import SourceRefused
from vskill_platform.intake.read_source import read_remote_source
from vskill_platform.intake.submit import SubmitKind, SubmitResult
from vskill_platform.intake.submit_set import SubmittedSet
from vskill_platform.intake.take_callback import MAX_CALLBACK_BYTES, take_callback
from vskill_platform.model.rights import Visitor
from vskill_platform.model.source import Source
from vskill_platform.publish.policy.current_policy import run_with_current_policy
from vskill_platform.scan.external.signature import SIGNATURE_HEADER, TIMESTAMP_HEADER
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.bodies import MAX_PATHS_BYTES
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.submissions.shapes import (
    Discovered,
    DiscoverRequest,
    FoundItem,
    NewSubmission,
    Privacy,
    SubmissionResponse,
    SubmissionsResponse,
    UploadForm,
)
from vskill_platform.web.submissions.submission_json import set_response, submit_response
from vskill_platform.web.submissions.submit_skills import (
    MAX_FORM_BYTES,
    find_skills_in,
    skill_folder,
    submit_chosen,
    submit_files,
    submit_source,
)

_NOTHING_NEW = "Nothing new: the flags of each submission say why"
#: The type of this union depends on the installed packages.
_EITHER: Any = SubmissionResponse | SubmissionsResponse


@operation(
    status=HTTP_201_CREATED,
    max_body=MAX_PATHS_BYTES,
    also=(422, 424),
    responses={
        HTTP_200_OK: ResponseSpec(_EITHER, description=_NOTHING_NEW, generate_examples=False)
    },
)
async def create_submission(
    request: WebRequest, data: JSONBody[NewSubmission]
) -> Response[SubmissionResponse | SubmissionsResponse]:
    """Submit a skill of a git repository, or several with `skills`. 200 if nothing is new."""
    visitor, is_private = visitor_of(request), data.privacy is Privacy.PRIVATE
    source = _read_source(data.repo_url, data.skill_path, data.ref)
    if data.skills:
        paths = [skill_folder(skill.path) for skill in data.skills]
        done = await submit_chosen(visitor, source, paths, is_private=is_private)
        return Response(set_response(done, source.url), status_code=_status_of_set(done))
    if not source.path:
        source = await _only_skill(visitor, source, data.skill_name)
    result = await submit_source(visitor, source, is_private=is_private)
    return Response(submit_response(result), status_code=_status(result))


@operation(
    status=HTTP_201_CREATED,
    max_body=MAX_FORM_BYTES,
    takes_files=True,
    also=(422,),
    responses={
        HTTP_200_OK: ResponseSpec(
            SubmissionsResponse, description=_NOTHING_NEW, generate_examples=False
        )
    },
)
async def upload_submission(
    request: WebRequest,
    data: Annotated[UploadForm, Body(media_type=RequestEncodingType.MULTI_PART)],
) -> Response[SubmissionsResponse]:
    """Upload files: one archive, or the files of a folder with their paths.

    200 if nothing is new.
    """
    done = await submit_files(
        visitor_of(request),
        [part for part in data.files if part.filename],
        namespace=data.namespace,
        is_private=data.privacy is Privacy.PRIVATE,
    )
    return Response(set_response(done, ""), status_code=_status_of_set(done))


@operation(also=(422, 424), changes=False)
async def discover_skills(request: WebRequest, data: JSONBody[DiscoverRequest]) -> Discovered:
    """List the skills of a repository without submitting them."""
    source = _read_source(data.repo_url, data.path, data.ref)
    async with find_skills_in(visitor_of(request), source) as discovery:
        found = [
            FoundItem(
                name=skill.name,
                path=skill.path,
                description=skill.description,
                is_fine=skill.is_fine,
                problems=skill.problems,
            )
            for skill in discovery.skills
        ]
    return Discovered(repo_url=source.url, commit_sha=discovery.commit_sha, skills=found)


def _status_of_set(done: SubmittedSet) -> int:
    """Return 201 if anything was created."""
    made = [_status(member.result) for member in done.members if member.result]
    return max(made, default=HTTP_200_OK)


def _status(result: SubmitResult) -> int:
    return HTTP_201_CREATED if result.kind is SubmitKind.CREATED else HTTP_200_OK


def _read_source(url: str, path: str, ref: str) -> Source:
    return read_remote_source(url, settings=get_settings(), path=skill_folder(path), ref=ref)


async def _only_skill(visitor: Visitor, source: Source, name: str) -> Source:
    """Return the only skill of a repository, or the one with this name; raise otherwise."""
    async with find_skills_in(visitor, source) as discovery:
        skills = [skill for skill in discovery.skills if not name or skill.name == name]
    if not skills:
        what = f"skill {name!r}" if name else "SKILL.md"
        raise SourceRefused(f"there is no {what} in {source.url}")
    if len(skills) > 1:
        some = ", ".join(skill.path or "(root)" for skill in skills[:5])
        raise SourceRefused(
            f"there are {len(skills)} skills in {source.url} ({some} …); name one with skillPath, "
            "or several with skills"
        )
    return msgspec.structs.replace(source, path=skills[0].path)


@operation(max_body=MAX_CALLBACK_BYTES)
async def external_scan_callback(request: WebRequest) -> Response[dict[str, str]]:
    """Receive the signed result of a third-party scanner, once; see docs/external-scanners.md."""
    body = await request.body()
    # The policy determines which scanners may send results.
    is_taken = await run_with_current_policy(
        lambda: take_callback(
            str(request.path_params["scan_id"]),
            body,
            moment=request.headers.get(TIMESTAMP_HEADER, ""),
            signature=request.headers.get(SIGNATURE_HEADER, ""),
        )
    )
    if is_taken:
        return Response({"status": "taken"})
    return Response({"status": "this scan has already ended"}, status_code=HTTP_409_CONFLICT)
