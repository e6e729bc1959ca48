"""The lock file: which skills are installed where, from which registry, and their digests.

Users commit it and git merges it, so it is sorted, with one block for each skill and one line for
each file, and it does not depend on the time or the machine. compare_folder.py compares it with the
files on disk.
"""

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from vskill_platform.client.install_folders import InstallScope, SkillsFolder, check_folder_name
from vskill_platform.client.version_range import parse_range
from vskill_platform.errors import ConfigError, InvalidInput, SourceRefused
from vskill_platform.fetch.file_names import check_name
from vskill_platform.fetch.snapshot import digest_of
from vskill_platform.model.skill import SkillFile, parse_version

_FORMAT = 1
_HEADER = "# Installed skills. Written by vskill-platform: commit it, do not edit it.\n"
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7})", re.MULTILINE)
_MAX_BYTES = 64 * 1024 * 1024


class LockedSkill(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    slug: str
    #: The name of the skill's folder.
    name: str
    #: The URL of the registry that it came from.
    registry: str
    version: str
    #: The range that the user asked for; `update` stays within it.
    range: str
    archive_sha256: str
    #: The digest of all files, as in the API.
    content_hash: str
    #: The skills folders that contain it, and the agents that load it from there.
    folders: tuple[SkillsFolder, ...]
    files: tuple[SkillFile, ...]

    def __post_init__(self) -> None:
        check_folder_name(self.name)
        parse_range(self.range)
        for digest in (self.archive_sha256, self.content_hash):
            if not _SHA256.fullmatch(digest):
                raise ValueError(f"{digest[:80]!r} is not a SHA-256")
        if not parse_version(self.version):
            raise ValueError(f"{self.version[:80]!r} is not a version")
        has_odd_part = not {"", ".", ".."}.isdisjoint(self.slug.split("/"))
        if not self.slug.isprintable() or "/" not in self.slug or has_odd_part:
            raise ValueError(f"{self.slug[:80]!r} is not the slug of a skill")
        if not self.registry.startswith(("http://", "https://")):
            raise ValueError(f"{self.registry[:80]!r} is not the address of a registry")
        check_files(self.files, self.content_hash)

    def places(self, scope: InstallScope) -> list[Path]:
        """Return its folders on this machine."""
        return [place_of(scope, folder.path, self.name) for folder in self.folders]

    def real_places(self, scope: InstallScope) -> list[Path]:
        """Return its folders without links, because agents may share one under several names."""
        return [real_place(place) for place in self.places(scope)]


def place_of(scope: InstallScope, folder: str, name: str) -> Path:
    return scope.place(f"{folder}/{name}" if folder else name)


def real_place(place: Path) -> Path:
    """Return the real path of a skill's folder, even if a folder above it is a link."""
    # Not `Path.resolve`, which raises if a link leads to itself.
    return Path(os.path.realpath(place.parent)) / place.name


def check_files(files: tuple[SkillFile, ...], content_hash: str) -> None:
    """Check the names of the files and their digest."""
    for file in files:
        check_name(file.path)
        if file.size < 0 or not _SHA256.fullmatch(file.sha256):
            raise SourceRefused(f"the list of files gives {file.path} an impossible size or digest")
    if digest_of(files) != content_hash:
        raise SourceRefused("the list of files does not match the digest of the content")


def read_lock(scope: InstallScope) -> dict[str, LockedSkill]:
    """Return the installed skills by slug; none if there is no lock file."""
    text = read_text(scope.lock)
    return parse_lock(text, scope) if text is not None else {}


def read_text(path: Path) -> str | None:
    """Return the content of a lock file or a journal; None if it does not exist.

    The file may come from a foreign repo, so it may be a link to an endless file.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise ConfigError(f"{path} is not a regular file; delete it")
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise ConfigError(f"{path} is larger than {_MAX_BYTES:,} bytes")
        return content.decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def parse_lock(text: str, scope: InstallScope) -> dict[str, LockedSkill]:
    """Parse a lock file, strictly, because it decides what is replaced and removed."""
    if _CONFLICT.search(text):
        raise ConfigError(
            f"{scope.lock} contains conflict markers of a merge; keep the [[skill]] blocks of both "
            "sides, and for a skill that both have, one of the two"
        )
    try:
        table = tomllib.loads(text)
        _check_format(table.pop("version", None), scope)
        skills = [msgspec.convert(_to_struct(row), LockedSkill) for row in table.pop("skill", [])]
        _check_unique(skills, scope)
    except RecursionError as error:
        raise _damaged(scope, "it is nested too deeply") from error
    except (ValueError, TypeError, InvalidInput, SourceRefused) as error:
        raise _damaged(scope, error) from error
    if table:
        raise _damaged(scope, f"unknown entry {next(iter(table))[:80]!r}")
    return {skill.slug: skill for skill in skills}


def _check_format(number: object, scope: InstallScope) -> None:
    if type(number) is int and number > _FORMAT:
        raise ConfigError(
            f"{scope.lock} was written by a newer release (format {number}, this one knows "
            f"{_FORMAT}): upgrade vskill-platform"
        )
    if type(number) is not int or number != _FORMAT:
        shown = "it has no version" if number is None else f"there is no format {number!r}"
        raise _damaged(scope, shown)


def _check_unique(skills: list[LockedSkill], scope: InstallScope) -> None:
    slugs: set[str] = set()
    owners: dict[Path, str] = {}
    for skill in skills:
        if skill.slug in slugs:
            raise ValueError(f"{skill.slug} is in it twice; keep one of the two blocks")
        slugs.add(skill.slug)
        for place in skill.places(scope):
            if owner := owners.get(place):
                raise ValueError(f"{owner} and {skill.slug} are in the same folder, {place}")
            owners[place] = skill.slug


def _damaged(scope: InstallScope, why: object) -> ConfigError:
    return ConfigError(
        f"{scope.lock} is damaged: {why}. Restore it, or delete it and install the skills again"
    )


def _to_struct(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise TypeError("a skill is not a table")
    files = [
        {"is_executable": False, **file} if isinstance(file, dict) else file
        for file in row.get("files", [])
    ]
    return {**row, "files": files}


def format_lock(skills: Iterable[LockedSkill]) -> str:
    """Return the text of a lock file, which is always the same for the same skills."""
    in_order = sorted(skills, key=lambda skill: skill.slug)
    blocks = ("".join(_block(skill)) for skill in in_order)
    return "\n".join([_HEADER, f"version = {_FORMAT}\n", *blocks])


def _block(skill: LockedSkill) -> Iterator[str]:
    yield "[[skill]]\n"
    for name in (
        "slug", "name", "registry", "version", "range", "archive_sha256", "content_hash",
    ):  # fmt: skip
        yield f"{name} = {_quoted(getattr(skill, name))}\n"
    yield "folders = [\n"
    for folder in sorted(skill.folders, key=lambda folder: folder.path):
        agents = ", ".join(_quoted(agent) for agent in sorted(folder.agents))
        yield f"  {{ path = {_quoted(folder.path)}, agents = [{agents}] }},\n"
    yield "]\nfiles = [\n"
    for file in sorted(skill.files, key=lambda file: file.path):
        executable = ", is_executable = true" if file.is_executable else ""
        yield (
            f"  {{ path = {_quoted(file.path)}, size = {file.size}, "
            f'sha256 = "{file.sha256}"{executable} }},\n'
        )
    yield "]\n"


def _quoted(text: str) -> str:
    """Return a TOML string; JSON escapes everything that TOML must escape, except DEL."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
