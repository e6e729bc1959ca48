"""A submission request: a source, its uploaded files, and facts about it."""

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import SourceError
from vskill_platform.fetch.allowed_sources import reach_of
from vskill_platform.fetch.fetch_source import fetched
from vskill_platform.fetch.repo import open_repo
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.intake.read_source import LocalFiles
from vskill_platform.intake.take_upload import read_archive, take_archive, take_folder
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.model.submission import Submission
from vskill_platform.stores.blob_store import KeptOnce
from vskill_platform.stores.db import get_settings

log = get_logger(__name__)


class SubmissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    source: Source
    #: The packed files of an upload.
    upload: bytes | None = None
    #: The packed files in the form that the submission stores.
    files: KeptOnce | None = None
    #: The current git tree id of the folder, if already known.
    tree_sha: str | None = None
    #: The set that it belongs to.
    set_id: str | None = None
    #: Whether a new submission is private to its namespace.
    is_private: bool = False
    #: The version that the submitter asks for; empty for the one in the manifest.
    version: str = ""


async def prepare_request(place: Source | LocalFiles) -> SubmissionRequest:
    """Return the submission request for a source; files on this machine are packed now."""
    if isinstance(place, Source):
        return SubmissionRequest(source=place)
    if place.place.is_dir():
        upload = await take_folder(place.place / place.path)
    else:
        content = await read_archive(place.place)
        upload = await take_archive(content, filename=place.place.name, path=place.path)
    return SubmissionRequest(source=upload.source, upload=upload.content)


async def is_unchanged(submission: Submission, request: SubmissionRequest) -> bool:
    """Return whether the content is still the checked one; False if the source fails.

    This scans nothing and fetches no file of a repo, because git has tree ids.
    """
    if submission.digest is None:
        return False
    try:
        if request.source.kind is SourceKind.UPLOAD:
            return request.source.upload_sha256 == submission.source.upload_sha256
        if request.source.kind is SourceKind.GIT:
            tree = request.tree_sha or await _tree_now(request.source)
            return tree == submission.tree_sha
        if request.source.kind is SourceKind.MIRROR:
            return request.source.ref == submission.source.ref
        async with fetched(request.source) as snapshot:
            return snapshot.digest == submission.digest
    except SourceError as error:
        log.info("source not compared", submission=submission.id, error=str(error))
        return False


async def _tree_now(source: Source) -> str:
    async with (
        open_workspace() as workspace,
        open_repo(source, workspace, reach_of(get_settings())) as repo,
    ):
        return await repo.tree_sha(source.path)
