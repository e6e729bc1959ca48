"""Find and fetch a skill of another registry, and check every byte before it is used."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vskill_platform.base.killable_process import BROKE_DOWN, run_in_process
from vskill_platform.base.metrics import count_mirror_fetch
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.errors import NotFound, SourceRefused
from vskill_platform.fetch.allowed_sources import Reach
from vskill_platform.fetch.archive import MAX_RATIO, root_of, unpack
from vskill_platform.fetch.mirrors import clawhub, discovery, vskill
from vskill_platform.fetch.mirrors.guarded_http import MirrorClient
from vskill_platform.fetch.mirrors.remote_version import RemoteVersion
from vskill_platform.fetch.snapshot import MAX_SOURCE_BYTES
from vskill_platform.mirror_settings import Mirror, MirrorKind
from vskill_platform.model.mirror import name_at_mirror, parse_mirrored
from vskill_platform.model.source import Source
from vskill_platform.stores.db import bound_env, get_settings
from vskill_platform.stores.mirror_store import get_mirrored

_FINDERS = {
    MirrorKind.VSKILL: vskill.find_skill,
    MirrorKind.DISCOVERY: discovery.find_skill,
    MirrorKind.CLAWHUB: clawhub.find_skill,
}
#: The first bytes of an archive; its name and media type are not trusted.
_SUFFIXES = ((b"PK\x03\x04", ".zip"), (b"\x1f\x8b", ".tar.gz"))
#: A file that ClawHub adds to its archives; it is not part of the skill.
_ADDED = "_meta.json"
_MANIFEST = "SKILL.md"


def get_mirror(name: str) -> Mirror | None:
    """Return a mirror of the settings, by its name."""
    return next((one for one in bound_env().mirrors if one.name == name), None)


def is_offline(mirror: Mirror) -> bool:
    return mirror.offline or get_settings().mirror_offline


async def find_there(
    mirror: Mirror, name: str, reach: Reach, *, revision: str = ""
) -> RemoteVersion:
    """Ask a registry for the metadata of a version of a skill; by default the latest.

    Raises NotFound if it has none, SourceUnavailable if it does not respond, and SourceRefused if
    the response cannot be used.
    """
    with _counted(mirror, "find"):
        return await _FINDERS[mirror.kind](MirrorClient(mirror, reach), name, revision)


@contextmanager
def _counted(mirror: Mirror, step: str) -> Iterator[None]:
    """Count the results of requests to other registries, for `/metrics`."""
    outcome = "failed"
    try:
        yield
        outcome = "ok"
    except NotFound:
        outcome = "not_found"
        raise
    except SourceRefused:
        outcome = "refused"
        raise
    finally:
        count_mirror_fetch(mirror.name, step, outcome)


async def fetch_mirrored(source: Source, workspace: Path, reach: Reach) -> Path:
    """Fetch the version of a source; return the folder with its files."""
    slug = source.mirrored_slug
    named = parse_mirrored(slug)
    mirror = get_mirror(named.mirror) if named else None
    if named is None or mirror is None:
        raise SourceRefused(f"{slug} belongs to a mirror that is no longer configured")
    name = name_at_mirror(mirror, named)
    if is_offline(mirror) or not mirror.takes(name):
        raise SourceRefused(f"the operator does not allow {name} to be fetched from {mirror.name}")
    try:
        found = await find_there(mirror, name, reach, revision=source.revision)
        if found.withdrawn:
            raise SourceRefused(f"{mirror.name} has withdrawn {name}: {found.withdrawn}")
        await _check_as_seen(slug, found)
        with _counted(mirror, "download"):
            content = await MirrorClient(mirror, reach).download(found.url, limit=MAX_SOURCE_BYTES)
    except NotFound as error:
        raise SourceRefused(f"it is gone: {error}") from error
    digest = hashlib.sha256(content).hexdigest()
    if found.sha256 and digest != found.sha256:
        raise SourceRefused(
            f"the download has the SHA-256 {digest}, but {mirror.name} names {found.sha256}: it is "
            "damaged or was changed on the way"
        )
    return await _unpack(content, found, workspace)


async def _check_as_seen(slug: str, found: RemoteVersion) -> None:
    """Refuse content that was replaced after this registry first saw the version."""
    seen = await get_mirrored(slug)
    content = seen.record.content_of(found.revision) if seen else ""
    if content and content != found.content:
        raise SourceRefused(
            f"the content of {found.revision} was replaced since it was first seen; the next "
            "comparison treats it as a new version"
        )


async def _unpack(content: bytes, found: RemoteVersion, workspace: Path) -> Path:
    folder = workspace / "tree"
    if found.is_manifest:
        await work_in_thread(_write_manifest, folder, content)
        return folder
    suffix = next((end for magic, end in _SUFFIXES if content.startswith(magic)), "")
    if not suffix:
        raise SourceRefused("the download is neither a zip nor a tar.gz archive")
    archive = workspace / f"download{suffix}"
    await work_in_thread(archive.write_bytes, content)
    try:
        await run_in_process(_unpack_archive, archive, folder)
    except BROKE_DOWN as error:
        raise SourceRefused("unpacking the archive takes too much time or memory") from error
    if found.files:
        await work_in_thread(_check_files, folder, found.files)
    return await work_in_thread(root_of, folder)


def _unpack_archive(archive: Path, folder: Path) -> None:
    unpack(archive, folder, max_ratio=MAX_RATIO)


def _write_manifest(folder: Path, content: bytes) -> None:
    folder.mkdir(mode=0o700)
    (folder / _MANIFEST).write_bytes(content)


def _check_files(folder: Path, files: dict[str, str]) -> None:
    """Refuse an archive that has other files than its registry lists."""
    if _ADDED not in files:
        (folder / _ADDED).unlink(missing_ok=True)
    there = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    if there.keys() != files.keys():
        odd = min(there.keys() ^ files.keys())
        raise SourceRefused(f"the archive and the list of its files differ at {odd!r}")
    for name, path in there.items():
        with path.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != files[name]:
                raise SourceRefused(f"{name!r} has another SHA-256 than its registry names")
