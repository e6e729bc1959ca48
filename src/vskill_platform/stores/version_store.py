"""The versions of published skills, and their archives."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.skill import Capabilities, SkillVersion
from vskill_platform.stores.blob_store import Kept, get_archive_at, get_kept, put_kept
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_all,
    get_record,
    iterate_keys,
    list_all_keys,
    read_each,
    read_found,
)

_VERSION = "version:"
BLOB = "blob:"


class VersionMark(msgspec.Struct, frozen=True):
    """The part of a version that lists and the trust score need, without its files."""

    version: str
    digest: str
    commit_sha: str | None
    published_at: datetime
    zip_sha256: str | None = None
    git_commit: str | None = None
    plugin_commit: str = ""
    capabilities: Capabilities | None = None


class _ArchiveMark(msgspec.Struct, frozen=True):
    archive_sha256: str


_ARCHIVE = msgspec.json.Decoder(_ArchiveMark)
_VERSION_MARK = msgspec.json.Decoder(VersionMark)


async def get_version(slug: str, number: int) -> SkillVersion | None:
    stored = await get_record(f"{_VERSION}{slug}:{number:06}", SkillVersion)
    return stored.record if stored else None


async def get_versions(slug: str) -> list[SkillVersion]:
    keys = await list_all_keys(f"{_VERSION}{slug}:")
    found = await read_each(keys, lambda key, value: decode(key, value, SkillVersion))
    return sorted(found, key=lambda item: item.sort_key)


async def get_stored_versions(slug: str) -> list[Stored[SkillVersion]]:
    """Return every version with its revision; raise if one cannot be read."""
    found = await get_all(await list_all_keys(f"{_VERSION}{slug}:"), SkillVersion)
    return [version for version in found if version]


async def list_versions_since(slug: str, revision: int) -> list[SkillVersion]:
    """Return the versions that were written after a revision, in order."""
    found = await get_all(await list_all_keys(f"{_VERSION}{slug}:"), SkillVersion)
    return [stored.record for stored in found if stored and stored.revision > revision]


async def read_version_marks(numbers: Mapping[str, int]) -> dict[str, VersionMark]:
    """Return the mark of that version of each slug, read at once."""
    keys = {f"{_VERSION}{slug}:{number:06}": slug for slug, number in numbers.items()}
    found = await read_found(list(keys), lambda _, value: _VERSION_MARK.decode(value))
    return {keys[key]: mark for key, mark in found.items()}


async def get_archive(sha256: str) -> bytes | None:
    """Return the archive of a version; raise if its bytes have changed."""
    return await get_archive_at(BLOB + sha256, sha256)


async def get_kept_archive(sha256: str) -> Kept | None:
    """Return the archive of a version, or the blob that contains it."""
    return await get_kept(BLOB + sha256, sha256)


def write_version(version: SkillVersion, archive: Kept) -> list[Operation]:
    """Store a new version with its archive; an existing version is never overwritten."""
    return [
        Put(version_key(version), encode(version), expected=ABSENT, due=NEVER),
        *put_kept(BLOB + version.archive_sha256, archive, version.archive_sha256),
    ]


def complete_version(old: SkillVersion, new: SkillVersion, *, revision: int) -> Operation:
    """Store the digests that an older release left out; nothing else may change."""
    added = {
        "zip_sha256": new.zip_sha256,
        "git_commit": new.git_commit,
        "plugin_commit": new.plugin_commit,
    }
    return Put(
        version_key(old),
        encode(msgspec.structs.replace(old, **added)),
        expected=revision,
        due=NEVER,
    )


async def delete_versions(gone: Sequence[SkillVersion]) -> list[Operation]:
    """Return the operations that delete versions, with the archives that no other version uses.

    If an archive is published again meanwhile, it has another revision, and the commit fails.
    """
    keys = {version_key(version) for version in gone}
    archives = {version.archive_sha256 for version in gone}
    entries = {sha256: await get_kv().get(BLOB + sha256) for sha256 in sorted(archives)}
    async for page in iterate_keys(_VERSION):
        others = [key for key in page if key not in keys]
        found = await read_found(others, lambda _, value: _ARCHIVE.decode(value))
        archives -= {mark.archive_sha256 for mark in found.values()}
    return [
        *(Delete(key) for key in sorted(keys)),
        *(
            Delete(BLOB + sha256, expected=entry.revision)
            for sha256, entry in entries.items()
            if entry and sha256 in archives
        ),
    ]


def version_key(version: SkillVersion) -> str:
    return f"{_VERSION}{version.slug}:{version.number:06}"
