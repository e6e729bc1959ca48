"""Downloads: the archive of a version, or one of its files, streamed from disk.

A client that reads slowly holds a temporary file, not memory.
"""

import base64
import io
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, closing
from datetime import timedelta
from itertools import chain
from typing import IO, Any
from urllib.parse import quote

import anyio
import msgspec
from litestar import MediaType, Response
from litestar.response.base import ASGIResponse
from litestar.status_codes import HTTP_302_FOUND, HTTP_304_NOT_MODIFIED
from litestar.types import Receive, Scope, Send

from vskill_platform.base.off_loop import in_few_threads, work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.publish.versions.find_version import find_kept_archive, find_version
from vskill_platform.publish.versions.version_files import read_file, text_of
from vskill_platform.stores.blob_store import stream_kept
from vskill_platform.stores.db import get_blobs, get_settings
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota
from vskill_platform.web.http.conditional import is_known
from vskill_platform.web.http.middleware import IS_HEAD
from vskill_platform.web.http.rate_limits import quota_key
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.installs import count_download
from vskill_platform.web.skills.open_skill import OpenSkill

log = get_logger(__name__)

PIECE_BYTES = 64 * 1024
#: Downloads wait for a slot, because clients fetch all skills of an index at once, and treat a
#: refusal as a missing skill.
DOWNLOADS = ConcurrencyQuota(
    in_all=100,
    each=10,
    what="downloads",
    retry_after=timedelta(seconds=5),
    patience=timedelta(seconds=30),
)
#: A client must read a download at this average rate, plus some seconds, so that slow readers do
#: not hold their slots for hours.
MIN_BYTES_PER_SECOND = 16 * 1024
SPARE_SECONDS = 60.0
#: How many archives are loaded at once; each is in memory until it is written to disk.
_LOADS = anyio.CapacityLimiter(4)
#: A version never changes, but it may be blocked, so shared caches must not keep it.
_IMMUTABLE = "private, max-age=31536000, immutable"
#: The latest version changes.
_REVALIDATE = "private, no-cache"
#: A signed URL is for one visitor and valid for minutes.
_NO_STORE = "private, no-store"
#: Keeps a file from running as a page of this site.
_SANDBOX = "default-src 'none'; sandbox"


class Pieces(msgspec.Struct, frozen=True, kw_only=True):
    """Content in pieces, which are sent as they come."""

    pieces: AsyncIterator[bytes]
    close: Callable[[], None]
    #: Unknown if it is still being made.
    size: int | None = None


class Loaded(msgspec.Struct, frozen=True):
    #: A file, which is closed after it was sent, or a stream. A stream is written to a file before
    #: anything is sent, so that damaged or incomplete content is an error and not half a download.
    #: Pieces are for clients that notice this themselves.
    content: bytes | IO[bytes] | AsyncIterator[bytes] | Pieces
    media_type: str


Load = Callable[[], Awaitable[Loaded]]
#: Called after everything was sent.
Sent = Callable[[], Awaitable[None]]


async def _nothing() -> None:
    pass


class Download(Response[None]):
    """A response that loads its content when a download slot is free."""

    def __init__(
        self,
        request: WebRequest,
        load: Load,
        headers: dict[str, str],
        *,
        on_sent: Sent = _nothing,
    ) -> None:
        super().__init__(None, headers=headers)
        self._load = load
        self._on_sent = on_sent
        self._holder = quota_key(visitor_of(request))

    def to_asgi_response(self, app: Any, request: Any, **given: Any) -> ASGIResponse:  # noqa: ARG002 - the framework's
        return _StreamedFile(
            self._load,
            self._holder,
            self._on_sent,
            headers={**(given.get("headers") or {}), **self.headers},
            cookies=chain(self.cookies, given.get("cookies") or ()),
            is_head_response=given.get("is_head_response", False),
        )


class _StreamedFile(ASGIResponse):
    _should_set_content_length = False

    def __init__(self, load: Load, holder: str, on_sent: Sent, **given: Any) -> None:
        super().__init__(**given)
        self._load = load
        self._on_sent = on_sent
        self._holder = holder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        # Loaded only here, where the slot is always released, and an error before the headers still
        # becomes an error response.
        async with DOWNLOADS.held_in_turn(self._holder):
            async with _LOADS:
                loaded = await self._load()
                content = await _open_content(loaded.content)
            with closing(content):
                self.headers["content-type"] = loaded.media_type
                if content.size is not None:
                    self.headers["content-length"] = str(content.size)
                del loaded
                await self.start_response(send)
                is_sent = await self._send_pieces(content.pieces, send)
        if not is_sent:  # the response is incomplete, so the server closes the connection
            log.info("slow download ended", size=content.size)
            return
        if not (self.is_head_response or IS_HEAD in scope):
            await self._on_sent()

    async def _send_pieces(self, pieces: AsyncIterator[bytes], send: Send) -> bool:
        """Return whether the client read them fast enough."""
        spare = SPARE_SECONDS
        if not self.is_head_response:
            async for piece in pieces:
                spare += len(piece) / MIN_BYTES_PER_SECOND
                started = anyio.current_time()
                with anyio.move_on_after(spare) as limit:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                if limit.cancelled_caught:
                    return False
                spare -= anyio.current_time() - started
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return True


async def _open_content(content: bytes | IO[bytes] | AsyncIterator[bytes] | Pieces) -> Pieces:
    """Return a file in pieces; what is not in one is written to an unnamed one first."""
    if isinstance(content, Pieces):
        return content
    if not isinstance(content, bytes | AsyncIterator):
        return _pieces_of(content)
    with ExitStack() as on_error:
        file = on_error.enter_context(tempfile.SpooledTemporaryFile(max_size=PIECE_BYTES))
        async for piece in _one(content) if isinstance(content, bytes) else content:
            await work_in_thread(file.write, piece)
        on_error.pop_all()  # it is closed after it was sent
    return _pieces_of(file)


def _pieces_of(file: IO[bytes]) -> Pieces:
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return Pieces(pieces=_read_pieces(file), close=file.close, size=size)


async def _read_pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece


async def _one(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def skill_download(request: WebRequest, opened: OpenSkill) -> Response[Any]:
    """Send the archive, byte for byte as it was checked."""
    named = opened.version.version if opened.is_named else None
    version = (await find_version(opened.skill.slug, named)).version
    sealed = base64.b64encode(bytes.fromhex(version.archive_sha256)).decode()
    headers = {
        "ETag": f'"{version.archive_sha256}"',
        "Cache-Control": _IMMUTABLE if opened.is_named else _REVALIDATE,
        "Repr-Digest": f"sha-256=:{sealed}:",
        "Content-Disposition": f'attachment; filename="{archive_name(opened.skill, version)}"',
        "X-Skill-Version": version.version,
    }
    if is_known(request.headers.get("if-none-match", ""), version.archive_sha256):
        return Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=headers)

    async def load() -> Loaded:
        archive = await find_kept_archive(opened.skill.slug, version.version)
        return Loaded(stream_kept(archive), "application/gzip")

    async def count() -> None:
        await count_download(request, opened.skill.slug)

    # Range requests are not counted, because one download may need many.
    is_whole = "range" not in request.headers
    if signed := await _sign_url(request, opened.skill.slug, version.version):
        if is_whole:
            await count()
        found = {"Location": signed, "Cache-Control": _NO_STORE}
        return Response(b"", status_code=HTTP_302_FOUND, headers=found, media_type=MediaType.TEXT)
    if is_whole:
        return Download(request, load, headers, on_sent=count)
    return Download(request, load, headers)


async def _sign_url(request: WebRequest, slug: str, version: str) -> str | None:
    """Return the URL of the archive in its bucket, if the operator allows that.

    The visitor's rights were checked. The URL is signed for GET, so it does not work for HEAD.
    """
    lifetime = get_settings().blobs_signed_url_lifetime
    if not lifetime or IS_HEAD in request.scope:
        return None
    archive = await find_kept_archive(slug, version)
    if isinstance(archive, bytes):
        return None
    return await get_blobs().sign(archive.blob, lifetime=lifetime)


async def skill_raw_file(request: WebRequest, opened: OpenSkill) -> Response[Any]:
    """Send one file as a download that a browser does not render."""
    if not opened.path:
        raise NotFound("the path of a file is missing: /skills/SLUG/raw/PATH")
    if all(file.path != opened.path for file in opened.version.files):
        raise NotFound(f"{opened.skill.slug} {opened.version.version} has no file {opened.path!r}")

    async def load() -> Loaded:
        raw = await read_file(opened.version, opened.path)
        is_text = await in_few_threads(text_of, raw) is not None
        return Loaded(raw, "text/plain; charset=utf-8" if is_text else "application/octet-stream")

    name = quote(opened.path.rsplit("/", 1)[-1], safe="")
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        "Content-Security-Policy": _SANDBOX,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": _IMMUTABLE if opened.is_named else _REVALIDATE,
    }
    return Download(request, load, headers)


def archive_name(skill: PublishedSkill, version: SkillVersion) -> str:
    return f"{plain_name(skill)}-{version.version}.tar.gz"


def plain_name(skill: PublishedSkill) -> str:
    """Return a file name that is safe in headers, shells and file systems."""
    return re.sub(r"[^a-z0-9-]+", "-", skill.name.lower()).strip("-") or "skill"
