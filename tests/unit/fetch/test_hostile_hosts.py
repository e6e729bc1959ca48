"""Malicious hosts: their redirects, response times and sizes are limited."""

import asyncio
import ipaddress
import os
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import cast

import msgspec
import pytest

from tests.cases import all_cases
from tests.casts import a_skill_folder
from tests.git_server import Answer, GitServer
from tests.repos import git as run_git
from vskill_platform.base.program import ProgramLimits
from vskill_platform.errors import SourceMoved, SourceRefused, SourceUnavailable
from vskill_platform.fetch import git, guarded_proxy, ip_addresses
from vskill_platform.fetch.allowed_sources import Reach
from vskill_platform.fetch.fetch_source import fetched
from vskill_platform.fetch.guarded_proxy import open_proxy
from vskill_platform.model.source import Source, git_source
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import get_worker_env, worker_env_storage

LOOPBACK = ipaddress.ip_address("127.0.0.1")
#: The error for a name that does not exist, and for one of a private network.
UNKNOWN_HOST = "no public host git.example can be found"


async def fetch(source: Source) -> list[str]:
    async with fetched(source) as snapshot:
        return [file.path for file in snapshot.files]


_MOVED_ELSEWHERE = (
    "the host redirects to another address; redirects are not followed: "
    "submit the address where the repo is now"
)


def redirect_to(url: str, code: int = 302) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        request.send_header("Location", f"{url}/info/refs?service=git-upload-pack")
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def plain(text: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/plain")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text.encode())

    return answer


def status(code: int) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def begin(request: BaseHTTPRequestHandler, kind: str) -> None:
    request.send_response(200)
    request.send_header("Content-Type", f"application/x-git-upload-pack-{kind}")
    request.end_headers()


def stall(request: BaseHTTPRequestHandler) -> None:
    """Start a response and never finish it."""
    begin(request, "result")
    request.wfile.write(b"0")
    cast("GitServer", request.server).ended.wait()


def break_off(request: BaseHTTPRequestHandler) -> None:
    """Promise more than is sent."""
    request.send_response(200)
    request.send_header("Content-Type", "application/x-git-upload-pack-result")
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b"0")


def drip(request: BaseHTTPRequestHandler) -> None:
    """Send one byte after the other, always soon enough to look alive."""
    begin(request, "advertisement")
    server = cast("GitServer", request.server)
    while not server.ended.wait(0.01):
        try:
            request.wfile.write(b"0")
        except OSError:
            return


def endless_pack(request: BaseHTTPRequestHandler) -> None:
    """Announce a pack with one blob of a tebibyte, and never stop sending it."""
    begin(request, "result")
    server = cast("GitServer", request.server)
    size = 1 << 40
    header = [0xB0 | (size & 15)]
    while (size := size >> (4 if len(header) == 1 else 7)) > 0x7F:
        header.append(0x80 | (size & 0x7F))
    squeeze = zlib.compressobj(level=0)
    band = b"PACK\0\0\0\2\0\0\0\1" + bytes([*header, size])
    request.wfile.write(b"000dpackfile\n")
    while not server.ended.is_set():
        try:
            request.wfile.write(b"%04x\x01" % (len(band) + 5) + band)
        except OSError:
            return
        band = squeeze.compress(bytes(60_000)) + squeeze.flush(zlib.Z_SYNC_FLUSH)


def endless_talk(request: BaseHTTPRequestHandler) -> None:
    """Answer with an endless list of refs."""
    begin(request, "advertisement")
    server = cast("GitServer", request.server)
    request.wfile.write(b"001e# service=git-upload-pack\n0000")
    line = b"1" * 40 + b" refs/heads/" + b"x" * 900 + b"\n"
    while not server.ended.is_set():
        try:
            request.wfile.write(b"%04x" % (len(line) + 4) + line)
        except OSError:
            return


def squeezed_zeros(request: BaseHTTPRequestHandler) -> None:
    """Send half a megabyte that unfolds to half a gigabyte."""
    request.send_response(200)
    request.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
    request.send_header("Content-Encoding", "gzip")
    request.end_headers()
    squeeze = zlib.compressobj(wbits=31)
    try:
        for _ in range(512):
            request.wfile.write(squeeze.compress(bytes(1_000_000)))
        request.wfile.write(squeeze.flush())
    except OSError:
        return


@pytest.fixture
async def short_of_time(git_server: GitServer) -> AsyncIterator[None]:
    env = cast("WorkerEnv", get_worker_env())
    settings = msgspec.structs.replace(env.settings, fetch_deadline=timedelta(seconds=1))
    token = worker_env_storage.set(replace(env, settings=settings))
    yield
    worker_env_storage.reset(token)


@all_cases(
    "target",
    [
        "file:///etc",
        "ext::sh -c id",
        "ssh://127.0.0.1/x/y",
        "http://127.0.0.1:1/x/y",
        "http://169.254.169.254/latest/meta-data",
        "https://127.0.0.1:1/x/y",
        "https://[::1]/x/y",
        "https://user:secret@git.example/x/y",
        "//git.example/x/y",
    ],
)
async def test_a_redirect_to_another_host_is_refused_without_its_target(
    git_server: GitServer, target: str
) -> None:
    git_server.answers["/eve/evil"] = redirect_to(target)

    with pytest.raises(SourceMoved) as refusal:
        await fetch(git_source(f"{git_server.url}/eve/evil"))

    assert str(refusal.value) == _MOVED_ELSEWHERE


@all_cases("code", [301, 303, 307, 308])
async def test_a_redirect_is_refused_whatever_its_status(git_server: GitServer, code: int) -> None:
    git_server.answers["/eve/evil"] = redirect_to("https://127.0.0.1:1/x/y", code)

    with pytest.raises(SourceMoved) as refusal:
        await fetch(git_source(f"{git_server.url}/eve/evil"))

    assert str(refusal.value) == _MOVED_ELSEWHERE


@pytest.mark.parametrize("ref", ["", "main"])
async def test_a_redirect_to_another_repo_of_the_same_host_is_not_followed(
    git_server: GitServer, tmp_path: Path, ref: str
) -> None:
    url = git_server.serve_repo(a_skill_folder(tmp_path), "ada/new-name")
    git_server.answers["/eve/evil"] = redirect_to(url)

    with pytest.raises(SourceMoved) as refusal:
        await fetch(git_source(f"{git_server.url}/eve/evil", ref=ref))

    assert str(refusal.value) == (
        f"the host redirects to {url}; redirects are not followed: submit that address instead"
    )
    assert not [path for path in git_server.asked if path.startswith("/ada/")]


async def test_a_redirect_of_the_request_for_objects_is_not_followed(
    git_server: GitServer, tmp_path: Path
) -> None:
    url = git_server.serve_repo(a_skill_folder(tmp_path / "ada"), "ada/secret")
    git_server.serve_repo(a_skill_folder(tmp_path / "eve"), "eve/evil")
    git_server.packs["/eve/evil"] = redirect_to(url, 307)
    git_server.answers["/eve/evil.git"] = status(404)

    with pytest.raises(SourceRefused):
        await fetch(git_source(f"{git_server.url}/eve/evil"))

    assert not [path for path in git_server.asked if path.startswith("/ada/")]


async def test_a_host_that_adds_git_to_the_name_is_asked_for_that_name(
    git_server: GitServer, tmp_path: Path
) -> None:
    url = git_server.serve_repo(a_skill_folder(tmp_path), "ada/notes.git")
    git_server.answers["/ada/notes/"] = redirect_to(url)

    assert await fetch(git_source(f"{git_server.url}/ada/notes")) == ["SKILL.md"]


async def test_alternates_of_a_plain_file_server_are_not_followed(
    git_server: GitServer, tmp_path: Path
) -> None:
    url = git_server.serve_repo(a_skill_folder(tmp_path), "ada/secret")
    sha = run_git(tmp_path / "tidy-notes", "rev-parse", "HEAD")
    git_server.answers["/eve/evil/info/refs"] = plain(f"{sha}\trefs/heads/main\n")
    git_server.answers["/eve/evil/HEAD"] = plain("ref: refs/heads/main\n")
    git_server.answers["/eve/evil/objects/info"] = plain(f"{url}/objects\n")

    with pytest.raises(SourceRefused):
        await fetch(git_source(f"{git_server.url}/eve/evil"))

    assert not [path for path in git_server.asked if path.startswith("/ada/")]


async def test_the_proxy_leads_to_the_host_of_the_fetch_alone(
    git_server: GitServer,
) -> None:
    reach = Reach(private_hosts=frozenset({git_server.origin}))

    async with open_proxy(reach, "https://git.example:443") as guard:
        answer = await _connect_through(guard.url, f"127.0.0.1:{git_server.server_port}")

    assert answer.startswith(b"HTTP/1.1 403")
    assert isinstance(guard.problem, SourceRefused)


async def test_plain_http_is_refused_where_the_operator_did_not_allow_it(bound: WorkerEnv) -> None:
    with pytest.raises(SourceRefused, match="a git URL starts with https://"):
        await fetch(git_source("http://git.example/a/b"))


@pytest.mark.usefixtures("bound", "leftovers")
@all_cases(
    "address",
    ["127.0.0.1", "10.0.0.7", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200",
     "168.63.129.16", "0.0.0.0", "::1", "fe80::1", "fd00:ec2::254", "::ffff:10.0.0.7",  # noqa: S104 - not bound
     "64:ff9b::a00:7", "2002:a00:7::1", "224.0.0.1", "255.255.255.255"],
)  # fmt: skip
async def test_a_name_that_resolves_to_a_private_address_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(_host: str, _port: int) -> list[ip_addresses.Address]:
        return [ipaddress.ip_address("93.184.215.14"), ipaddress.ip_address(address)]

    monkeypatch.setattr(ip_addresses, "resolve", resolve)

    with pytest.raises(SourceUnavailable) as refusal:
        await fetch(git_source("https://git.example/a/b"))

    assert str(refusal.value) == UNKNOWN_HOST


@pytest.mark.usefixtures("bound", "leftovers")
@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.7", "169.254.169.254"])
async def test_an_address_that_is_not_public_is_refused_for_good(address: str) -> None:
    with pytest.raises(SourceRefused, match=f"{address} is not a public address"):
        await fetch(git_source(f"https://{address}/a/b"))


async def test_a_name_that_changes_its_mind_is_refused_the_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In this test the internet is 127.0.0.1, so that the first answer can be connected to.
    answers = iter(["127.0.0.1", "10.0.0.7"])
    connected = asyncio.Event()

    async def resolve(_host: str, _port: int) -> list[ip_addresses.Address]:
        return [ipaddress.ip_address(next(answers))]

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        writer.close()

    monkeypatch.setattr(ip_addresses, "resolve", resolve)
    monkeypatch.setattr(ip_addresses, "is_public", lambda address: address == LOOPBACK)
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async with server, open_proxy(Reach(), f"https://git.example:{port}") as guard:
        first = await _connect_through(guard.url, f"git.example:{port}")
        await connected.wait()
        second = await _connect_through(guard.url, f"git.example:{port}")

    assert first.startswith(b"HTTP/1.1 200")
    assert second.startswith(b"HTTP/1.1 403")
    assert str(guard.problem) == UNKNOWN_HOST


async def test_the_checked_address_is_the_one_that_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    async def resolve(_host: str, _port: int) -> list[ip_addresses.Address]:
        return [LOOPBACK]

    async def connect(host: str, _port: int) -> tuple[object, object]:
        asked.append(host)
        raise OSError

    monkeypatch.setattr(ip_addresses, "resolve", resolve)
    monkeypatch.setattr(ip_addresses, "is_public", lambda _: True)
    async with open_proxy(Reach(), "https://git.example:443") as guard:
        port = int(guard.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        monkeypatch.setattr(asyncio, "open_connection", connect)
        writer.write(b"CONNECT git.example:443 HTTP/1.1\r\n\r\n")
        await reader.read()
        writer.close()

    assert asked == ["127.0.0.1"]
    assert isinstance(guard.problem, SourceUnavailable)


@pytest.mark.parametrize(
    "request_line",
    ["nonsense", "GET / HTTP/1.1", "GET ftp://a/b HTTP/1.1", "GET http://127.0.0.1/ HTTP/1.1",
     "CONNECT host:port HTTP/1.1", "GET file:///etc/passwd HTTP/1.1"],
)  # fmt: skip
async def test_a_malformed_proxy_request_is_refused(request_line: str) -> None:
    async with open_proxy(Reach(), "https://git.example:443") as guard:
        port = int(guard.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{request_line}\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 403")
    assert isinstance(guard.problem, SourceRefused)


@pytest.mark.usefixtures("short_of_time")
async def test_a_host_that_drips_times_out(git_server: GitServer) -> None:
    git_server.answers["/eve/slow"] = drip

    with pytest.raises(SourceUnavailable, match="could not be fetched within 1 s"):
        await fetch(git_source(f"{git_server.url}/eve/slow"))


@pytest.mark.parametrize("answer", [stall, break_off])
@pytest.mark.parametrize("where", ["answers", "packs"])
async def test_a_host_that_stalls_or_breaks_off_may_go_on_later(
    git_server: GitServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    answer: Answer,
) -> None:
    monkeypatch.setitem(git._CONFIGURATION, "http.lowSpeedTime", "1")
    url = git_server.serve_repo(a_skill_folder(tmp_path), "ada/notes")
    getattr(git_server, where)["/ada/notes"] = answer

    with pytest.raises(SourceUnavailable, match="git could not reach the repo"):
        await fetch(git_source(url))


async def test_a_host_that_never_stops_sending_is_cut_off(
    git_server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_proxy, "MAX_FETCH_BYTES", 5_000_000)
    git_server.serve_repo(a_skill_folder(tmp_path), "eve/endless")
    git_server.packs["/eve/endless"] = endless_pack
    git_server.answers["/eve/talkative"] = endless_talk

    for name in ("endless", "talkative"):
        with pytest.raises(SourceRefused, match="sent more than 5,000,000 bytes"):
            await fetch(git_source(f"{git_server.url}/eve/{name}"))


async def test_a_pack_that_never_ends_does_not_fill_the_disk(
    git_server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_LIMITS", ProgramLimits(file_bytes=3_000_000))
    git_server.serve_repo(a_skill_folder(tmp_path), "eve/endless")
    git_server.packs["/eve/endless"] = endless_pack

    with pytest.raises((SourceRefused, SourceUnavailable), match="git could not"):
        await fetch(git_source(f"{git_server.url}/eve/endless"))


@pytest.mark.slow
async def test_an_answer_that_unfolds_cannot_fill_our_memory(
    git_server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_LIMITS", ProgramLimits(memory_bytes=200_000_000))
    git_server.answers["/eve/bomb"] = squeezed_zeros

    with pytest.raises(SourceRefused, match="git could not fetch"):
        await fetch(git_source(f"{git_server.url}/eve/bomb"))


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (401, SourceRefused), (403, SourceRefused), (404, SourceRefused),
        (429, SourceUnavailable), (500, SourceUnavailable), (503, SourceUnavailable),
    ],
)  # fmt: skip
async def test_an_error_of_the_host_is_final_or_passing(
    git_server: GitServer, code: int, error: type[Exception]
) -> None:
    git_server.answers["/ada/notes"] = status(code)

    with pytest.raises(error, match="git could not"):
        await fetch(git_source(f"{git_server.url}/ada/notes"))


@pytest.mark.usefixtures("bound", "leftovers")
async def test_a_host_that_cannot_be_found_may_be_found_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def resolve(_host: str, _port: int) -> list[ip_addresses.Address]:
        raise OSError("no such name")

    monkeypatch.setattr(ip_addresses, "resolve", resolve)

    with pytest.raises(SourceUnavailable, match=UNKNOWN_HOST):
        await fetch(git_source("https://git.example/a/b"))


async def test_a_host_that_does_not_answer_may_answer_later(
    git_server: GitServer, free_tcp_port: int
) -> None:
    env = cast("WorkerEnv", get_worker_env())
    allowed = msgspec.structs.replace(env.settings, private_hosts=f"127.0.0.1:{free_tcp_port}")
    worker_env_storage.set(replace(env, settings=allowed))

    with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1 does not answer"):
        await fetch(git_source(f"https://127.0.0.1:{free_tcp_port}/a/b"))


@pytest.mark.usefixtures("bound", "leftovers")
async def test_git_does_not_outlive_its_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    started = tmp_path / "pid"
    (programs / "git").write_text(
        f"#!/bin/sh\necho $$ > {started}.new\nmv {started}.new {started}\nexec sleep 1000\n"
    )
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    task = asyncio.create_task(fetch(git_source("https://git.example/a/b")))
    while not started.exists():
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


async def _connect_through(proxy_url: str, target: str) -> bytes:
    port = int(proxy_url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n")
    writer.close()
    return head
