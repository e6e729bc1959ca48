"""What a visitor sends in, by address or by file: checked against their rights, then submitted.

Pages and API go the same way.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec
from anyio import CapacityLimiter, WouldBlock
from litestar.datastructures import UploadFile

from vskill_platform.access.namespaces import check_may_act_in
from vskill_platform.errors import InvalidInput, NotAllowed, SourceRefused, TooMany
from vskill_platform.fetch.archive import is_archive
from vskill_platform.fetch.reach import reach_of
from vskill_platform.fetch.snapshot import MAX_TOTAL_BYTES
from vskill_platform.intake.discover import Discovery, discovered
from vskill_platform.intake.discover_upload import discovered_archive, discovered_files
from vskill_platform.intake.offer import Offer
from vskill_platform.intake.submit import SubmitResult, submit
from vskill_platform.intake.submit_paths import submit_paths
from vskill_platform.intake.submit_set import SubmittedSet, submit_set
from vskill_platform.model.access import Right, Visitor
from vskill_platform.model.namespace import checked_namespace, namespace_of
from vskill_platform.model.source import LOCAL_NAMESPACE, Source
from vskill_platform.model.submission import TERMINAL_STATES
from vskill_platform.model.user import own_namespace
from vskill_platform.scan.manifest import MANIFEST
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.submission_store import get_source_owner, get_submission

#: The largest that is taken, and a little for what stands between the files.
MAX_FORM_BYTES = MAX_TOTAL_BYTES + 4 * 1024 * 1024
#: Looking through a repo or an archive takes a process and a folder each.
_LOOKS_AT_ONCE = 4
_looks = CapacityLimiter(_LOOKS_AT_ONCE)
_LOOK_AGAIN = timedelta(seconds=5)


class UploadedFile(msgspec.Struct, frozen=True):
    #: As the sender calls it; a path if it is one of a folder.
    name: str
    content: bytes


async def read_uploads(parts: Sequence[UploadFile]) -> list[UploadedFile]:
    """Return the files of a form; a browser sends an empty one if none was chosen."""
    files = [UploadedFile(part.filename, await part.read()) for part in parts if part.filename]
    for part in parts:
        await part.close()
    return files


def skill_folder(path: str) -> str:
    """Return the folder of a skill, also if its manifest was named."""
    folder, _, name = path.rpartition("/")
    return folder if name == MANIFEST else path


@asynccontextmanager
async def looked_through(source: Source) -> AsyncIterator[Discovery]:
    """Look which skills a repo holds; only some at once, the others come back later."""
    async with _one_look(), discovered(source, reach_of(get_settings())) as discovery:
        yield discovery


async def submit_source(visitor: Visitor, source: Source, *, is_private: bool) -> SubmitResult:
    """Submit one skill of a repo."""
    await _check_namespace(visitor, namespace_of(source), is_private=is_private)
    return await submit(Offer(source=source, is_private=is_private), submitter=visitor.name)


async def submit_chosen(
    visitor: Visitor, source: Source, paths: Sequence[str], *, is_private: bool
) -> SubmittedSet:
    """Submit several skills of a repo."""
    await _check_namespace(visitor, namespace_of(source), is_private=is_private)
    return await submit_paths(source, paths, submitter=visitor.name, is_private=is_private)


async def submit_files(
    visitor: Visitor, files: Sequence[UploadedFile], *, namespace: str = "", is_private: bool
) -> SubmittedSet:
    """Submit every skill in an archive, or in the files of a folder."""
    namespace = checked_namespace(namespace or _own_namespace(visitor))
    if not namespace.startswith("@"):
        raise InvalidInput(f"{namespace!r}: files are handed in to a namespace such as @ada")
    await _check_namespace(visitor, namespace, is_private=is_private)
    async with _one_look(), _opened(files, namespace) as discovery:
        if not discovery.skills:
            raise SourceRefused("there is no SKILL.md in it")
        return await submit_set(
            discovery,
            submitter=visitor.name,
            is_private=is_private,
            admit=partial(_check_may_replace, visitor),
        )


async def _check_may_replace(visitor: Visitor, source: Source) -> None:
    """Refuse files for what somebody else has handed in and published, or is about to.

    Where a namespace has owners, its rights decide. In one that belongs to nobody everybody may
    begin something, but not go on with what is another's: who had not signed in cannot show that
    it is theirs.
    """
    owner = await get_source_owner(source)
    existing = await get_submission(owner) if owner else None
    if existing is None or visitor.may(Right.OPERATE, get_settings()):
        return
    known = existing.record
    is_theirs = visitor.user is not None and visitor.user.name == known.submitter
    is_alive = known.slug is not None or known.state not in TERMINAL_STATES
    is_other = source.upload_sha256 != known.source.upload_sha256
    namespace = (await get_namespace(namespace_of(source))).record
    if is_alive and is_other and not is_theirs and not namespace.is_owned:
        raise NotAllowed(
            f"{known.skill_name} was handed in by somebody else; choose another name, "
            "or sign in and hand it in to a namespace of your own"
        )


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


@asynccontextmanager
async def _one_look() -> AsyncIterator[None]:
    try:
        _looks.acquire_nowait()
    except WouldBlock as error:
        raise TooMany("others are handing in at this moment", retry_after=_LOOK_AGAIN) from error
    try:
        yield
    finally:
        _looks.release()


async def _check_namespace(visitor: Visitor, namespace: str, *, is_private: bool) -> None:
    await check_may_act_in(visitor, namespace)
    if is_private and not (await get_namespace(namespace)).record.is_owned:
        raise NotAllowed(
            f"{namespace} belongs to nobody, so nobody could see what is private in it; "
            "an administrator can name its owners"
        )
