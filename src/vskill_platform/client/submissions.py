"""Submissions on a registry: pack what to upload, and follow a submission to its end."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from vskill_platform.client.addresses import segment
from vskill_platform.client.registry import Registry
from vskill_platform.client.responses import OnProgress
from vskill_platform.client.shapes import FollowedSubmission
from vskill_platform.errors import InvalidInput, SourceRefused
from vskill_platform.fetch.archive import is_archive, stem_of
from vskill_platform.fetch.file_names import Names
from vskill_platform.fetch.pack import pack_contents
from vskill_platform.fetch.snapshot import (
    MAX_SOURCE_BYTES,
    MAX_SOURCE_FILES,
    Listing,
    copy_files,
    digest_of,
)
from vskill_platform.model.skill import SkillFile
from vskill_platform.model.submission import TERMINAL_STATES, SubmissionState

MANIFEST = "SKILL.md"
#: Files of tools and systems, which are never part of a skill.
LEFT_OUT = frozenset(
    {
        ".git", ".hg", ".svn", ".DS_Store", "Thumbs.db", "__pycache__", ".venv", "node_modules",
        ".pytest_cache", ".mypy_cache", ".ruff_cache", ".idea", ".vscode",
    }
)  # fmt: skip
_FIRST_PAUSE, _MAX_PAUSE = 0.3, 2.0


class PackedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that is ready to be uploaded."""

    name: str
    #: The name and the bytes of the archive.
    filename: str
    content: bytes
    #: Empty for an archive that the user packed.
    files: tuple[SkillFile, ...] = ()
    #: Files and folders that were left out.
    left_out: tuple[str, ...] = ()
    #: The content digest, as the registry computes it; empty for an archive.
    digest: str = ""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files) or len(self.content)


def pack_folder(folder: Path, copy: Path) -> PackedSkill:
    """Copy the files to send to the new folder *copy*, and pack exactly these."""
    listing, left_out = _list(folder)
    copies = copy_files(listing, copy, keep=True)
    name = folder.resolve().name
    inside = [msgspec.structs.replace(file, path=f"{name}/{file.path}") for file in copies.files]
    return PackedSkill(
        name=name,
        filename=f"{name}.tar.gz",
        content=pack_contents(inside, copies.contents).content,
        files=copies.files,
        left_out=left_out,
        digest=digest_of(copies.files),
    )


def read_archive(path: Path) -> PackedSkill:
    """Return an archive that the user packed."""
    if not is_archive(path):
        raise InvalidInput(f"{path} is neither a folder nor an archive (.zip, .tar.gz, .tgz)")
    if path.stat().st_size > MAX_SOURCE_BYTES:
        raise SourceRefused(f"{path} is larger than {MAX_SOURCE_BYTES:,} bytes")
    return PackedSkill(name=stem_of(path), filename=path.name, content=path.read_bytes())


def upload(
    registry: Registry,
    packed: PackedSkill,
    *,
    namespace: str = "",
    is_private: bool = False,
    on_progress: OnProgress | None = None,
) -> Any:
    """Upload a skill; equal content is one submission, so an upload can be repeated."""
    fields = {"namespace": namespace, "privacy": "private" if is_private else ""}
    return registry.upload(
        "/api/v1/submissions/upload",
        {name: value for name, value in fields.items() if value},
        [(packed.filename, packed.content)],
        on_progress=on_progress,
    )


def get_submission(registry: Registry, submission_id: str) -> Any:
    return registry.get_json(f"/api/v1/submissions/{segment(submission_id)}", FollowedSubmission)


def follow(
    registry: Registry,
    submission_id: str,
    *,
    through_review: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Any]:
    """Yield a submission after each change, until it is final or needs review."""
    pause, last = _FIRST_PAUSE, None
    while True:
        found = get_submission(registry, submission_id)
        if last is None or (found["state"], found["reason"]) != (last["state"], last["reason"]):
            yield found
            pause, last = _FIRST_PAUSE, found
        if is_over(found["state"], through_review=through_review):
            return
        sleep(pause)
        pause = min(pause * 1.5, _MAX_PAUSE)


def is_over(state: str, *, through_review: bool = False) -> bool:
    if state == SubmissionState.NEEDS_REVIEW:
        return not through_review
    return state in TERMINAL_STATES


def _list(folder: Path) -> tuple[Listing, tuple[str, ...]]:
    """Return the files of a folder, and those that are left out."""
    found: list[str] = []
    left_out: list[str] = []
    names, size, todo = Names(), 0, [""]
    while todo:
        inside = todo.pop()
        with os.scandir(folder / inside) as entries:
            for entry in entries:
                relative = f"{inside}{entry.name}"
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.name in LEFT_OUT or entry.name.endswith(".pyc"):
                    left_out.append(f"{relative}/" if is_folder else relative)
                    continue
                names.add(relative)
                if entry.is_symlink():
                    raise SourceRefused(f"{relative} is a symbolic link; replace it with a copy")
                if is_folder:
                    todo.append(f"{relative}/")
                    continue
                found.append(relative)
                size += entry.stat(follow_symlinks=False).st_size
                if len(found) > MAX_SOURCE_FILES:
                    raise SourceRefused(f"there are more than {MAX_SOURCE_FILES:,} files")
    return Listing(str(folder), found, size), tuple(sorted(left_out))
