"""ClawHub v1, publishing: files one by one (0.23 and later) or as one form (until 0.20).

Both go the way of every upload: rights, quotas, queue, scan and review. The answer waits a few
seconds for the result, because clients show nothing that comes later.
"""

import asyncio
import hashlib
from contextlib import nullcontext
from datetime import timedelta
from typing import Annotated

import msgspec
from litestar.datastructures import UploadFile
from litestar.enums import RequestEncodingType
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_201_CREATED

from vskill_platform.access.visibility import find_visible_submission
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import (
    InvalidInput,
    NotAllowed,
    NotSignedIn,
    Overtaken,
    SourceRefused,
    TooLarge,
)
from vskill_platform.fetch.snapshot import MAX_FILES, MAX_TOTAL_BYTES
from vskill_platform.intake.submit import SubmitKind
from vskill_platform.model.rights import Role, Visitor
from vskill_platform.model.skill import SkillVersion, parse_version
from vskill_platform.model.submission import STUCK_STATES, Submission, SubmissionState
from vskill_platform.model.user import User
from vskill_platform.stores.blob_store import keep
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import check_room, commit, get_now
from vskill_platform.stores.submission_store import follow_submissions
from vskill_platform.stores.upload_store import (
    count_staged,
    drop_staged,
    get_staged,
    get_staged_mark,
    reserve_staged,
    write_staged,
)
from vskill_platform.stores.version_store import get_versions
from vskill_platform.web.http.bodies import LARGE_BODIES, MAX_BODY_BYTES
from vskill_platform.web.http.concurrency_quota import hold_until_answered
from vskill_platform.web.http.rate_limits import quota_key
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.protocols.clawhub_find import NoSkill, find_owned_skill
from vskill_platform.web.protocols.clawhub_fingerprint import find_match, fingerprint
from vskill_platform.web.protocols.clawhub_json import Object
from vskill_platform.web.protocols.clawhub_trust import assess_refused, millis
from vskill_platform.web.skills.clawhub_names import join_slug
from vskill_platform.web.skills.readme_page import public_address
from vskill_platform.web.submissions.submit_skills import (
    MAX_FORM_BYTES,
    UploadedFile,
    submit_skill,
)

#: The largest file that clients send.
MAX_FILE_BYTES = 10 * 1024 * 1024
#: Files of one user that were sent and not published yet: two skills of the largest size.
MAX_STAGED_FILES, MAX_STAGED_BYTES = 2 * MAX_FILES, 2 * MAX_TOTAL_BYTES
#: Clients wait 15 seconds for an answer.
RESULT_AFTER = timedelta(seconds=8)
_ROLES = {Role.ADMIN: "admin", Role.REVIEWER: "moderator"}
_Text = Annotated[str, msgspec.Meta(max_length=300)]
_Path = Annotated[str, msgspec.Meta(max_length=500)]
_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_FILE_BYTES)]


class PublishedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: _Path
    size: _Size
    sha256: _Digest


class PublishRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    slug: _Text
    version: _Text
    owner_handle: _Text = ""
    migrate_owner: bool = False
    categories: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    #: Empty if the files are in the same form.
    files: Annotated[tuple[PublishedFile, ...], msgspec.Meta(max_length=MAX_FILES)] = ()


async def whoami(request: WebRequest) -> Object:
    """Show whose token this is; the handle is also the name of the user's namespace."""
    user = _user(visitor_of(request))
    role = _ROLES.get(user.role, "user")
    return {"user": {"handle": user.name, "displayName": user.name, "image": None, "role": role}}


async def upload_url(request: WebRequest, data: JSONBody[PublishedFile]) -> Object:
    """Tell where to send one file."""
    _user(visitor_of(request))
    path = f"/api/v1/skills/-/upload/{data.sha256}"
    return {"uploadUrl": public_address(request) + path, "uploadTicket": data.sha256}


@operation(max_body=MAX_FILE_BYTES)
async def upload_file(request: WebRequest, sha256: FromPath[str]) -> Object:
    """Keep one file for an hour, until it is published with the others."""
    user = _user(visitor_of(request))
    length = request.content_length
    if length is None or length > MAX_BODY_BYTES:
        hold_until_answered(request, LARGE_BODIES)
    content = await request.body()
    if await in_few_threads(_sha256, content) != sha256:
        raise InvalidInput("the SHA-256 of the file is not the announced one; send it again")
    await check_room()
    await _reserve(user.name, sha256, len(content))
    kept = await keep(sha256, content)
    staged = write_staged(user.name, sha256, kept, size=len(content), now=get_now())
    if await commit(staged) is None:
        raise Overtaken("the file was removed while it was being stored; send it again")
    return {"storageId": sha256}


async def _reserve(user: str, sha256: str, size: int) -> None:
    """Reserve the place of a file before it is written: clients send several at once."""

    async def plan() -> PlannedChange[None]:
        mark = await get_staged_mark(user)  # before counting, to detect concurrent ones
        count, total = await count_staged(user)
        if count >= MAX_STAGED_FILES or total + size > MAX_STAGED_BYTES:
            raise TooLarge(
                "too many files were sent but not published; they are removed after an hour"
            )
        operations = reserve_staged(user, sha256, size, now=get_now(), mark=mark)
        return PlannedChange(operations=operations, result=None)

    await change(f"the staged files of {user}", plan)


@operation(max_body=MAX_FORM_BYTES, takes_files=True, status=HTTP_201_CREATED)
async def publish(request: WebRequest) -> Object:
    """Submit a skill and wait a few seconds for the result."""
    user = _user(visitor_of(request))
    if request.content_type[0] == RequestEncodingType.MULTI_PART:
        asked, files = await _read_form(request)
        sent = await _submit(request, asked, files)
    else:
        asked = _read_request(await request.body())
        sent = await _submit_staged(request, asked)
        await commit([drop_staged(user.name, file.sha256, file.size) for file in asked.files])
    if isinstance(sent, SkillVersion):
        return _answer(sent.submission_id, asked, sent.version, is_published=True)
    return await _result(request, asked, await _wait_for_result(sent))


async def show_attempt(request: WebRequest, attempt_id: FromPath[str]) -> Object:
    """Show how far a publication is."""
    submission = (await find_visible_submission(visitor_of(request), attempt_id)).record
    is_published = submission.state is SubmissionState.PUBLISHED
    is_pending = submission.state in STUCK_STATES | {SubmissionState.NEEDS_REVIEW}
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
    """Submit files that were sent before; the same one may be meant by many paths."""
    visitor, size = visitor_of(request), sum(file.size for file in asked.files)
    if size > MAX_TOTAL_BYTES:
        raise TooLarge(f"the files have more than {MAX_TOTAL_BYTES:,} bytes")
    is_large = size > MAX_BODY_BYTES
    with LARGE_BODIES.held_by(quota_key(visitor)) if is_large else nullcontext():
        files = [await _staged(_user(visitor), file) for file in asked.files]
        return await _submit(request, asked, files)


async def _submit(
    request: WebRequest, asked: PublishRequest, files: list[UploadedFile]
) -> SkillVersion | Submission:
    """Submit a skill; return the latest version instead if it has the same files and number."""
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
        return _answer(submission.id, asked, version, is_published=True)
    if submission.state in STUCK_STATES:
        return _answer(submission.id, asked, f"is being checked: {link}", is_published=False)
    if submission.state is SubmissionState.NEEDS_REVIEW:
        return _answer(submission.id, asked, f"needs review: {link}", is_published=False)
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
    return fingerprint((file.name, _sha256(file.content)) for file in files)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def _wait_for_result(submission: Submission) -> Submission:
    """Return the submission when it is checked, or as it is after a few seconds."""
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


def _answer(attempt_id: str, asked: PublishRequest, version: str, *, is_published: bool) -> Object:
    """Return the answer; old clients print only the id of the version."""
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


def _user(visitor: Visitor) -> User:
    if visitor.user is None:
        raise NotSignedIn("sign in first: clawhub login")
    return visitor.user
