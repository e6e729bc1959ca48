"""Run git with a restricted configuration.

Nothing is checked out, so attributes, filters, links and hooks of a repo have no effect, and the
proxy is git's only network access.
"""

import os
import re
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urljoin

from vskill_platform.base.program import ProgramLimits, Streams, running_program
from vskill_platform.base.resource_shortage import has_room, means_disk_full
from vskill_platform.base.tls import certificate_file
from vskill_platform.errors import (
    OutOfResources,
    SourceError,
    SourceMoved,
    SourceRefused,
    SourceUnavailable,
)

#: Messages of git for errors that may be temporary.
_PASSING = (
    "Could not resolve host",
    "Connection refused",
    "Connection timed out",
    "Connection reset",
    "Operation timed out",
    "Operation too slow",
    "transfer closed",
    "early EOF",
    "The requested URL returned error: 5",
    "The requested URL returned error: 429",
    "unable to access",
    "unexpected disconnect",
    "the remote end hung up",
)
_FINAL = (
    "not found",
    "returned error: 404",
    "returned error: 403",
    "returned error: 401",
    "not valid: is this a git repository",
    "certificate",
    "not supported or disabled",
    "Unsupported URL scheme",
    "could not be parsed",
    "illegal format",
)
#: How git reports a redirect that it must not follow, for a GET and for a POST.
_REDIRECT = re.compile(r"returned error: 3\d\d\b|RPC failed; HTTP 3\d\d\b")
_LOCATION = re.compile(r"<= Recv header: location: (\S+)", re.IGNORECASE)
_QUOTED_CHARACTERS = 300
#: Maximum output of a git command; larger listings are refused.
MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_LIMITS = ProgramLimits(memory_bytes=1024 * 1024 * 1024, file_bytes=512 * 1024 * 1024)
_CHUNK = 64 * 1024

_CONFIGURATION = {
    "protocol.allow": "never",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    "core.autocrlf": "false",
    "core.protectNTFS": "true",
    "core.protectHFS": "true",
    "core.askPass": "",
    #: Larger blobs are streamed: a small pack that expands to gigabytes must not fill memory.
    "core.bigFileThreshold": "1m",
    "core.packedGitWindowSize": "16m",
    "core.packedGitLimit": "64m",
    "core.deltaBaseCacheLimit": "16m",
    "credential.helper": "",
    "http.emptyAuth": "false",
    #: Not followed: the namespace, owner and blocks of the redirect's target have not been checked.
    "http.followRedirects": "false",
    "http.sslVerify": "true",
    "http.lowSpeedLimit": "100",
    "http.lowSpeedTime": "30",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.fsckObjects": "true",
    #: No negotiation is needed: the local repo is empty and every request names its objects.
    "fetch.negotiationAlgorithm": "noop",
    "transfer.fsckObjects": "true",
    "transfer.bundleURI": "false",
    #: Keep received objects in one pack instead of one file per object.
    "transfer.unpackLimit": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "pack.threads": "1",
    "advice.detachedHead": "false",
}
#: Harmless fsck errors common in older repos.
_FORGIVEN = ("zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate", "badDateOverflow")


class Git:
    """A private git folder with its own configuration and repo, isolated from the operator's."""

    def __init__(self, home: Path, *, protocols: tuple[str, ...], proxy: str, safe: str) -> None:
        self._home, self._protocols = home, protocols
        settings = {
            **_CONFIGURATION,
            **{f"protocol.{name}.allow": "always" for name in protocols},
            **{f"fetch.fsck.{name}": "ignore" for name in _FORGIVEN},
            "http.proxy": proxy,
            "safe.directory": safe,
        }
        home.mkdir(mode=0o700)
        text = "".join(_setting(name, value) for name, value in settings.items())
        (home / "gitconfig").write_text(text)

    async def run(self, *arguments: str, stdin: bytes = b"", output: Path | None = None) -> bytes:
        """Run a command without network access; *output* is a file for its output."""
        return await self._run(arguments, stdin=stdin, output=output, protocols=("none",))

    async def ask(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run a command that connects to the repo's host."""
        return await self._run(arguments, stdin=stdin, protocols=self._protocols)

    async def find_redirect(self, url: str) -> str:
        """Return the address that the host redirects *url* to, or an empty string.

        Git does not report the address, so this repeats the request and traces the response
        headers.
        """
        trace = self._home / "trace"
        tracing = {"GIT_TRACE_CURL": str(trace), "GIT_TRACE_CURL_NO_DATA": "1"}
        with suppress(SourceError):
            await self._run(
                ("ls-remote", "--quiet", "--", url),
                protocols=self._protocols,
                extra_environment=tracing,
            )
        found = _LOCATION.search(_first_of(trace)) if trace.exists() else None
        return urljoin(f"{url}/info/refs", found[1]) if found else ""

    async def _run(
        self,
        arguments: tuple[str, ...],
        *,
        stdin: bytes = b"",
        output: Path | None = None,
        protocols: tuple[str, ...],
        extra_environment: Mapping[str, str] = MappingProxyType({}),
    ) -> bytes:
        given, complaint = self._home / "stdin", self._home / "stderr"
        given.write_bytes(stdin)
        with (
            given.open("rb") as reading,
            complaint.open("wb") as complaining,
            (output or Path(os.devnull)).open("wb") as printing,
        ):
            async with running_program(
                ["git", f"--git-dir={self._home / 'repo'}", *arguments],
                env={**self._environment(protocols), **extra_environment},
                cwd=self._home,
                streams=Streams(
                    stdin=reading, stdout=printing if output else PIPE, stderr=complaining
                ),
                limits=_LIMITS,
            ) as process:
                printed = await _read(process) if process.stdout else b""
                await process.wait()
        if process.returncode:
            raise _explain_failure(_first_of(complaint))
        return printed

    def _environment(self, protocols: tuple[str, ...]) -> dict[str, str]:
        return {
            **isolated_environment(self._home),
            "TMPDIR": str(self._home),
            "GIT_CONFIG_GLOBAL": str(self._home / "gitconfig"),
            "GIT_ALLOW_PROTOCOL": ":".join(protocols),
        }


def isolated_environment(home: Path) -> dict[str, str]:
    """Hide the operator's git configuration and disable prompts."""
    file = certificate_file()
    return {
        **({"GIT_SSL_CAINFO": file} if file else {}),
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_SSH_COMMAND": "false",
    }


def _explain_failure(complaint: str) -> SourceError | OutOfResources:
    """Distinguish a full local disk, which may also have truncated the errors, from a bad repo."""
    if means_disk_full(complaint) or not (complaint.strip() or has_room()):
        return OutOfResources("no disk space left for git's temporary files")
    return explain(complaint)


def explain(complaint: str) -> SourceRefused | SourceUnavailable:
    """Classify git's error output: refused, or unavailable and worth a retry."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    reason = " ".join(lines)[:_QUOTED_CHARACTERS] or "git gave no reason"
    shown = "".join(char if char.isprintable() else "?" for char in reason)
    if _REDIRECT.search(complaint):
        return SourceMoved(f"git could not fetch the repo: {shown}")
    is_final = any(mark in complaint for mark in _FINAL)
    if not is_final and any(mark in complaint for mark in _PASSING):
        return SourceUnavailable(f"git could not reach the repo: {shown}")
    return SourceRefused(f"git could not fetch the repo: {shown}")


def _first_of(complaint: Path) -> str:
    """Return the start of the error output: a host can make git print any amount of text."""
    with complaint.open("rb") as reading:
        return reading.read(_CHUNK).decode(errors="replace")


async def _read(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101 - we asked for a pipe
    printed = bytearray()
    while chunk := await process.stdout.read(_CHUNK):
        printed += chunk
        if len(printed) > MAX_OUTPUT_BYTES:
            raise SourceRefused("the repo has too many branches, files or folders to list")
    return bytes(printed)


def _setting(name: str, value: str) -> str:
    section, _, key = name.rpartition(".")
    first, dot, rest = section.partition(".")
    header = f'{first} "{rest}"' if dot else first
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{header}]\n\t{key} = "{quoted}"\n'
