"""Real git repos for tests, made with the real git."""

import subprocess
from pathlib import Path

#: As `git init` writes it, without its examples.
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"


def git(folder: Path, *arguments: str) -> str:
    settings = (
        "user.name=Ada", "user.email=ada@example.com", "commit.gpgsign=false",
        "maintenance.auto=false",  # starts another process after each commit
    )  # fmt: skip
    options = [part for setting in settings for part in ("-c", setting)]
    return subprocess.run(
        ["git", "-C", str(folder), *options, *arguments],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def a_repo(folder: Path) -> str:
    """Commit what is in *folder*; return the URL of the repo."""
    for name in ("objects", "refs/heads"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git/config").write_text(_CONFIG)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    commit_all(folder)
    return f"file://{folder}"


def commit_all(folder: Path) -> str:
    """Commit all changes; return the sha."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=change")
    head = (folder / ".git/HEAD").read_text().strip()
    return (folder / ".git" / head.removeprefix("ref: ")).read_text().strip()
