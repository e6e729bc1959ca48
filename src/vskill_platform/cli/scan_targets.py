"""From what a person typed after `scan` to the folders of skills."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from vskill_platform.base.worker_pool import Bounds, Failure, run_in_workers
from vskill_platform.errors import InvalidInput, SourceError
from vskill_platform.fetch.archive import is_archive, root_of, unpack
from vskill_platform.fetch.reach import Reach, why_out_of_reach
from vskill_platform.fetch.snapshot import list_files, take_snapshot
from vskill_platform.model.source import Source, git_source
from vskill_platform.scan.manifest import MANIFEST
from vskill_platform.scan.scan_many import Target
from vskill_platform.scan.scan_skill import ScanResult, scan_skill

#: A clone that takes longer is given up.
_CLONE_SECONDS = 300
#: A repo whose files are larger than this in all is not scanned as a whole.
_CLONE_BYTES = 400 * 1024 * 1024


class _Origin(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was named, and where its files are or will be."""

    text: str
    folder: Path
    url: str = ""
    archive: Path | None = None


def find_targets(
    texts: Sequence[str], *, recursive: bool, workspace: Path, jobs: int
) -> list[Target]:
    """Fetch and unpack into *workspace* what is not a folder; refuse what is nothing at all."""
    origins = [_origin(text, workspace / str(number)) for number, text in enumerate(texts)]
    failures = _unpack_all(origins, jobs) | _clone_all(origins)
    targets: list[Target] = []
    for origin in origins:
        if origin.text in failures:
            targets.append(_broken(origin.text, failures[origin.text]))
        elif recursive:
            targets.extend(_skills_below(origin))
        else:
            targets.append(_single(origin))
    return targets


def scan_in_place(folder: Path, folder_name: str | None, *, workspace: Path) -> ScanResult:
    """Scan what would be submitted: no links, no special files, nothing of version control."""
    files = list_files(folder)
    if not any((parent / ".git").exists() for parent in {folder, *(file.parent for file in files)}):
        return scan_skill(folder, folder_name)
    with tempfile.TemporaryDirectory(dir=workspace) as private:
        snapshot = take_snapshot(folder, Path(private, "skill"), folder_name=folder_name)
        return scan_skill(snapshot.folder, folder_name)


def _origin(text: str, place: Path) -> _Origin:
    if "://" in text:
        source = git_source(text)
        if reason := why_out_of_reach(source, _reach(source)):
            raise InvalidInput(reason)
        return _Origin(text=text, folder=place, url=source.url)
    path = Path(text).expanduser()
    if path.is_dir():
        return _Origin(text=text, folder=path)
    if path.is_file() and is_archive(path):
        return _Origin(text=text, folder=place, archive=path)
    what = "is neither" if path.is_file() else "is not there; a PATH is"
    raise InvalidInput(
        f"{text!r} {what} a folder, an archive (.zip, .tar.gz, .tgz) or a git URL such as "
        "https://host/owner/repo"
    )


def _unpack_all(origins: Sequence[_Origin], jobs: int) -> dict[str, str]:
    """Unpack every archive in a process that can be killed; return why some could not be."""
    archives = [origin for origin in origins if origin.archive]

    def work(origin: _Origin) -> bytes:
        unpack(origin.archive or Path(), origin.folder)
        return b""

    outcomes = run_in_workers(work, archives, processes=jobs, bounds=Bounds())
    return {
        origin.text: outcome.reason
        for origin, outcome in zip(archives, outcomes, strict=True)
        if isinstance(outcome, Failure)
    }


def _clone_all(origins: Sequence[_Origin]) -> dict[str, str]:
    failures = {}
    for origin in origins:
        if origin.url:
            try:
                _clone(origin)
            except SourceError as error:
                failures[origin.text] = str(error)
    return failures


def _clone(origin: _Origin) -> None:
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
    """Who scans at home may name any host and any folder; where they lead is looked at as ever."""
    is_tls = source.url.startswith("https://")
    return Reach(
        private_hosts=frozenset({source.origin} if is_tls else ()),
        local_folders=(Path("/"),),
        seconds=_CLONE_SECONDS,
    )


def _single(origin: _Origin) -> Target:
    if origin.url:
        return Target(path=origin.text, folder=origin.folder)
    folder = root_of(origin.folder) if origin.archive else origin.folder.resolve()
    has_name = folder != origin.folder or not origin.archive
    return _target(origin.text, folder, folder.name if has_name else None)


def _skills_below(origin: _Origin) -> list[Target]:
    found = list(_walk(origin))
    if not found:
        return [_broken(origin.text, f"there is no {MANIFEST} in it or in a folder below")]
    return found


def _walk(origin: _Origin) -> Iterator[Target]:
    unreadable: list[OSError] = []
    for folder, inner, files in os.walk(origin.folder, onerror=unreadable.append):
        inner[:] = sorted(name for name in inner if name != ".git")
        if MANIFEST in files:
            path = Path(folder)
            is_ours = path == origin.folder and (origin.url or origin.archive)
            name = None if is_ours else path.resolve().name
            yield _target(_shown(origin, path), path, name)
        for link in (Path(folder, name) for name in inner):
            if link.is_symlink() and _leads_out(link, origin.folder):
                yield _broken(_shown(origin, link), "a link that leads elsewhere is not followed")
    for error in unreadable:
        yield _broken(_shown(origin, Path(error.filename)), f"it cannot be read: {error.strerror}")


def _leads_out(link: Path, root: Path) -> bool:
    """Tell whether a link hides a skill that is not scanned at its own place."""
    return (link / MANIFEST).is_file() and not link.resolve().is_relative_to(root.resolve())


def _shown(origin: _Origin, path: Path) -> str:
    inside = path.relative_to(origin.folder).as_posix()
    if inside == ".":
        return origin.text
    return inside if origin.text in {".", "./"} else f"{origin.text.rstrip('/')}/{inside}"


def _target(path: str, folder: Path, folder_name: str | None) -> Target:
    return Target(path=_storable(path), folder=folder, folder_name=folder_name)


def _broken(path: str, error: str) -> Target:
    return Target(path=_storable(path), folder=Path(), error=error)


def _storable(path: str) -> str:
    """Give a name that is no UTF-8 a form that every report can hold."""
    return os.fsencode(path).decode(errors="backslashreplace")
