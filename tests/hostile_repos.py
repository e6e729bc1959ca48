"""Malicious repos, built from single objects."""

import subprocess
from pathlib import Path

from tests.casts import GOOD_MANIFEST
from tests.repos import git

FILE, PROGRAM, LINK, FOLDER, MODULE = "100644", "100755", "120000", "040000", "160000"


class HostileRepo:
    """A bare repo with objects as they come; `publish` makes one of its trees the newest commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet", "--bare", "--initial-branch=main")
        self.manifest = self.blob(GOOD_MANIFEST.format(name="tidy-notes").encode())

    def blob(self, content: bytes) -> str:
        return self._write("hash-object", "-w", "--stdin", given=content)

    def tree(self, *entries: tuple[str, str, bytes | str]) -> str:
        """Write a tree of (mode, sha, name), in the order that git wants."""
        kinds = {FOLDER: "tree", MODULE: "commit"}
        lines = b"".join(
            f"{mode} {kinds.get(mode, 'blob')} {sha}\t".encode()
            + (name if isinstance(name, bytes) else name.encode())
            + b"\0"
            for mode, sha, name in entries
        )
        return self._write("mktree", "-z", "--missing", given=lines)

    def skill(self, *entries: tuple[str, str, bytes | str]) -> None:
        """Publish a valid skill with *entries* next to its manifest."""
        self.publish(self.tree((FILE, self.manifest, "SKILL.md"), *entries))

    def publish(self, tree: str) -> str:
        sha = git(self.folder, "commit-tree", "-m", "a change", tree)
        git(self.folder, "update-ref", "refs/heads/main", sha)
        return sha

    def _write(self, *arguments: str, given: bytes) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            input=given,
            check=True,
            capture_output=True,
        )
        return done.stdout.decode().strip()
