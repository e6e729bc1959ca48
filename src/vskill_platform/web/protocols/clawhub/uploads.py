"""ClawHub v1, uploads: files one by one, staged until they are published."""

import hashlib
from typing import Annotated

import msgspec
from litestar.params import FromPath, JSONBody

from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import (
    InvalidInput,
    NotSignedIn,
    Overtaken,
    TooLarge,
)
from vskill_platform.fetch.snapshot import MAX_SOURCE_BYTES, MAX_SOURCE_FILES
from vskill_platform.model.rights import Role, Visitor
from vskill_platform.model.user import User
from vskill_platform.stores.blob_store import keep
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import check_free_space, commit, get_now
from vskill_platform.stores.upload_store import (
    count_staged,
    get_staged_mark,
    reserve_staged,
    write_staged,
)
from vskill_platform.web.http.bodies import LARGE_BODIES, MAX_BODY_BYTES
from vskill_platform.web.http.concurrency_quota import hold_until_response
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.protocols.clawhub.shapes import Object
from vskill_platform.web.skills.readme_page import public_address

#: The largest file that clients send.
MAX_FILE_BYTES = 10 * 1024 * 1024
#: The limit for a user's staged files: two skills of the largest size.
MAX_STAGED_FILES, MAX_STAGED_BYTES = 2 * MAX_SOURCE_FILES, 2 * MAX_SOURCE_BYTES
_ROLES = {Role.ADMIN: "admin", Role.REVIEWER: "moderator"}
_Path = Annotated[str, msgspec.Meta(max_length=500)]
_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_FILE_BYTES)]


class PublishedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: _Path
    size: _Size
    sha256: _Digest


async def whoami(request: WebRequest) -> Object:
    """Show the user of a token; the handle is also the name of the user's namespace."""
    user = signed_in_publisher(visitor_of(request))
    role = _ROLES.get(user.role, "user")
    return {"user": {"handle": user.name, "displayName": user.name, "image": None, "role": role}}


async def upload_url(request: WebRequest, data: JSONBody[PublishedFile]) -> Object:
    """Return where to send one file."""
    signed_in_publisher(visitor_of(request))
    path = f"/api/v1/skills/-/upload/{data.sha256}"
    return {"uploadUrl": public_address(request) + path, "uploadTicket": data.sha256}


@operation(max_body=MAX_FILE_BYTES)
async def upload_file(request: WebRequest, sha256: FromPath[str]) -> Object:
    """Store one file for an hour, to be published with the others."""
    user = signed_in_publisher(visitor_of(request))
    length = request.content_length
    if length is None or length > MAX_BODY_BYTES:
        hold_until_response(request, LARGE_BODIES)
    content = await request.body()
    if await in_few_threads(sha256_of, content) != sha256:
        raise InvalidInput("the SHA-256 of the file is not the announced one; send it again")
    await check_free_space()
    await _reserve(user.name, sha256, len(content))
    kept = await keep(sha256, content)
    staged = write_staged(user.name, sha256, kept, size=len(content), now=get_now())
    if await commit(staged) is None:
        raise Overtaken("the file was removed while it was being stored; send it again")
    return {"storageId": sha256}


async def _reserve(user: str, sha256: str, size: int) -> None:
    """Reserve space for a file before it is written, because clients send several at once."""

    async def plan() -> PlannedChange[None]:
        mark = await get_staged_mark(user)  # before counting, to detect concurrent uploads
        count, total = await count_staged(user)
        if count >= MAX_STAGED_FILES or total + size > MAX_STAGED_BYTES:
            raise TooLarge(
                "too many files were sent but not published; they are removed after an hour"
            )
        operations = reserve_staged(user, sha256, size, now=get_now(), mark=mark)
        return PlannedChange(operations=operations, result=None)

    await change(f"the staged files of {user}", plan)


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def signed_in_publisher(visitor: Visitor) -> User:
    if visitor.user is None:
        raise NotSignedIn("sign in first: clawhub login")
    return visitor.user
