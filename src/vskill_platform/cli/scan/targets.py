"""Find the skill folders for the arguments of `scan`."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from vskill_platform.cli.lazy import load
from vskill_platform.fetch.snapshot import list_files, take_snapshot
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.scan.scan_many import ScanTarget
from vskill_platform.scan.scan_skill import ScanResult, scan_skill

#: Imported on demand: a scan of folders starts faster without it.
_OUTSIDE = "vskill_platform.cli.scan.fetch_targets"


class TargetOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """One argument, and the folder that its files are in or will be in."""

    text: str
    folder: Path
    url: str = ""
    archive: Path | None = None


def find_targets(
    texts: Sequence[str], *, recursive: bool, workspace: Path, jobs: int
) -> list[ScanTarget]:
    """Fetch and unpack targets that are not folders into *workspace*; reject unknown ones."""
    origins = [_origin(text, workspace / str(number)) for number, text in enumerate(texts)]
    outside = [origin for origin in origins if origin.url or origin.archive]
    failures = load(f"{_OUTSIDE}:fetch_targets")(outside, jobs=jobs) if outside else {}
    targets: list[ScanTarget] = []
    for origin in origins:
        if origin.text in failures:
            targets.append(_broken(origin.text, failures[origin.text]))
        elif recursive:
            targets.extend(_skills_below(origin))
        else:
            targets.append(_single(origin))
    return targets


def scan_in_place(folder: Path, folder_name: str | None, *, workspace: Path) -> ScanResult:
    """Scan what would be submitted: no links, no special files, no version control data."""
    files = list_files(folder)
    if not any((parent / ".git").exists() for parent in {folder, *(file.parent for file in files)}):
        return scan_skill(folder, folder_name)
    with tempfile.TemporaryDirectory(dir=workspace) as private:
        snapshot = take_snapshot(folder, Path(private, "skill"), folder_name=folder_name)
        return scan_skill(snapshot.folder, folder_name)


def _origin(text: str, place: Path) -> TargetOrigin:
    if "://" not in text and (path := Path(text).expanduser()).is_dir():
        return TargetOrigin(text=text, folder=path)
    origin: TargetOrigin = load(f"{_OUTSIDE}:outside_origin")(text, place)
    return origin


def _single(origin: TargetOrigin) -> ScanTarget:
    if origin.url:
        return ScanTarget(path=origin.text, folder=origin.folder)
    folder = _root_of(origin)
    has_name = folder != origin.folder or not origin.archive
    return _target(origin.text, folder, folder.name if has_name else None)


def _root_of(origin: TargetOrigin) -> Path:
    if not origin.archive:
        return origin.folder.resolve()
    root: Path = load("vskill_platform.fetch.archive:root_of")(origin.folder)
    return root


def _skills_below(origin: TargetOrigin) -> list[ScanTarget]:
    found = list(_walk(origin))
    if not found:
        return [_broken(origin.text, f"there is no {MANIFEST} in it or in a folder below")]
    return found


def _walk(origin: TargetOrigin) -> Iterator[ScanTarget]:
    unreadable: list[OSError] = []
    for folder, inner, files in os.walk(origin.folder, onerror=unreadable.append):
        inner[:] = sorted(name for name in inner if name != ".git")
        # An agent may accept the name in another case; the scan then reports it.
        if any(name.lower() == MANIFEST.lower() for name in files):
            path = Path(folder)
            name = _name_of_root(origin) if path == origin.folder else path.name
            yield _target(_shown(origin, path), path, name)
        # Most are not links, and there may be thousands.
        names = [name for name in inner if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114 - faster for many names
        for link in (Path(folder, name) for name in names):
            if _leads_out(link, origin.folder):
                yield _broken(_shown(origin, link), "a link that leads outside is not followed")
    for error in unreadable:
        yield _broken(_shown(origin, Path(error.filename)), f"it cannot be read: {error.strerror}")


def _name_of_root(origin: TargetOrigin) -> str | None:
    """Return the author's name of the folder; None for an archive or a repo, which we named."""
    return None if origin.url or origin.archive else origin.folder.resolve().name


def _leads_out(link: Path, root: Path) -> bool:
    """Return whether a link hides a skill that is not scanned at its real path."""
    return (link / MANIFEST).is_file() and not link.resolve().is_relative_to(root.resolve())


def _shown(origin: TargetOrigin, path: Path) -> str:
    inside = path.relative_to(origin.folder).as_posix()
    if inside == ".":
        return origin.text
    return inside if origin.text in {".", "./"} else f"{origin.text.rstrip('/')}/{inside}"


def _target(path: str, folder: Path, folder_name: str | None) -> ScanTarget:
    return ScanTarget(path=_storable(path), folder=folder, folder_name=folder_name)


def _broken(path: str, error: str) -> ScanTarget:
    return ScanTarget(path=_storable(path), folder=Path(), error=error)


def _storable(path: str) -> str:
    """Make a name that is not UTF-8 storable in every report."""
    return os.fsencode(path).decode(errors="backslashreplace")
