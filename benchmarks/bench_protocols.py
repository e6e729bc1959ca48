"""Lists of 10,000 skills for other clients, and the first clone of a skill's repository.

The lists are compared with an empty page that passes the same middleware, in alternating runs, as
clients get them that ask whether the list has changed (304). How long the whole list takes is shown
as well: a megabyte takes its time.

The first clone, with the cache emptied before each time, is compared with two plain clones of the
same commits, in alternating runs: over HTTP from git's own server (`git http-backend`), which does
the same for the client, and from a folder (`file://`), without HTTP, its requests or the process of
git's HTTP client. The target is that of the second, stricter one.
"""

import asyncio
import hashlib
import os
import random
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen

import msgspec
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.bench_search import NOTHING, a_server, environment
from benchmarks.git_backend import serving_folder
from benchmarks.report import (
    Sample,
    amount,
    duration,
    print_note,
    print_table,
    print_title,
    print_verdict,
    ratio,
    scratch,
)
from benchmarks.sample_catalogue import a_skill, records_of
from benchmarks.sample_records import NOW
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Engine
from vskill_platform.fetch.pack import pack_contents
from vskill_platform.fetch.snapshot import digest_of
from vskill_platform.model.skill import PublishedSkill, SkillFile, SkillVersion
from vskill_platform.publish.versions.artifact_digests import with_digests
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.stores.version_store import write_version

SKILLS, CLIENTS = 10_000, 32
REQUESTS, TURNS = amount(960, quick=320), amount(5, quick=3)
CLONES = amount(41, quick=21)
VERSIONS, FILES, FILE_BYTES = 5, 20, 8 * 1024
TARGET_RATIO, TARGET_CLONE = 3, 2
SLUG = "@many/cloned"
#: The clones that are compared.
FIRST, NEXT = "ours, first", "ours, from the cache"
PLAIN_HTTP, PLAIN = "git http-backend", "git clone file://"
INDEX = "/n/@many/.well-known/agent-skills/index.json"
MARKETPLACE = "/.claude-plugin/marketplace.json"
GZIP = {"Accept-Encoding": "gzip"}
_END_OF_HEAD = b"\r\n\r\n"


def a_listed_skill(number: int) -> PublishedSkill:
    """Return a skill of one large namespace."""
    name = f"skill-{number}"
    return msgspec.structs.replace(
        a_skill(number), slug=f"@many/{name}", name=name, publisher="@many", is_private=False
    )


async def publish(engine: Engine) -> None:
    for start in range(0, SKILLS, 500):
        some = [a_listed_skill(number) for number in range(start, start + 500)]
        assert await engine.commit([write for skill in some for write in records_of(skill)])
    skill = msgspec.structs.replace(a_listed_skill(SKILLS), slug=SLUG, name="cloned")
    first, *_ = records_of(skill)
    assert await engine.commit([first])
    parent = None
    for number in range(1, VERSIONS + 1):
        version, archive = await a_version(number, parent)
        parent = version.git_commit
        stored = await get_skill(SLUG)
        assert stored
        newer = msgspec.structs.replace(
            stored.record, versions=number, version=version.version, digest=version.digest
        )
        writes = [write_skill(newer, expected=stored.revision), *write_version(version, archive)]
        assert await engine.commit(writes)


async def a_version(number: int, parent: str | None) -> tuple[SkillVersion, bytes]:
    """Return a version of which a fifth of the files differ from the one before."""
    contents = {"SKILL.md": f"version {number}\n".encode()}
    for index in range(FILES):
        steady = random.Random(f"{index} {number if index % VERSIONS == number % VERSIONS else 0}")
        words = (f"{steady.randrange(2_000)} " for _ in range(FILE_BYTES // 5))
        contents[f"references/{index:02}.md"] = "".join(words).encode()
    files = tuple(
        SkillFile(
            path=path,
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            is_executable=False,
        )
        for path, content in sorted(contents.items())
    )
    packed = pack_contents(files, [contents[file.path] for file in files])
    version = SkillVersion(
        slug=SLUG,
        number=number,
        version=f"1.0.{number}",
        digest=digest_of(files),
        files=files,
        archive_sha256=packed.sha256,
        commit_sha=None,
        submission_id="sub_clone",
        published_at=NOW + timedelta(hours=number),
    )
    return await with_digests(version, packed.content, parent=parent), packed.content


class Request(msgspec.Struct, frozen=True):
    path: str
    headers: dict[str, str]


class Load(msgspec.Struct, frozen=True):
    """What clients in another process ask, each of them several times."""

    port: int
    request: Request
    count: int


def put_under_load(load: Load) -> list[float]:
    with Popen([sys.executable, __file__, "load"], stdin=PIPE, stdout=PIPE) as process:
        answer, _ = process.communicate(msgspec.json.encode(load))
    assert process.returncode == 0
    return msgspec.json.decode(answer, type=list[float])


async def be_clients() -> None:
    load = msgspec.json.decode(sys.stdin.buffer.read(), type=Load)
    answers = await asyncio.gather(
        *(ask(load.port, load.request, load.count) for _ in range(CLIENTS))
    )
    seconds = [one for client in answers for one in client]
    sys.stdout.buffer.write(msgspec.json.encode(seconds))


async def ask(port: int, request: Request, count: int) -> list[float]:
    """Ask the same again and again on one connection; return how long each answer took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**25)
    headers = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    sent = f"GET {request.path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode()
    seconds = []
    for _ in range(count):
        started = time.perf_counter()
        writer.write(sent)
        head = await reader.readuntil(_END_OF_HEAD)
        await reader.readexactly(int(header_of(head, b"content-length") or 0))
        seconds.append(time.perf_counter() - started)
        assert head.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 304 ")), head
    writer.close()
    return seconds


def header_of(head: bytes, name: bytes) -> bytes:
    for line in head.split(b"\r\n"):
        key, _, value = line.partition(b":")
        if key.lower() == name:
            return value.strip()
    return b""


async def get(port: int, request: Request) -> tuple[bytes, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**25)
    headers = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    writer.write(f"GET {request.path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
    head = await reader.readuntil(_END_OF_HEAD)
    body = await reader.readexactly(int(header_of(head, b"content-length") or 0))
    writer.close()
    return head, body


async def measure_lists(port: int) -> tuple[dict[str, Sample], dict[str, int]]:
    requests = {"a page that does nothing": Request(NOTHING, {})}
    sizes: dict[str, int] = {}
    for what, path in (("discovery index", INDEX), ("marketplace", MARKETPLACE)):
        started = time.perf_counter()
        head, body = await get(port, Request(path, {}))
        print_note(f"{what}: first built in {duration(time.perf_counter() - started)}")
        assert len(msgspec.json.decode(body).popitem()[1]) >= SKILLS
        tag = header_of(head, b"etag").decode()
        requests[f"{what}, unchanged (304)"] = Request(path, {"If-None-Match": tag})
        requests[f"{what}, gzip"] = Request(path, GZIP)
        sizes[f"{what}, gzip"] = len((await get(port, Request(path, GZIP)))[1])
        print_note(f"{what}: {len(body):,} bytes before compression")
    seconds: dict[str, list[float]] = {what: [] for what in requests}
    for turn in range(TURNS + 1):
        for what, request in requests.items():
            load = Load(port, request, REQUESTS // CLIENTS)
            some = await asyncio.to_thread(put_under_load, load)
            if turn:  # the first one warms up
                seconds[what] += some
    return {what: Sample(tuple(found)) for what, found in seconds.items()}, sizes


def measure_clones(port: int, folder: Path) -> dict[str, Sample]:
    """Return how long the first clone takes, the next one, and plain ones of the same commits."""
    url = f"http://127.0.0.1:{port}/git/{SLUG}.git"
    same = folder / "same.git"
    run_git(folder, "clone", "-q", "--bare", url, str(same))
    (cached,) = folder.glob("*.git-cache")
    seconds: dict[str, list[float]] = {what: [] for what in (FIRST, NEXT, PLAIN_HTTP, PLAIN)}
    with serving_folder(folder) as plain_port:
        for _ in range(CLONES):
            shutil.rmtree(cached)
            seconds[FIRST].append(timed_clone(folder, url))
            seconds[PLAIN].append(timed_clone(folder, f"file://{same}"))
            seconds[NEXT].append(timed_clone(folder, url))
            plain_url = f"http://127.0.0.1:{plain_port}/{same.name}"
            seconds[PLAIN_HTTP].append(timed_clone(folder, plain_url))
    return {what: Sample(tuple(found)) for what, found in seconds.items()}


def timed_clone(folder: Path, url: str) -> float:
    name = "clone"
    started = time.perf_counter()
    run_git(folder, "clone", "-q", url, name)
    took = time.perf_counter() - started
    assert len(list((folder / name / "references").iterdir())) == FILES
    shutil.rmtree(folder / name)
    return took


def run_git(folder: Path, *arguments: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=folder, env=env, check=True)


def print_lists(found: dict[str, Sample], sizes: dict[str, int]) -> None:
    nothing = found["a page that does nothing"].percentile(99)
    print_table(
        (f"{CLIENTS} clients", "p50", "p99", "bytes"),
        [
            (
                what,
                duration(sample.median),
                duration(sample.percentile(99)),
                f"{sizes[what]:,}" if what in sizes else "",
            )
            for what, sample in found.items()
        ],
    )
    for what in ("discovery index", "marketplace"):
        p99 = found[f"{what}, unchanged (304)"].percentile(99)
        print_verdict(
            f"{what} of {SKILLS:,} skills, unchanged, p99",
            ours=duration(p99),
            other=f"empty page {duration(nothing)}",
            figure=f"{ratio(p99 / nothing)} the time",
            target=f"≤ {ratio(TARGET_RATIO)}",
            is_reached=p99 <= TARGET_RATIO * nothing,
        )


def print_clones(found: dict[str, Sample]) -> None:
    plain = found[PLAIN].best
    print_table(
        (f"clone of {VERSIONS} versions, {CLONES} times", "best", "median", f"/ {PLAIN}"),
        [
            (what, duration(sample.best), duration(sample.median), ratio(sample.best / plain))
            for what, sample in found.items()
        ],
    )
    ours = found[FIRST].best
    print_verdict(
        f"the first clone of a repository with {VERSIONS} versions, best of {CLONES}",
        ours=duration(ours),
        other=f"{PLAIN} {duration(plain)}",
        figure=f"{ratio(ours / plain)} the time",
        target=f"≤ {ratio(TARGET_CLONE)}",
        is_reached=ours <= TARGET_CLONE * plain,
    )


async def main() -> None:
    print_title(
        f"Protocols: lists of {SKILLS:,} skills, and git",
        f"p99 ≤ {ratio(TARGET_RATIO)} that of a page that does nothing; first clone "
        f"≤ {ratio(TARGET_CLONE)} a plain one",
    )
    with scratch() as folder:
        url = f"sqlite:///{folder / 'skills.db'}"
        engine = await open_engine(url)
        await run_with_worker_env(environment(engine, url, str(folder)), partial(publish, engine))
        await engine.close()
        with a_server(url, folder) as (started, _):
            lists, sizes = await measure_lists(started.port)
            clones = await asyncio.to_thread(measure_clones, started.port, folder)
    print_lists(lists, sizes)
    print_clones(clones)


if __name__ == "__main__":
    uvloop.run(be_clients() if sys.argv[1:] else main())
