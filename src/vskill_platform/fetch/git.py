"""The git program at arm's length: one shallow clone, nothing of the repo is ever run."""

import asyncio
import os
import signal
from pathlib import Path
from urllib.parse import urlsplit

from vskill_platform.errors import SourceRefused, SourceUnavailable

#: What git prints when asking again later may help.
_PASSING = (
    "Could not resolve host",
    "Connection refused",
    "Connection timed out",
    "Connection reset",
    "Operation timed out",
    "early EOF",
    "The requested URL returned error: 5",
    "The requested URL returned error: 429",
    "unable to access",
)
_FINAL = ("not found", "returned error: 404", "returned error: 403", "returned error: 401")
_QUOTED_CHARACTERS = 300


async def clone(url: str, into: Path) -> str:
    """Fetch the newest commit of the default branch; return its sha."""
    await _git(
        "clone", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--template=",
        "--no-recurse-submodules", "--", url, str(into),
        protocol=urlsplit(url).scheme, home=into.parent,
    )  # fmt: skip
    sha = await _git("-C", str(into), "rev-parse", "HEAD", protocol="none", home=into.parent)
    return sha.strip()


async def _git(*arguments: str, protocol: str, home: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        "git",
        *_safe_configuration(protocol),
        *arguments,
        env=_environment(home),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, complaint = await process.communicate()
    finally:
        if process.returncode is None:  # we were cancelled: its children must not outlive us
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        raise _explain(complaint.decode(errors="replace"))
    return output.decode(errors="replace")


def _safe_configuration(protocol: str) -> list[str]:
    settings = {
        "protocol.allow": "never",
        f"protocol.{protocol}.allow": "always",
        "core.hooksPath": os.devnull,
        "core.fsmonitor": "false",
        "core.autocrlf": "false",
        "credential.helper": "",
        "submodule.recurse": "false",
        "gc.auto": "0",
    }
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def _environment(home: Path) -> dict[str, str]:
    """Let git see nothing of the operator's own configuration and never ask a question."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
    }


def _explain(complaint: str) -> SourceRefused | SourceUnavailable:
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    said = " ".join(lines)[:_QUOTED_CHARACTERS] or "it gave no reason"
    is_final = any(mark in complaint for mark in _FINAL)
    if not is_final and any(mark in complaint for mark in _PASSING):
        return SourceUnavailable(f"git could not reach the repo: {said}")
    return SourceRefused(f"git could not fetch the repo: {said}")
