"""Submit repositories and uploads of a visitor, after checking rights and quotas.

The pages and the API share this.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec
from litestar.datastructures import UploadFile

from vskill_platform.access.namespaces import check_may_act_in, check_may_publish_ref
from vskill_platform.errors import InvalidInput, NotAllowed, SourceRefused
from vskill_platform.fetch.allowed_sources import reach_of
from vskill_platform.fetch.archive import is_archive
from vskill_platform.fetch.snapshot import MAX_SOURCE_BYTES
from vskill_platform.intake.discover import (
    Discovery,
    discovered,
    discovered_archive,
    discovered_files,
)
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import SubmitResult, submit
from vskill_platform.intake.submit_set import SubmittedSet, submit_paths, submit_set
from vskill_platform.model.namespace import checked_namespace, namespace_of
from vskill_platform.model.rights import Visitor
from vskill_platform.model.source import LOCAL_NAMESPACE, Source
from vskill_platform.model.user import own_namespace
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.stores.block_store import find_block
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.end_submission import why_blocked
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota
from vskill_platform.web.http.rate_limits import quota_key
from vskill_platform.web.submissions.submit_limits import (
    charge_upload,
    check_count,
    check_may_replace,
    check_pending,
    group_of,
)

#: The largest upload, plus multipart overhead.
MAX_FORM_BYTES = MAX_SOURCE_BYTES + 4 * 1024 * 1024
_LOOK_AGAIN = timedelta(seconds=5)
#: Searching a repository or an archive takes a process and a folder each. A Git host may be slow,
#: so repositories and uploads have separate limits.
_looks = ConcurrencyQuota(in_all=4, each=1, what="reading repositories", retry_after=_LOOK_AGAIN)
_uploads = ConcurrencyQuota(in_all=4, each=1, what="uploads", retry_after=_LOOK_AGAIN)


class UploadedFile(msgspec.Struct, frozen=True):
    #: The name given by the sender; a path if the file is in a folder.
    name: str
    content: bytes


def skill_folder(path: str) -> str:
    """Return the folder of a skill, given that folder or the path of its SKILL.md."""
    folder, _, name = path.rpartition("/")
    return folder if name == MANIFEST else path


@asynccontextmanager
async def find_skills_in(visitor: Visitor, source: Source) -> AsyncIterator[Discovery]:
    """Find the skills of a repository; the number of concurrent searches is limited.

    Visitors who may not submit it do not learn whether it exists.
    """
    await check_may_act_in(visitor, namespace_of(source))
    if known := await find_block(source):
        raise SourceRefused(why_blocked(known.record))
    with _looks.held_by(quota_key(visitor)):
        async with discovered(source, reach_of(get_settings())) as discovery:
            yield discovery


async def submit_source(visitor: Visitor, source: Source, *, is_private: bool) -> SubmitResult:
    """Submit one skill of a repository."""
    await _check_namespace(visitor, namespace_of(source), is_private=is_private)
    may_replace_ref = await check_may_publish_ref(visitor, source)
    await check_pending(visitor, 1)
    wanted = SubmissionRequest(source=source, is_private=is_private)
    return await submit(
        wanted,
        submitter=visitor.name,
        group=group_of(visitor),
        may_replace_ref=may_replace_ref,
    )


async def submit_chosen(
    visitor: Visitor, source: Source, paths: Sequence[str], *, is_private: bool
) -> SubmittedSet:
    """Submit several skills of a repository."""
    await _check_namespace(visitor, namespace_of(source), is_private=is_private)
    check_count(visitor, len(paths))
    await check_pending(visitor, len(paths))
    return await submit_paths(
        source,
        paths,
        submitter=visitor.name,
        group=group_of(visitor),
        is_private=is_private,
        admit=partial(check_may_publish_ref, visitor),
    )


async def _no_check(_: Discovery) -> None:
    pass


async def submit_files(
    visitor: Visitor,
    parts: Sequence[UploadFile],
    *,
    namespace: str = "",
    is_private: bool,
    version: str = "",
    check: Callable[[Discovery], Awaitable[None]] = _no_check,
) -> SubmittedSet:
    """Submit all skills of an archive or of an uploaded folder, unless *check* raises."""
    namespace = await _upload_namespace(visitor, namespace, is_private=is_private)
    async with _read(visitor, parts) as files, _opened(files, namespace) as discovery:
        if not discovery.skills:
            raise SourceRefused("no SKILL.md found")
        await check(discovery)
        check_count(visitor, len(discovery.skills))
        await check_pending(visitor, len(discovery.skills))
        await charge_upload(visitor, namespace, sum(len(file.content) for file in files))
        return await submit_set(
            msgspec.structs.replace(discovery, version=version),
            submitter=visitor.name,
            group=group_of(visitor),
            is_private=is_private,
            admit=partial(check_may_replace, visitor),
        )


async def submit_skill(
    visitor: Visitor,
    files: Sequence[UploadedFile],
    *,
    name: str,
    namespace: str = "",
    version: str = "",
) -> SubmitResult:
    """Submit one skill from its files, whose paths start at its folder.

    A private skill stays private; a new skill is public.
    """
    namespace = await _upload_namespace(visitor, namespace, is_private=False)
    if "/" in name or "\\" in name:
        raise InvalidInput(f"{name!r} is not the name of a skill")
    pairs = [(f"{name}/{file.name}", file.content) for file in files]
    with _uploads.held_by(quota_key(visitor)):
        async with discovered_files(pairs, namespace=namespace) as discovery:
            skill = next((found for found in discovery.skills if not found.path), None)
            if skill is None:
                raise SourceRefused(f"there is no {MANIFEST} at the top of {name!r}")
            await check_pending(visitor, 1)
            await charge_upload(visitor, namespace, sum(len(file.content) for file in files))
            wanted = msgspec.structs.replace(await discovery.request_for(skill), version=version)
            await check_may_replace(visitor, wanted.source)
            return await submit(wanted, submitter=visitor.name, group=group_of(visitor))


async def _upload_namespace(visitor: Visitor, namespace: str, *, is_private: bool) -> str:
    """Return the namespace of an upload, by default the visitor's own; refuse those of others."""
    namespace = checked_namespace(namespace or _own_namespace(visitor))
    if not namespace.startswith("@"):
        raise InvalidInput(f"{namespace!r}: files are uploaded to a namespace such as @ada")
    await _check_namespace(visitor, namespace, is_private=is_private)
    return namespace


@asynccontextmanager
async def _read(visitor: Visitor, parts: Sequence[UploadFile]) -> AsyncIterator[list[UploadedFile]]:
    """Read the uploaded files once a slot is free; until then they are on disk."""
    try:
        with _uploads.held_by(quota_key(visitor)):
            yield [UploadedFile(part.filename, await part.read()) for part in parts]
    finally:
        for part in parts:
            await part.close()


def _own_namespace(visitor: Visitor) -> str:
    return own_namespace(visitor.user.name) if visitor.user else LOCAL_NAMESPACE


def _opened(
    files: Sequence[UploadedFile], namespace: str
) -> AbstractAsyncContextManager[Discovery]:
    if len(files) == 1 and is_archive(Path(files[0].name)):
        (archive,) = files
        return discovered_archive(archive.content, filename=archive.name, namespace=namespace)
    pairs = [(file.name.lstrip("/"), file.content) for file in files]
    return discovered_files(pairs, namespace=namespace)


async def _check_namespace(visitor: Visitor, namespace: str, *, is_private: bool) -> None:
    await check_may_act_in(visitor, namespace)
    if is_private and not (await get_namespace(namespace)).record.is_owned:
        raise NotAllowed(
            f"{namespace} has no owners, so nobody could see private skills in it; "
            "an admin can add owners"
        )
