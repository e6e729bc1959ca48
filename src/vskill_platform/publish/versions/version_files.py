"""Pack a version into its archive, unpack it, and read single files from it."""

import io
import stat
import tarfile
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from vskill_platform.base.lru_cache import LruCache
from vskill_platform.base.off_loop import in_few_threads, work_in_thread
from vskill_platform.errors import NotFound, RecordMalformed
from vskill_platform.fetch.archive import unpack
from vskill_platform.fetch.pack import Packed, pack
from vskill_platform.fetch.snapshot import Snapshot, take_snapshot
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.skill import SkillVersion
from vskill_platform.model.submission import Submission
from vskill_platform.scan.read.magic import is_wide_text
from vskill_platform.stores.version_store import get_archive

#: Visitors often read one file after another, but seldom return to older ones.
_ROOM_BYTES = 16 * 1024 * 1024
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SNIFF = 8192

#: Start and length of the two parts of a path in a tar header.
_PATH_FIELDS = ((345, 155), (0, 100))

_recent: LruCache[tuple[str, str], bytes] = LruCache(capacity=_ROOM_BYTES, size_of=len)


@asynccontextmanager
async def unpacked_version(
    archive: bytes, submission: Submission, *, commit_sha: str | None
) -> AsyncIterator[Snapshot]:
    """Unpack the files as they were fetched; the caller must compare the digest.

    The digest is computed from the unpacked files, not read from a record.
    """
    async with open_workspace() as workspace:
        yield await work_in_thread(_unpack, archive, workspace, submission, commit_sha)


def _unpack(
    archive: bytes, workspace: Path, submission: Submission, commit_sha: str | None
) -> Snapshot:
    packed, tree = workspace / "packed.tar.gz", workspace / "tree"
    packed.write_bytes(archive)
    unpack(packed, tree)
    return take_snapshot(
        tree,
        workspace / "skill",
        folder_name=submission.source.folder_name,
        commit_sha=commit_sha,
        tree_sha=submission.tree_sha,
    )


async def package_skill(snapshot: Snapshot) -> Packed:
    """Pack a snapshot with SKILL.md at the root; the same files give the same bytes."""
    if snapshot.packed:
        return snapshot.packed
    return await work_in_thread(pack, snapshot.folder, snapshot.files)


async def read_file(version: SkillVersion, path: str) -> bytes:
    """Return one file as it was checked; raise NotFound if the version does not have it."""
    files = await read_files(version, [path])
    if path not in files:
        raise NotFound(f"{version.slug} {version.version} has no file {path!r}")
    return files[path]


async def read_files(version: SkillVersion, paths: Iterable[str]) -> dict[str, bytes]:
    """Return the files that exist; those that are not cached are read in one pass."""
    known = {file.path for file in version.files}
    wanted = [path for path in dict.fromkeys(paths) if path in known]
    found: dict[str, bytes] = {}
    for path in wanted:
        kept = _recent.get((version.archive_sha256, path))
        if kept is not None:
            found[path] = kept
    missing = frozenset(wanted) - found.keys()
    if missing:
        archive = await get_archive(version.archive_sha256)
        if archive is None:
            raise NotFound(f"the archive of {version.slug} {version.version} is no longer stored")
        fresh = await in_few_threads(unpack_some, archive, missing)
        for path, content in fresh.items():
            _recent.keep((version.archive_sha256, path), content)
        found |= fresh
    return found


def unpack_some(archive: bytes, paths: frozenset[str]) -> dict[str, bytes]:
    """Read files of an archive that the platform packed, within the limits of a skill."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as files:
        for member in files:
            packed = files.extractfile(member) if member.name in paths else None
            if packed:
                found[member.name] = packed.read()
            if len(found) == len(paths):
                break
    return found


def unpack_all(archive: bytes) -> Iterator[tuple[str, bytes, bool]]:
    """Yield path, content and executable bit of every file in an archive of ours.

    This reads only the format that `fetch/pack.py` writes, in a third of the time of `tarfile`.
    """
    # A gzip file ends with its unpacked size; a buffer of that size saves copies.
    room = int.from_bytes(archive[-4:], "little")
    tar = zlib.decompress(archive, wbits=zlib.MAX_WBITS | 16, bufsize=room or zlib.DEF_BUF_SIZE)
    start, long_path = 0, ""
    while tar[start : start + 1] not in {b"", b"\0"}:
        header = tar[start : start + tarfile.BLOCKSIZE]
        size, kind = int(header[124:135], 8), header[156:157]
        start += tarfile.BLOCKSIZE
        content = tar[start : start + size]
        start += size + -size % tarfile.BLOCKSIZE
        if kind == tarfile.XHDTYPE:
            long_path = _path_in(content)
        elif kind == tarfile.REGTYPE:
            folder, name = (header[at : at + length].rstrip(b"\0") for at, length in _PATH_FIELDS)
            path = b"/".join(filter(None, (folder, name))).decode()
            is_executable = bool(int(header[100:107], 8) & stat.S_IXUSR)
            yield long_path or path, content, is_executable
            long_path = ""
        else:
            raise RecordMalformed(f"a stored archive has an entry of the kind {kind!r}")


def _path_in(records: bytes) -> str:
    """Return the path in an extended header: records such as `30 path=…`, each with its length."""
    while records:
        length = int(records.partition(b" ")[0])
        key, _, value = records[:length].rstrip(b"\n").partition(b" ")[2].partition(b"=")
        if key == b"path":
            return value.decode()
        records = records[length:]
    return ""


def text_of(raw: bytes) -> str | None:
    """Return the text of a file; None if it is not text."""
    # A byte order mark alone does not make it UTF-16: without zeros, a shell would run the bytes
    # that a page shows as other letters.
    is_wide = raw.startswith(_MARKS) and is_wide_text(raw[:_SNIFF])
    is_marked = raw.startswith(_MARKS) and b"\0" not in raw
    try:
        text = raw.decode("utf-16" if is_wide else "utf-8", "replace" if is_marked else "strict")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.removeprefix("\ufeff")
