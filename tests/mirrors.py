"""Registries to mirror: a complete one of ours on loopback, and one that sends wrong data."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from tests.clocks import ManualClock
from tests.local_server import local_server
from tests.unit.web.api_cast import Registry, open_registry
from tests.unit.web.pages_cast import put_skill
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.mirror_settings import Mirror, MirrorKind
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage

MANIFEST = """\
---
name: {name}
description: Shows what a good skill looks like. Use in tests.
---

Do the thing, then say that it is done.
"""
#: The path that follows the URL of our registry, for each kind of mirror.
_SCOPES = {MirrorKind.VSKILL: "", MirrorKind.DISCOVERY: "/n/@acme", MirrorKind.CLAWHUB: "/clawhub"}


class Upstream:
    """A registry that another one mirrors."""

    def __init__(self, registry: Registry, url: str, folder: Path) -> None:
        self.registry = registry
        self.url = url
        self._folder = folder

    async def publish(
        self, slug: str = "@acme/demo", files: Mapping[str, str] | None = None, **fields: Any
    ) -> PublishedSkill:
        """Publish a version without any check, as a careless registry would."""
        name = slug.rpartition("/")[2]
        given = {"SKILL.md": MANIFEST.format(name=name), **(files or {})}
        env = self.registry.env
        skill = await put_skill(
            env, self._folder, slug, files=given, **{"at": env.clock.now(), **fields}
        )
        assert await self.registry.catalogue.wait_until(
            await env.engine.revision(), within=timedelta(minutes=1)
        )
        return skill

    def mirror(self, kind: MirrorKind = MirrorKind.VSKILL, **options: Any) -> Mirror:
        return Mirror(name="hub", kind=kind, url=self.url + _SCOPES[kind], **options)


@asynccontextmanager
async def an_upstream(env: WorkerEnv, folder: Path, clock: ManualClock) -> AsyncIterator[Upstream]:
    """Serve a second registry with its own database on loopback."""
    database = f"sqlite:///{folder.parent / 'upstream.db'}"
    engine = await open_engine(database, clock=clock)
    settings = msgspec.structs.replace(env.settings, database_url=database, node="upstream")
    other = replace(env, engine=engine, settings=settings, mirrors=())
    try:
        async with open_registry(other) as registry, _served(registry.app) as url:
            yield Upstream(registry, url, folder)
    finally:
        await engine.close()


@asynccontextmanager
async def _served(app: Any) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        task = asyncio.create_task(server._serve([listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            await task


class Answers(dict[str, tuple[int, dict[str, str], bytes]]):
    """What a hostile registry answers at each path: status, headers and content."""

    def __init__(self) -> None:
        super().__init__()
        #: The heads of all requests so far, in lower case.
        self.heads: list[str] = []

    def put(self, path: str, content: bytes | Any, status: int = 200, **headers: str) -> None:
        body = content if isinstance(content, bytes) else msgspec.json.encode(content)
        self[path] = (status, headers, body)


@asynccontextmanager
async def a_liar(answers: Answers) -> AsyncIterator[str]:
    """Serve these answers on loopback, and 404 at all other paths; yields the address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        answers.heads.append(head.lower())
        path = head.split(" ")[1].partition("?")[0]
        status, headers, body = answers.get(path, (404, {}, b"nothing"))
        lines = [f"HTTP/1.1 {status} Answer", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()

    async with local_server(answer) as url:
        yield url


def mirroring(env: WorkerEnv, *mirrors: Mirror, **settings: Any) -> WorkerEnv:
    """Return an env with these mirrors, which are allowed to be on loopback, and bind it."""
    hosts = ",".join({"/".join(one.url.split("/")[:3]) for one in mirrors})
    changed = msgspec.structs.replace(env.settings, **{"private_hosts": hosts, **settings})
    changed_env = replace(env, settings=changed, mirrors=mirrors)
    worker_env_storage.set(changed_env)
    return changed_env


async def process_all(env: WorkerEnv) -> None:
    """Process everything that is in the queue now."""
    while batch := await env.engine.queue.receive(10, lease=env.settings.lease):
        await handle_messages(batch, env)
