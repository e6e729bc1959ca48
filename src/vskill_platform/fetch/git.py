"""Run git with a fixed configuration, with limits, and without prompts.

No repo is ever checked out, so its attributes, filters, links and hooks have no effect. The
settings here enforce that, and that the proxy is git's only way out.
"""

import os
import re
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urljoin

from vskill_platform.base.program import Limits, Streams, running_program
from vskill_platform.base.shortage import has_room, says_no_space
from vskill_platform.errors import (
    OutOfResources,
    SourceError,
    SourceMoved,
    SourceRefused,
    SourceUnavailable,
)

#: Messages of git after which a retry may help.
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
#: Limit for git's output; a longer list of names is of no use.
MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_LIMITS = Limits(memory_bytes=1024 * 1024 * 1024, file_bytes=512 * 1024 * 1024)
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
    #: Larger blobs are streamed: a small pack that unpacks to gigabytes must not fill the memory.
    "core.bigFileThreshold": "1m",
    "core.packedGitWindowSize": "16m",
    "core.packedGitLimit": "64m",
    "core.deltaBaseCacheLimit": "16m",
    "credential.helper": "",
    "http.emptyAuth": "false",
    #: A redirect leads to a repo whose namespace, owner and blocks were not checked.
    "http.followRedirects": "false",
    "http.sslVerify": "true",
    "http.lowSpeedLimit": "100",
    "http.lowSpeedTime": "30",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.fsckObjects": "true",
    #: Nothing is negotiated: we have no objects, and name what we want.
    "fetch.negotiationAlgorithm": "noop",
    "transfer.fsckObjects": "true",
    "transfer.bundleURI": "false",
    #: Received objects stay in one pack, never in a file for each.
    "transfer.unpackLimit": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "pack.threads": "1",
    "advice.detachedHead": "false",
}
#: Harmless errors in many genuine repos.
_FORGIVEN = ("zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate", "badDateOverflow")


class Git:
    """One private git folder with its own configuration, and nothing of the operator's."""

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
        """Run a local command; *output* receives what it prints."""
        return await self._run(arguments, stdin=stdin, output=output, protocols=("none",))

    async def ask(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run a command that talks to the repo's host."""
        return await self._run(arguments, stdin=stdin, protocols=self._protocols)

    async def find_redirect(self, url: str) -> str:
        """Return the URL that a host redirects *url* to, or an empty string.

        Git does not print it, so this asks again with a trace of the response headers.
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
        """Hide the operator's own configuration from git, and disable prompts."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._home),
            "XDG_CONFIG_HOME": str(self._home),
            "TMPDIR": str(self._home),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(self._home / "gitconfig"),
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_ALLOW_PROTOCOL": ":".join(protocols),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_SSH_COMMAND": "false",
        }


def _explain_failure(complaint: str) -> SourceError | OutOfResources:
    """Tell a full disk, which may have swallowed git's message, from a bad repo."""
    if says_no_space(complaint) or not (complaint.strip() or has_room()):
        return OutOfResources("git has no room for temporary files")
    return explain(complaint)


def explain(complaint: str) -> SourceRefused | SourceUnavailable:
    """Decide from git's message whether a retry may help."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    said = " ".join(lines)[:_QUOTED_CHARACTERS] or "it gave no reason"
    shown = "".join(char if char.isprintable() else "?" for char in said)
    if _REDIRECT.search(complaint):
        return SourceMoved(f"git could not fetch the repo: {shown}")
    is_final = any(mark in complaint for mark in _FINAL)
    if not is_final and any(mark in complaint for mark in _PASSING):
        return SourceUnavailable(f"git could not reach the repo: {shown}")
    return SourceRefused(f"git could not fetch the repo: {shown}")


def _first_of(complaint: Path) -> str:
    """Return the beginning of a message: the host may have made git repeat any amount of text."""
    with complaint.open("rb") as reading:
        return reading.read(_CHUNK).decode(errors="replace")


async def _read(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101 - we asked for a pipe
    printed = bytearray()
    while chunk := await process.stdout.read(_CHUNK):
        printed += chunk
        if len(printed) > MAX_OUTPUT_BYTES:
            raise SourceRefused("the repo has more branches, files or folders than can be listed")
    return bytes(printed)


def _setting(name: str, value: str) -> str:
    section, _, key = name.rpartition(".")
    first, dot, rest = section.partition(".")
    header = f'{first} "{rest}"' if dot else first
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{header}]\n\t{key} = "{quoted}"\n'
