"""Real git repos for tests, made with the real git."""

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(folder), *who, *arguments],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def a_repo(folder: Path) -> str:
    """Commit what is in *folder*; return the URL of the repo."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit_all(folder)
    return f"file://{folder}"


def commit_all(folder: Path) -> str:
    """Commit all changes; return the sha."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=change")
    return git(folder, "rev-parse", "HEAD")
