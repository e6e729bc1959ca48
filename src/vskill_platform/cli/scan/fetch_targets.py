"""Fetch the targets of `scan` that are not folders: archives and git URLs."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from vskill_platform.base.worker_pool import Bounds, Failure, run_in_workers
from vskill_platform.cli.scan.targets import TargetOrigin
from vskill_platform.errors import InvalidInput, SourceError
from vskill_platform.fetch.allowed_sources import Reach, why_out_of_reach
from vskill_platform.fetch.archive import MAX_RATIO, is_archive, unpack
from vskill_platform.model.source import Source, git_source

#: Timeout of a clone.
_CLONE_SECONDS = 300
#: A repo whose files have more bytes than this is not scanned as a whole.
_CLONE_BYTES = 400 * 1024 * 1024


def outside_origin(text: str, place: Path) -> TargetOrigin:
    """Return the origin to fetch into *place*; reject a target that is neither file nor URL."""
    if "://" in text:
        source = git_source(text)
        if reason := why_out_of_reach(source, _reach(source)):
            raise InvalidInput(reason)
        return TargetOrigin(text=text, folder=place, url=source.url)
    path = Path(text).expanduser()
    if path.is_file() and is_archive(path):
        return TargetOrigin(text=text, folder=place, archive=path)
    what = "is neither" if path.is_file() else "does not exist; PATH must be"
    raise InvalidInput(
        f"{text!r} {what} a folder, an archive (.zip, .tar.gz, .tgz) or a git URL such as "
        "https://host/owner/repo"
    )


def fetch_targets(origins: Sequence[TargetOrigin], *, jobs: int) -> dict[str, str]:
    """Unpack and clone; return the errors."""
    return _unpack_all(origins, jobs) | _clone_all(origins)


def _unpack_all(origins: Sequence[TargetOrigin], jobs: int) -> dict[str, str]:
    """Unpack every archive in a killable process; return the errors."""
    archives = [origin for origin in origins if origin.archive]

    def work(origin: TargetOrigin) -> bytes:
        unpack(origin.archive or Path(), origin.folder, max_ratio=MAX_RATIO)
        return b""

    outcomes = run_in_workers(work, archives, processes=jobs, bounds=Bounds())
    return {
        origin.text: outcome.reason
        for origin, outcome in zip(archives, outcomes, strict=True)
        if isinstance(outcome, Failure)
    }


def _clone_all(origins: Sequence[TargetOrigin]) -> dict[str, str]:
    failures = {}
    for origin in origins:
        if origin.url:
            try:
                _clone(origin)
            except SourceError as error:
                failures[origin.text] = str(error)
    return failures


def _clone(origin: TargetOrigin) -> None:
    import asyncio  # noqa: PLC0415 - a scan without git starts faster without it

    from vskill_platform.fetch.repo import open_repo  # noqa: PLC0415 - the same

    source = git_source(origin.url)
    place = origin.folder.with_name(f"{origin.folder.name}.git")
    place.mkdir()

    async def fetch() -> None:
        async with open_repo(source, place, _reach(source), with_files=True) as repo:
            entries = await repo.list_entries(await repo.tree_sha(""))
            await repo.export(entries, origin.folder, keep_links=True, max_bytes=_CLONE_BYTES)

    asyncio.run(fetch())
    shutil.rmtree(place)


def _reach(source: Source) -> Reach:
    """Allow any host and folder, because users scan for themselves; addresses are still checked."""
    is_tls = source.url.startswith("https://")
    return Reach(
        private_hosts=frozenset({source.origin} if is_tls else ()),
        local_folders=(Path("/"),),
        seconds=_CLONE_SECONDS,
    )
