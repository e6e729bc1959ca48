"""Find the skills in a repo, folder, archive or upload, with names, paths and problems."""

import os
import posixpath
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

import msgspec

from vskill_platform.base.killable_process import BROKE_DOWN, run_for_visitor
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.allowed_sources import Reach, why_out_of_reach
from vskill_platform.fetch.archive import root_of
from vskill_platform.fetch.fetch_source import inside
from vskill_platform.fetch.file_names import Names, check_name
from vskill_platform.fetch.repo import TreeEntry, open_repo
from vskill_platform.fetch.snapshot import MAX_SOURCE_BYTES, MAX_SOURCE_FILES
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.intake.read_source import LocalFiles
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.take_upload import read_archive, take_folder, unpacked
from vskill_platform.model.source import LOCAL_NAMESPACE, Source, SourceKind
from vskill_platform.model.verdict import BLOCKING
from vskill_platform.scan.read.manifest import MANIFEST, check_manifest

#: A repo with more skills is a collection from many authors, to be submitted folder by folder.
MAX_SKILLS = 1_000
#: More folders than this are not searched.
_MAX_FOLDERS = 50_000


class DiscoveredSkill(msgspec.Struct, frozen=True, kw_only=True):
    #: From the manifest, or the folder's name if the manifest cannot be read.
    name: str
    #: The skill's folder inside the source, "" for its root.
    path: str
    description: str
    #: Whether the manifest is valid; otherwise the problems say why.
    is_fine: bool
    problems: tuple[str, ...] = ()
    #: The git tree id of the folder.
    tree_sha: str | None = None


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    #: The source that was searched.
    source: str
    skills: tuple[DiscoveredSkill, ...]
    #: The git source or folder of the skills; None if their files have to be packed.
    origin: Source | None = None
    #: The files to be packed, available while this is open.
    root: Path | None = None
    root_name: str = ""
    #: The namespace of packed skills.
    namespace: str = LOCAL_NAMESPACE
    commit_sha: str | None = None
    #: The version that the submitter asks for; empty for the one in the manifest.
    version: str = ""

    async def request_for(
        self, skill: DiscoveredSkill, *, set_id: str | None = None, is_private: bool = False
    ) -> SubmissionRequest:
        """Return the submission request for one of the skills."""
        if self.origin:
            path = posixpath.join(self.origin.path, skill.path) if skill.path else self.origin.path
            source = msgspec.structs.replace(self.origin, path=path)
            return SubmissionRequest(
                source=source, tree_sha=skill.tree_sha, set_id=set_id, is_private=is_private
            )
        name = self._upload_name(skill)
        twin = next(other for other in self.skills if self._upload_name(other) == name)
        if twin.path != skill.path:
            raise SourceRefused(f"{twin.path!r} and {skill.path!r} are both called {name!r}")
        folder = (self.root or Path()) / skill.path
        upload = await take_folder(folder, name=name, namespace=self.namespace)
        return SubmissionRequest(
            source=upload.source,
            upload=upload.content,
            set_id=set_id,
            is_private=is_private,
            version=self.version,
        )

    def _upload_name(self, skill: DiscoveredSkill) -> str:
        return posixpath.basename(skill.path) or self.root_name


class _SkillFolder(msgspec.Struct, frozen=True):
    path: str
    tree_sha: str | None = None


@asynccontextmanager
async def discovered(place: Source | LocalFiles, reach: Reach) -> AsyncIterator[Discovery]:
    """Search a source; the files of an archive are available until this is closed."""
    if isinstance(place, Source):
        look = _discover_in_repo if place.kind is SourceKind.GIT else _discover_in_source
        yield await look(place, reach)
    elif place.place.is_dir():
        root = inside(place.place, place.path)
        yield await discover_in_files(root, root.name)
    else:
        content = await read_archive(place.place)
        async with unpacked(content, filename=place.place.name) as files:
            root = inside(files.root, place.path)
            yield await discover_in_files(root, root.name if place.path else files.name)


async def _discover_in_repo(source: Source, reach: Reach) -> Discovery:
    """Fetch the trees, but no files other than manifests."""
    async with open_workspace() as workspace:
        async with open_repo(source, workspace, reach) as repo:
            entries = await repo.list_entries(await repo.tree_sha(source.path))
            manifests = [entry for entry in entries if _is_manifest(entry)]
            _check_count(len(manifests))
            trees = {entry.path: entry.sha for entry in entries}
            trees[""] = await repo.tree_sha(source.path)
            await repo.export(manifests, workspace / "manifests")
            commit_sha = repo.commit_sha
        places = [
            _SkillFolder(path, trees[path])
            for path in (posixpath.dirname(entry.path) for entry in manifests)
        ]
        skills = await _read_manifests(workspace / "manifests", places, source.folder_name)
    return Discovery(source=source.key, skills=skills, origin=source, commit_sha=commit_sha)


async def _discover_in_source(source: Source, reach: Reach) -> Discovery:
    if reason := why_out_of_reach(source, reach):
        raise SourceRefused(reason)
    root = inside(Path(source.url), source.path)
    skills = await _read_manifests(root, await work_in_thread(_walk, root), source.folder_name)
    return Discovery(source=source.key, skills=skills, origin=source)


async def discover_in_files(
    root: Path, name: str, *, namespace: str = LOCAL_NAMESPACE
) -> Discovery:
    """Search uploaded files, which must stay in place while the result is used."""
    skills = await _read_manifests(root, await work_in_thread(_walk, root), name)
    return Discovery(
        source=f"upload:{namespace}/{name}",
        skills=skills,
        root=root,
        root_name=name,
        namespace=namespace,
    )


def _is_manifest(entry: TreeEntry) -> bool:
    """Return whether a manifest can be submitted; its folder must not have a deceptive name."""
    if not entry.is_file or posixpath.basename(entry.path) != MANIFEST:
        return False
    try:
        check_name(entry.path)
    except SourceRefused:
        return False
    return True


def _walk(root: Path) -> list[_SkillFolder]:
    found: list[_SkillFolder] = []
    for number, (folder, inner, files) in enumerate(os.walk(root)):
        if number > _MAX_FOLDERS:
            raise SourceRefused(f"it has more than {_MAX_FOLDERS:,} folders")
        inner[:] = sorted(name for name in inner if name != ".git")
        path = Path(folder).relative_to(root).as_posix()
        is_link = Path(folder, MANIFEST).is_symlink()
        if MANIFEST in files and path.isprintable() and not is_link:
            found.append(_SkillFolder("" if path == "." else path))
            _check_count(len(found))
    return found


def _check_count(count: int) -> None:
    if count > MAX_SKILLS:
        raise SourceRefused(f"it has more than {MAX_SKILLS:,} skills; submit one of its folders")


async def _read_manifests(
    root: Path, places: Sequence[_SkillFolder], root_name: str | None
) -> tuple[DiscoveredSkill, ...]:
    try:
        return await run_for_visitor(_read_each, root, tuple(places), root_name)
    except BROKE_DOWN as error:
        raise SourceRefused("reading the manifests takes too much time or memory") from error


def _read_each(
    root: Path, places: Sequence[_SkillFolder], root_name: str | None
) -> tuple[DiscoveredSkill, ...]:
    """Read all manifests; runs in the killable process."""
    return tuple(_read_one(root / place.path, place, root_name) for place in places)


def _read_one(folder: Path, place: _SkillFolder, root_name: str | None) -> DiscoveredSkill:
    folder_name = posixpath.basename(place.path) or root_name
    manifest, findings = check_manifest(folder, folder_name)
    return DiscoveredSkill(
        name=manifest.name if manifest else folder_name or "(unnamed)",
        path=place.path,
        description=manifest.description if manifest else "",
        is_fine=manifest is not None,
        problems=tuple(item.message for item in findings if item.severity in BLOCKING),
        tree_sha=place.tree_sha,
    )


#: The name of the root folder of an upload without one.
_UNNAMED = "skill"


@asynccontextmanager
async def discovered_archive(
    content: bytes, *, filename: str, namespace: str
) -> AsyncIterator[Discovery]:
    """Search an archive; its files are available until this is closed."""
    async with unpacked(content, filename=filename) as files:
        yield await discover_in_files(files.root, files.name, namespace=namespace)


@asynccontextmanager
async def discovered_files(
    files: Sequence[tuple[str, bytes]], *, namespace: str
) -> AsyncIterator[Discovery]:
    """Search files with their paths, as a browser sends them for a chosen folder."""
    _check(files)
    async with open_workspace() as workspace:
        folder = workspace / "files"
        await work_in_thread(_write, folder, files)
        root = root_of(folder)
        name = root.name if root != folder else _UNNAMED
        yield await discover_in_files(root, name, namespace=namespace)


def _check(files: Sequence[tuple[str, bytes]]) -> None:
    if not files:
        raise SourceRefused("no file was uploaded")
    if len(files) > MAX_SOURCE_FILES:
        raise SourceRefused(f"it has more than {MAX_SOURCE_FILES:,} files")
    if sum(len(content) for _, content in files) > MAX_SOURCE_BYTES:
        raise SourceRefused(f"the files have more than {MAX_SOURCE_BYTES:,} bytes")
    names = Names()
    paths = [path for path, _ in files]
    for path in paths:
        names.add(path)
    if len(set(paths)) < len(paths):
        raise SourceRefused("it contains the same file twice")
    folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
    if folders & set(paths):
        raise SourceRefused("it contains a file and a folder with the same name")


def _write(folder: Path, files: Sequence[tuple[str, bytes]]) -> None:
    """Write files under their checked names, without modes or dates."""
    folder.mkdir(mode=0o700)
    for path, content in files:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with place.open("xb") as file:
            file.write(content)
