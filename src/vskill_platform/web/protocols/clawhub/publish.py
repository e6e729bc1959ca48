"""ClawHub v1, publishing: files one by one (0.23 and later) or as one form (until 0.20).

Both are handled like every upload: rights, quotas, queue, scan and review. The response waits a few
seconds for the result, because clients show nothing later.
"""

import asyncio
from contextlib import nullcontext
from datetime import timedelta
from typing import Annotated

import msgspec
from litestar.datastructures import UploadFile
from litestar.enums import RequestEncodingType
from litestar.params import FromPath
from litestar.status_codes import HTTP_201_CREATED

from vskill_platform.access.visibility import find_visible_submission
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import (
    InvalidInput,
    NotAllowed,
    SourceRefused,
    TooLarge,
)
from vskill_platform.fetch.snapshot import MAX_SOURCE_BYTES, MAX_SOURCE_FILES
from vskill_platform.intake.submit import SubmitKind
from vskill_platform.model.skill import SkillVersion, parse_version
from vskill_platform.model.submission import IN_PROGRESS_STATES, Submission, SubmissionState
from vskill_platform.model.user import User
from vskill_platform.stores.db import commit
from vskill_platform.stores.follow_submissions import follow_submissions
from vskill_platform.stores.upload_store import (
    drop_staged,
    get_staged,
)
from vskill_platform.stores.version_store import get_versions
from vskill_platform.web.http.bodies import LARGE_BODIES, MAX_BODY_BYTES
from vskill_platform.web.http.rate_limits import quota_key
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.protocols.clawhub.find import NoSkill, find_owned_skill
from vskill_platform.web.protocols.clawhub.fingerprint import find_match, fingerprint
from vskill_platform.web.protocols.clawhub.shapes import Object
from vskill_platform.web.protocols.clawhub.trust import assess_refused, millis
from vskill_platform.web.protocols.clawhub.uploads import (
    PublishedFile,
    sha256_of,
    signed_in_publisher,
)
from vskill_platform.web.skills.clawhub_names import join_slug
from vskill_platform.web.skills.readme_page import public_address
from vskill_platform.web.submissions.submit_skills import (
    MAX_FORM_BYTES,
    UploadedFile,
    submit_skill,
)

#: Clients wait 15 seconds for a response.
RESULT_AFTER = timedelta(seconds=8)
_Text = Annotated[str, msgspec.Meta(max_length=300)]


class PublishRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    slug: _Text
    version: _Text
    owner_handle: _Text = ""
    migrate_owner: bool = False
    categories: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    #: Empty if the files are in the same form.
    files: Annotated[tuple[PublishedFile, ...], msgspec.Meta(max_length=MAX_SOURCE_FILES)] = ()


@operation(max_body=MAX_FORM_BYTES, takes_files=True, status=HTTP_201_CREATED)
async def publish(request: WebRequest) -> Object:
    """Submit a skill and wait a few seconds for the result."""
    user = signed_in_publisher(visitor_of(request))
    if request.content_type[0] == RequestEncodingType.MULTI_PART:
        asked, files = await _read_form(request)
        sent = await _submit(request, asked, files)
    else:
        asked = _read_request(await request.body())
        sent = await _submit_staged(request, asked)
        await commit([drop_staged(user.name, file.sha256, file.size) for file in asked.files])
    if isinstance(sent, SkillVersion):
        return _response(sent.submission_id, asked, sent.version, is_published=True)
    return await _result(request, asked, await _wait_for_result(sent))


async def show_attempt(request: WebRequest, attempt_id: FromPath[str]) -> Object:
    """Show the progress of a publication."""
    submission = (await find_visible_submission(visitor_of(request), attempt_id)).record
    is_published = submission.state is SubmissionState.PUBLISHED
    is_pending = submission.state in IN_PROGRESS_STATES | {SubmissionState.NEEDS_REVIEW}
    status = "pending" if is_pending else "failed"
    return {
        "ok": True,
        "attemptId": submission.id,
        "status": "published" if is_published else status,
        "state": submission.state,
        "slug": submission.skill_name,
        "message": submission.reason,
        "createdAt": millis(submission.created_at),
        "updatedAt": millis(submission.updated_at),
    }


async def _submit_staged(request: WebRequest, asked: PublishRequest) -> SkillVersion | Submission:
    """Submit files that were sent before; several paths may refer to the same file."""
    visitor, size = visitor_of(request), sum(file.size for file in asked.files)
    if size > MAX_SOURCE_BYTES:
        raise TooLarge(f"the files have more than {MAX_SOURCE_BYTES:,} bytes")
    is_large = size > MAX_BODY_BYTES
    with LARGE_BODIES.held_by(quota_key(visitor)) if is_large else nullcontext():
        files = [await _staged(signed_in_publisher(visitor), file) for file in asked.files]
        return await _submit(request, asked, files)


async def _submit(
    request: WebRequest, asked: PublishRequest, files: list[UploadedFile]
) -> SkillVersion | Submission:
    """Submit a skill, or return the latest version if it has the same files and number."""
    _check_request(asked)
    if known := await _already_published(request, asked, files):
        return known
    result = await submit_skill(
        visitor_of(request),
        files,
        name=asked.slug,
        namespace=_namespace(asked),
        version=asked.version,
    )
    if result.kind is SubmitKind.BLOCKED:
        raise NotAllowed(result.reason)
    return result.submission


async def _result(request: WebRequest, asked: PublishRequest, submission: Submission) -> Object:
    link = f"{public_address(request)}/submissions/{submission.id}"
    if submission.state is SubmissionState.PUBLISHED:
        version = await _version_of(submission)
        return _response(submission.id, asked, version, is_published=True)
    if submission.state in IN_PROGRESS_STATES:
        return _response(submission.id, asked, f"is being checked: {link}", is_published=False)
    if submission.state is SubmissionState.NEEDS_REVIEW:
        return _response(submission.id, asked, f"needs review: {link}", is_published=False)
    found = await assess_refused(submission)
    raise SourceRefused(f"{found.overview}\nDetails: {link}")


def _check_request(asked: PublishRequest) -> None:
    if parse_version(asked.version) is None:
        raise InvalidInput(f"{asked.version!r} is not a version: use three numbers, such as 1.2.0")
    if asked.migrate_owner:
        raise InvalidInput("skills cannot be moved to another owner; publish without this option")
    if asked.categories or asked.topics:
        raise InvalidInput(
            "the options for categories and topics are not supported; add tags to SKILL.md"
        )


async def _already_published(
    request: WebRequest, asked: PublishRequest, files: list[UploadedFile]
) -> SkillVersion | None:
    """Return the latest version if it is requested again; refuse older ones."""
    owner = asked.owner_handle or visitor_of(request).name
    try:
        skill = await find_owned_skill(request, asked.slug, owner)
    except NoSkill:
        return None
    latest, version = parse_version(skill.version), parse_version(asked.version)
    if latest is None or version is None or version > latest or skill.down:
        return None
    sent = await in_few_threads(_fingerprint, files)
    known = [item for item in await get_versions(skill.slug) if item.version == asked.version]
    if match := await find_match(known, sent):
        return match
    raise InvalidInput(
        f"version {asked.version} is not newer than {skill.version}, the latest version of "
        f"{skill.slug}; choose a higher one"
    )


def _fingerprint(files: list[UploadedFile]) -> str:
    return fingerprint((file.name, sha256_of(file.content)) for file in files)


async def _wait_for_result(submission: Submission) -> Submission:
    """Return the submission when it is checked, or in its state after a few seconds."""
    latest = submission
    try:
        async with asyncio.timeout(RESULT_AFTER.total_seconds()):
            async for changed in follow_submissions([submission.id]):
                latest = changed
    except TimeoutError:
        pass
    return latest


async def _version_of(submission: Submission) -> str:
    versions = await get_versions(submission.slug or "")
    return next(item.version for item in reversed(versions) if item.digest == submission.digest)


def _response(
    attempt_id: str, asked: PublishRequest, version: str, *, is_published: bool
) -> Object:
    """Return the response; old clients print only the id of the version."""
    status = "published" if is_published else "pending"
    version_id = f"{asked.slug}@{version}" if is_published else version
    return {
        "ok": True,
        "skillId": asked.slug,
        "versionId": version_id,
        "slug": asked.slug,
        "version": version if is_published else asked.version,
        "status": status,
        "publicationStatus": status,
        "attemptId": attempt_id,
    }


async def _read_form(request: WebRequest) -> tuple[PublishRequest, list[UploadedFile]]:
    form = await request.form()
    try:
        payload = form.get("payload")
        if not isinstance(payload, str):
            raise InvalidInput("the form has no field payload")
        parts = [part for part in form.getall("files", []) if isinstance(part, UploadFile)]
        files = [UploadedFile(part.filename, await part.read()) for part in parts]
        asked = _read_request(payload.encode())
        return msgspec.structs.replace(asked, files=()), files
    finally:
        await form.close()


def _read_request(body: bytes) -> PublishRequest:
    try:
        return msgspec.json.decode(body, type=PublishRequest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"the request cannot be read: {error}") from error


async def _staged(user: User, file: PublishedFile) -> UploadedFile:
    content = await get_staged(user.name, file.sha256, file.size)
    if content is None:
        raise InvalidInput(f"{file.path!r} was not uploaded within the last hour; publish again")
    return UploadedFile(file.path, content)


def _namespace(asked: PublishRequest) -> str:
    owner = asked.owner_handle.removeprefix("@")
    if not join_slug(owner, asked.slug).startswith("@"):
        raise NotAllowed(f"the skills of {owner} are published from its Git repository")
    return f"@{owner}" if owner else ""
