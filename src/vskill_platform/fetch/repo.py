"""Fetch one commit of a repo: first its trees, then only the needed files.

The fetch is shallow, because history is not part of a skill, and sparse, because a skill can be one
folder of a very large repo: the trees are checked before any file is fetched.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.errors import InvalidInput, SourceMoved, SourceRefused, SourceUnavailable
from vskill_platform.fetch import snapshot
from vskill_platform.fetch.allowed_sources import Reach, why_out_of_reach
from vskill_platform.fetch.file_names import Names
from vskill_platform.fetch.git import Git
from vskill_platform.fetch.guarded_proxy import GuardedProxy, open_proxy
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.source import Source, git_source

_LINK, _MODULE, _TREE = "120000", "160000", "040000"
_EXECUTABLE = "100755"
_FETCHED = "refs/fetched"
_TAGS = "refs/tags/"
_SHA = re.compile(r"[0-9a-f]{40}")
Answered = TypeVar("Answered")
_QUIETLY = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance")


class Refs(msgspec.Struct, frozen=True):
    """What a host reports about a repo without sending its contents."""

    commit_sha: str
    #: The names of all tags; empty if they were not requested.
    tags: frozenset[str]


class TreeEntry(msgspec.Struct, frozen=True):
    mode: str
    sha: str
    path: str

    @property
    def is_file(self) -> bool:
        return self.mode not in {_LINK, _MODULE, _TREE}


class Repo:
    def __init__(self, git: Git, url: str, workspace: Path, reach: Reach) -> None:
        self._git, self._url, self._workspace = git, url, workspace
        self._private_hosts = reach.private_hosts
        self.commit_sha = ""

    async def fetch_commit(self, ref: str, *, with_files: bool) -> None:
        """Fetch the commit; retry as `name.git` if the host knows the repo only under that name."""
        await self._git.run("init", "--quiet", "--bare", "--template=")
        await self._under_its_name(partial(self._fetch_ref, ref, with_files=with_files))

    async def find_refs(self, ref: str, *, with_tags: bool) -> Refs:
        """Return the commit of a branch or tag, of the default branch if *ref* is empty."""
        await self._git.run("init", "--quiet", "--bare", "--template=")
        return await self._under_its_name(partial(self._ask_refs, ref, with_tags=with_tags))

    async def _under_its_name(self, ask: Callable[[], Awaitable[Answered]]) -> Answered:
        try:
            return await ask()
        except SourceMoved:
            self._url += ".git"
            try:
                return await ask()
            except SourceMoved as error:
                raise await self._explain_move() from error

    async def _explain_move(self) -> SourceMoved:
        """Report the repo's new address, unless that would reveal a private host's links."""
        target = await self._git.find_redirect(self._url)
        moved = _read_target(target)
        is_public = git_source(self._url).origin not in self._private_hosts
        if moved and (is_public or moved.origin == git_source(self._url).origin):
            return SourceMoved(
                f"the host redirects to {moved.url}; redirects are not followed: "
                "submit that address instead"
            )
        return SourceMoved(
            "the host redirects to another address; redirects are not followed: "
            "submit the address where the repo is now"
        )

    async def _fetch_ref(self, ref: str, *, with_files: bool) -> None:
        name = await self._find_ref(ref) if ref else "HEAD"
        sparse = () if with_files else ("--filter=blob:none",)
        await self._git.ask(
            "fetch", *_QUIETLY, "--depth=1", *sparse, "--", self._url, f"+{name}:{_FETCHED}"
        )
        sha = await self._git.run("rev-parse", "--verify", f"{_FETCHED}^{{commit}}")
        self.commit_sha = sha.decode().strip()
        if _SHA.fullmatch(ref) and not name.endswith(f"/{ref}") and self.commit_sha != ref:
            raise SourceUnavailable(f"{name} no longer points to {ref}")

    async def commit_time(self) -> int:
        """Return the commit's own timestamp, in seconds since 1970."""
        printed = await self._git.run("show", "--no-patch", "--format=%ct", self.commit_sha)
        return int(printed.decode().strip() or 0)

    async def tree_sha(self, path: str) -> str:
        """Return git's tree id of a folder; refuse anything else."""
        if not path:
            sha = await self._git.run("rev-parse", "--verify", f"{self.commit_sha}^{{tree}}")
            return sha.decode().strip()
        listed = await self._git.run("ls-tree", "-z", "--full-tree", self.commit_sha, "--", path)
        for entry in _read_entries(listed):
            if entry.path == path and entry.mode == _TREE:
                return entry.sha
            if entry.path == path and entry.mode == _LINK:
                raise SourceRefused(f"{path!r} is a symbolic link; submit the folder it points to")
        raise SourceRefused(f"there is no folder {path!r} in it")

    async def list_entries(self, tree: str) -> list[TreeEntry]:
        """Return all entries below a tree, with paths relative to it."""
        listed = await self._git.run("ls-tree", "-r", "-t", "-z", "--full-tree", tree)
        return _read_entries(listed)

    async def export(
        self,
        entries: Sequence[TreeEntry],
        folder: Path,
        *,
        keep_links: bool = False,
        max_bytes: int | None = None,
    ) -> None:
        """Fetch the files among *entries* and write them unchanged to the new *folder*.

        Links are omitted, or with *keep_links* written as links, for callers that inspect them.
        """
        files = [
            entry for entry in entries if entry.is_file or (keep_links and entry.mode == _LINK)
        ]
        shas = "".join(f"{sha}\n" for sha in dict.fromkeys(entry.sha for entry in files)).encode()
        if shas:
            await self._git.ask(
                "fetch", *_QUIETLY, "--no-write-fetch-head", "--filter=blob:none", "--stdin",
                "--", self._url, stdin=shas,
            )  # fmt: skip
        sizes = await self._git.run("cat-file", "--batch-check", stdin=shas)
        _check_sizes(files, sizes.decode(), max_bytes or snapshot.MAX_SOURCE_BYTES)
        content = self._workspace / "content"
        await self._git.run("cat-file", "--batch", stdin=shas, output=content)
        await work_in_thread(_write_files, content, files, folder)

    async def _find_ref(self, ref: str) -> str:
        """Return the full name of a branch or tag.

        A bare commit is accepted only if a branch or tag points to it: for many hosts, a repo also
        contains commits that anyone pushed to a fork of it.
        """
        wanted = ("refs/heads/*", "refs/tags/*") if _SHA.fullmatch(ref) else ()
        named = (f"refs/heads/{ref}", f"refs/tags/{ref}")
        found = await self._list_refs(*(wanted or named))
        for name in named:
            if name in found:
                return name
        for name, sha in found.items():
            if sha == ref:
                return name.removesuffix("^{}")  # `^{}` marks the commit an annotated tag points to
        raise SourceRefused(f"the repo has no branch or tag {ref!r}")

    async def _ask_refs(self, ref: str, *, with_tags: bool) -> Refs:
        name = await self._find_ref(ref) if ref else "HEAD"
        wanted = (name, f"{name}^{{}}") if ref else (name,)
        found = await self._list_refs(*wanted, *((f"{_TAGS}*",) if with_tags else ()))
        sha = found.get(f"{name}^{{}}") or found.get(name)
        if sha is None and ref:
            raise SourceRefused(f"the repo has no branch or tag {ref!r}")
        if sha is None:
            raise SourceRefused("the repo has no commit on its default branch")
        tags = (one.removeprefix(_TAGS) for one in found if one.startswith(_TAGS))
        return Refs(sha, frozenset(tag for tag in tags if not tag.endswith("^{}")))

    async def _list_refs(self, *patterns: str) -> dict[str, str]:
        """Return the names that match and what they point to."""
        listed = await self._git.ask("ls-remote", "--quiet", "--", self._url, *patterns)
        found: dict[str, str] = {}
        for line in listed.decode(errors="replace").splitlines():
            sha, _, name = line.partition("\t")
            found[name] = sha
        return found


@asynccontextmanager
async def open_repo(
    source: Source, workspace: Path, reach: Reach, *, with_files: bool = False
) -> AsyncIterator[Repo]:
    """Fetch one commit of a repo; the fetch timeout includes the caller's work with it."""
    async with _connected(source, workspace, reach) as repo:
        await repo.fetch_commit(source.ref, with_files=with_files)
        yield repo


async def find_refs(source: Source, reach: Reach, *, with_tags: bool = False) -> Refs:
    """Ask the host for its tags and the commit of a branch or tag; fetch nothing."""
    async with (
        open_workspace() as workspace,
        _connected(source, workspace, reach) as repo,
    ):
        return await repo.find_refs(source.ref, with_tags=with_tags)


@asynccontextmanager
async def _connected(source: Source, workspace: Path, reach: Reach) -> AsyncIterator[Repo]:
    if reason := why_out_of_reach(source, reach):
        raise SourceRefused(reason)
    scheme = urlsplit(source.url).scheme
    limit = asyncio.timeout(reach.seconds)
    try:
        async with limit, open_proxy(reach, source.origin) as proxy:
            git = Git(
                workspace / "git",
                protocols=(scheme,),
                proxy=proxy.url,
                safe=urlsplit(source.url).path if scheme == "file" else "",
            )
            async with _errors_of_proxy(proxy):
                yield Repo(git, source.url, workspace, reach)
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise SourceUnavailable(
            f"the repo could not be fetched within {reach.seconds:g} s"
        ) from error


def _read_target(url: str) -> Source | None:
    """Return the repo that a redirect points to; None if it is not a repo address."""
    try:
        return git_source(url.partition("?")[0].removesuffix("/info/refs"))
    except InvalidInput:
        return None


def check_entries(entries: Sequence[TreeEntry]) -> None:
    """Refuse a tree that cannot be a skill, before its files are fetched."""
    if len(entries) > snapshot.MAX_SOURCE_FILES:
        raise SourceRefused(f"there are more than {snapshot.MAX_SOURCE_FILES:,} files and folders")
    names = Names()
    for entry in entries:
        names.add(entry.path)
        if entry.mode == _LINK:
            raise SourceRefused(f"{entry.path} is a symbolic link; replace it with a copy")
        if entry.mode == _MODULE:
            raise SourceRefused(f"{entry.path} is a submodule; replace it with its files")


@asynccontextmanager
async def _errors_of_proxy(proxy: GuardedProxy) -> AsyncIterator[None]:
    """If the proxy refused a request, raise its error instead of git's."""
    try:
        yield
    except (SourceRefused, SourceUnavailable) as error:
        if proxy.problem:
            raise proxy.problem from error
        raise


def _read_entries(listed: bytes) -> list[TreeEntry]:
    entries = []
    for line in listed.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, sha = facts.decode().split(" ")
        entries.append(TreeEntry(mode, sha, os.fsdecode(path)))
    return entries


def _check_sizes(files: Sequence[TreeEntry], listed: str, max_bytes: int) -> None:
    sizes = {}
    for line in listed.splitlines():
        sha, kind, *size = line.split(" ")
        if kind != "blob":
            raise SourceUnavailable("the repo's host sent incomplete data")
        sizes[sha] = int(size[0])
    if sum(sizes[entry.sha] for entry in files) > max_bytes:
        largest = max(files, key=lambda entry: sizes[entry.sha])
        raise SourceRefused(
            f"the files are larger than {max_bytes:,} bytes in total; "
            f"the largest is {largest.path!r}"
        )


def _write_files(content: Path, files: Sequence[TreeEntry], folder: Path) -> None:
    places: dict[str, list[TreeEntry]] = {}
    for entry in files:
        places.setdefault(entry.sha, []).append(entry)
    links: list[tuple[Path, bytes]] = []
    folder.mkdir(mode=0o700)
    with content.open("rb") as reading:
        for _ in places:
            sha, _, size = reading.readline().decode().split(" ")
            blob = reading.read(int(size))
            reading.readline()
            for entry in places[sha]:
                target = folder / entry.path
                target.parent.mkdir(parents=True, exist_ok=True)
                if entry.mode == _LINK:
                    links.append((target, blob))
                else:
                    _write_file(target, blob, is_executable=entry.mode == _EXECUTABLE)
    for target, blob in links:  # last, so that no file is written through a link
        target.symlink_to(os.fsdecode(blob))
    content.unlink()


def _write_file(target: Path, blob: bytes, *, is_executable: bool) -> None:
    with target.open("xb") as writing:
        writing.write(blob)
    if is_executable:
        target.chmod(0o755)
