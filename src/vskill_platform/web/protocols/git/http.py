"""The repository of a skill over git's smart HTTP protocol: `/git/@acme/demo.git`, read only."""

import asyncio
import os
import re
import tempfile
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from litestar import Response
from litestar.params import FromPath, FromQuery

from vskill_platform.base.bounded_turns import BoundedTurns
from vskill_platform.base.program import CannotStart, ProgramLimits, Streams, running_program
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import (
    Busy,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
    OutOfResources,
    TooLarge,
)
from vskill_platform.fetch.git import isolated_environment
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.protocols.git.protocol import (
    MAX_DATA,
    GitCommand,
    advertise_abilities,
    list_matching_refs,
    needs_whole_pack,
    packet,
    parse_command,
    send_in_packets,
)
from vskill_platform.web.protocols.git.repos import GitRepos
from vskill_platform.web.protocols.signed_urls import Signer, is_signed
from vskill_platform.web.skills.downloads import Download, Loaded, Pieces
from vskill_platform.web.skills.installs import count_download
from vskill_platform.web.skills.pull_through import find_or_mirror

log = get_logger(__name__)

_SERVICE = "git-upload-pack"
_REFS, _FETCH = f"info/refs?service={_SERVICE}", _SERVICE
_ENDING = ".git/"
_REFS_TYPE = f"application/x-{_SERVICE}-advertisement"
_FETCH_TYPE = f"application/x-{_SERVICE}-result"
#: The largest request: a client names its commits, of which a repository has one per version.
_MAX_REQUEST_BYTES = 1024 * 1024
_LIMITS = ProgramLimits(memory_bytes=1024 * 1024 * 1024, file_bytes=1024 * 1024 * 1024)
_SECONDS = 120.0
_TURNS = BoundedTurns(at_once=4, waiting=64, busy="too many git requests at once; try again")
_NO_CACHE = {"Cache-Control": "no-cache, max-age=0, must-revalidate"}
#: The prefix before the slug of a private skill.
_SIGNED = re.compile(r"signed/(?P<signature>\d+-[0-9a-f]{64})/(?P<slug>.+)", re.ASCII)
#: The accepted values of the header that chooses the version of the protocol.
_VERSION_2 = "version=2"
_PROTOCOLS = frozenset({"version=0", "version=1", _VERSION_2})


def git_url(slug: str, signer: Signer | None) -> str:
    """Return the path of a repository; for a private skill, *signer* signs it."""
    name = f"{quote(slug, safe='/@')}.git"
    if signer is None:
        return f"/git/{name}"
    return f"/git/signed/{signer.sign(_subject(slug))}/{name}"


async def list_refs(
    request: WebRequest, address: FromPath[str], service: FromQuery[str] = ""
) -> Response[Any]:
    """Respond to git's first request with branches and tags, or with the server's capabilities."""
    skill = await _find_skill(request, address, "info/refs")
    if service != _SERVICE:
        raise NotAllowed("this repository is read only; clone it with git over smart HTTP")
    repos: GitRepos = request.app.state.git_repos
    protocol = _protocol_of(request)

    if protocol == _VERSION_2:
        repos.build_ahead(skill, get_settings())
        return Response(advertise_abilities(), media_type=_REFS_TYPE, headers=_NO_CACHE)

    async def load() -> Loaded:
        repo = await repos.open(await repos.find_state(skill), get_settings())
        arguments = ("--http-backend-info-refs",)
        announcement = packet(f"# service={_SERVICE}\n".encode()) + b"0000"
        output = await _run_git(repo, arguments, b"", protocol, first=announcement)
        return Loaded(output, _REFS_TYPE)

    return Download(request, load, dict(_NO_CACHE))


@operation(max_body=_MAX_REQUEST_BYTES, changes=False)
async def fetch_objects(request: WebRequest, address: FromPath[str]) -> Response[Any]:
    """Respond to git's request for objects."""
    skill = await _find_skill(request, address, _FETCH)
    body = _decoded(await request.body(), request.headers.get("content-encoding", ""))
    repos: GitRepos = request.app.state.git_repos
    state = await repos.find_state(skill)

    protocol = _protocol_of(request)
    command = parse_command(body) if protocol == _VERSION_2 else GitCommand("", ())

    if command.name == "ls-refs":
        refs = list_matching_refs(state, command)
        return Response(refs, media_type=_FETCH_TYPE, headers=_NO_CACHE)

    async def load() -> Loaded:
        if needs_whole_pack(state, command):
            pack = await repos.open_pack(state, get_settings())
            packets = send_in_packets(pack.read(MAX_DATA))
            return Loaded(Pieces(pieces=packets, close=pack.close), _FETCH_TYPE)
        repo = await repos.open(state, get_settings())
        return Loaded(await _run_git(repo, (), body, protocol), _FETCH_TYPE)

    async def count() -> None:
        if b"done\n" in body:  # earlier requests of the same clone only ask
            await count_download(request, skill.slug)

    return Download(request, load, dict(_NO_CACHE), on_sent=count)


async def _find_skill(request: WebRequest, address: str, wanted: str) -> PublishedSkill:
    """Return the skill of a repository, if this visitor may see it and it is available."""
    slug, ending, service = address.strip("/").partition(_ENDING)
    if not ending or service != wanted:
        raise NotFound("the path of a repository is /git/SLUG.git")
    signed = _SIGNED.fullmatch(slug)
    if signed and await is_signed(_subject(signed["slug"]), signed["signature"]):
        stored = await get_skill(await resolve_slug(signed["slug"]))
        skill = stored.record if stored else None
    else:
        skill = await _find_visible(request, slug)
    if skill is None:
        raise NotFound(f"there is no published skill {slug!r}")
    if skill.down:
        raise NotAllowed(f"{skill.slug} is no longer available: {skill.down.reason}")
    return skill


async def _find_visible(request: WebRequest, slug: str) -> PublishedSkill:
    visitor = visitor_of(request)
    try:
        return (await find_or_mirror(request, slug)).record
    except NotFound:
        if visitor.user is None:
            # Git sends a password only if the server asks for one. The response is the same for a
            # skill that does not exist, so that it does not reveal private skills.
            raise NotSignedIn(
                f"{slug!r} is private or does not exist; use a token as the password"
            ) from None
        raise


def _subject(slug: str) -> str:
    return f"git {slug}"


def _protocol_of(request: WebRequest) -> str:
    asked = request.headers.get("git-protocol", "")
    return asked if asked in _PROTOCOLS else ""


def _decoded(body: bytes, encoding: str) -> bytes:
    """Decompress a request; git compresses all but the smallest requests."""
    if encoding in {"", "identity"}:
        return body
    if encoding not in {"gzip", "x-gzip"}:
        raise InvalidInput(f"the content encoding {encoding!r} is not supported")
    reader = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = reader.decompress(body, _MAX_REQUEST_BYTES + 1)
    except zlib.error as error:
        raise InvalidInput("the request is not valid gzip") from error
    if len(plain) > _MAX_REQUEST_BYTES:
        raise TooLarge(f"at most {_MAX_REQUEST_BYTES:,} bytes are accepted here")
    return plain


async def _run_git(
    repo: Path, arguments: tuple[str, ...], request: bytes, protocol: str, *, first: bytes = b""
) -> IO[bytes]:
    """Run `git upload-pack` on a repository; return a file with its output.

    The output goes to a file, so that a slow client does not keep the process running.
    """
    command = ["git", "upload-pack", "--strict", "--stateless-rpc", *arguments, str(repo)]
    with ExitStack() as undo:
        output = undo.enter_context(tempfile.TemporaryFile())
        given = undo.enter_context(tempfile.TemporaryFile())
        output.write(first)
        output.flush()
        given.write(request)
        given.seek(0)
        streams = Streams(stdin=given, stdout=output)
        async with _TURNS.turn():
            code = await _wait_for(command, repo, _environment(repo, protocol), streams)
        if code and output.seek(0, os.SEEK_END) == len(first):
            raise InvalidInput("git did not accept this request")
        given.close()
        undo.pop_all()  # the output is closed after the response
    return output


async def _wait_for(
    command: list[str], repo: Path, environment: dict[str, str], streams: Streams
) -> int:
    try:
        async with (
            asyncio.timeout(_SECONDS),
            running_program(
                command, env=environment, cwd=repo, streams=streams, limits=_LIMITS
            ) as process,
        ):
            return await process.wait()
    except TimeoutError:
        raise Busy("git took too long; try again") from None
    except CannotStart as error:
        raise OutOfResources(f"git cannot be started: {error.strerror}") from error


def _environment(repo: Path, protocol: str) -> dict[str, str]:
    return {
        **isolated_environment(repo),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_PROTOCOL": protocol,
        # If the folder's owner is not the user of the registry, that is the operator's choice.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
