"""Web and worker nodes on one database, as real processes, and users who retry."""

import asyncio
import itertools
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import httpx
import msgspec

from tests.acceptance.ports import free_port
from tests.acceptance.processes import Running
from tests.acceptance.program import Platform
from tests.torture.skills import Skill, packed

#: Short deadlines, so that a lost worker costs seconds, and enough retries for all submissions.
_SETTINGS = {
    "judge_deadline": "2s", "message_deadline": "8s", "lease": "10s", "stuck_threshold": "25s",
    "retry_delay": "1s", "max_retries": "50", "scan_processes": "1", "log_level": "ERROR",
    "writes_per_minute": "1000000", "reads_per_minute": "1000000", "stop_grace": "5s",
}  # fmt: skip
_RETRY_SECONDS = 0.2
#: How often nobody decides about a submission that waits for review.
_UNDECIDED = 0.3
#: One in so many uploads of a user has two skills.
_EVERY_SET = 4
#: How long the processes of a killed node may take to notice it.
_ORPHAN_SECONDS = 10.0
#: Longer than the platform waits for the database: a request that takes longer hangs.
_ANSWER_SECONDS = 60.0
#: How long users insist, and how long everything may take to settle; on a busy machine.
PATIENCE_SECONDS = 240.0


class Node:
    def __init__(
        self, platform: Platform, role: str, port: int = 0, *, prefix: Sequence[str] = ()
    ) -> None:
        self._platform = platform
        self.role = role
        self.port = port
        #: The program that starts it, from the next start on.
        self.prefix = prefix
        self.process = self._started()

    def _started(self) -> Running:
        if self.role == "worker":
            return self._platform.start_anew("work", "--cron", prefix=self.prefix)
        folder = str(self._platform.folder / f"cache-{self.port}")
        return self._platform.start_anew(
            "serve", "--no-worker", "--no-cron", prefix=self.prefix,
            port=str(self.port), cache_dir=folder,
        )  # fmt: skip

    def restart(self) -> None:
        self.process = self._started()

    def kill(self) -> None:
        """Kill it; one that has ended by itself is a mistake."""
        assert self.process.is_alive, self.process.rest()
        self.process.kill()

    def kill_a_child(self, dice: Random) -> None:
        """Kill one of its processes, such as one that scans."""
        file = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        with suppress(OSError, IndexError):  # there may be none, or it may just end
            os.kill(int(dice.choice(file.read_text().split())), signal.SIGKILL)


class Load(msgspec.Struct):
    """The responses that users got, and how often there was none."""

    ids: dict[str, str] = msgspec.field(default_factory=dict)
    answers: Counter[str] = msgspec.field(default_factory=Counter)
    #: What a reviewer decided about each submission; the answer may have been lost.
    decisions: dict[str, str] = msgspec.field(default_factory=dict)
    #: The submissions whose decision was acknowledged.
    decided: set[str] = msgspec.field(default_factory=set)
    #: Answers that no outage explains.
    odd: list[str] = msgspec.field(default_factory=list)

    async def reached(self, count: int) -> None:
        """Wait until so many submissions were acknowledged."""
        while len(self.ids) < count:
            await asyncio.sleep(0.02)


class Nodes:
    """Two web nodes, which users take in turns, and any number of workers."""

    def __init__(
        self,
        folder: Path,
        database_url: str,
        *,
        workers: int = 1,
        prefix: Sequence[str] = (),
        **settings: str,
    ) -> None:
        settings = {**_SETTINGS, **settings, "database_url": database_url}
        self.platform = Platform(folder, **settings)
        self._prefix = prefix
        self.token = self._create_token("ada", "admin", "read", "submit")
        #: Nobody reviews what they have submitted.
        self._reviewer = self._create_token("rae", "reviewer", "review")
        self.web = [Node(self.platform, "web", free_port(), prefix=prefix) for _ in range(2)]
        self.workers = [Node(self.platform, "worker", prefix=prefix) for _ in range(workers)]
        self._turns = itertools.cycle(self.web)

    @property
    def all(self) -> list[Node]:
        return [*self.web, *self.workers]

    def add_worker(self, *, prefix: Sequence[str]) -> None:
        """Start a worker by another program."""
        self.workers.append(Node(self.platform, "worker", prefix=prefix))

    def _create_token(self, user: str, role: str, *scopes: str) -> str:
        self.run("admin", "users", "add", user, "--role", role)
        options = [part for scope in scopes for part in ("--scope", scope)]
        answer = self.run("admin", "tokens", "add", user, "--label", "t", "--json", *options)
        return str(msgspec.json.decode(answer)["token"])

    def run(self, *arguments: str) -> str:
        running = self.platform.start_anew(*arguments, prefix=self._prefix)
        code = running.wait()
        printed = running.rest()
        assert code == 0, printed
        return printed

    async def ask(self, path: str, *, node: Node | None = None, token: str = "") -> httpx.Response:
        """Ask the web nodes in turns; one that is down is passed over, as by a load balancer."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    return await self.request("GET", path, node=node, token=token)
                except httpx.TransportError:
                    await asyncio.sleep(_RETRY_SECONDS)

    async def get_json(self, path: str, *, node: Node | None = None, token: str = "") -> Any:
        """Ask until there is an answer."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (answer := await self.ask(path, node=node, token=token)).status_code != 200:
                assert answer.status_code == 503, answer.text
                assert int(answer.headers["retry-after"]) > 0
                await asyncio.sleep(_RETRY_SECONDS)
        return answer.json()

    @asynccontextmanager
    async def under_load(
        self, skills: Sequence[Skill], *, users: int = 3, load: Load | None = None
    ) -> AsyncIterator[Load]:
        """Let users upload skills, each until it is acknowledged, while the test does harm."""
        load = load or Load()
        left = iter(skills)

        async def insist() -> None:
            for number, skill in enumerate(left):
                # Now and then two skills in one archive, which become a set.
                others = itertools.islice(left, int(number % _EVERY_SET == 0))
                await self._submit([skill, *others], load)

        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
            for _ in range(users):
                tasks.create_task(insist())
            yield load

    @asynccontextmanager
    async def under_review(self, load: Load, dice: Random) -> AsyncIterator[None]:
        """Let a reviewer decide about some of the submissions, while the test does harm."""
        is_over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._review(load, dice, is_over))
            yield
            is_over.set()

    async def _review(self, load: Load, dice: Random, is_over: asyncio.Event) -> None:
        seen: set[str] = set()
        is_last = False
        while not is_last:
            is_last = is_over.is_set()
            answer = await self.get_json("/api/v1/reviews", token=self._reviewer)
            for submission_id in [one["id"] for one in answer["reviews"] if one["id"] not in seen]:
                seen.add(submission_id)
                if dice.random() >= _UNDECIDED:
                    await self._decide(submission_id, dice.choice(["approve", "reject"]), load)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _decide(self, submission_id: str, decision: str, load: Load) -> None:
        """Insist on a decision, until it is acknowledged or was made although no answer came."""
        path = f"/api/v1/reviews/{submission_id}"
        load.decisions[submission_id] = decision
        while True:
            shown = await self.ask(path, token=self._reviewer)
            if shown.status_code == 200:
                words = {"reason": "torture", "digest": shown.json()["digest"]}
                try:
                    answer = await self.request(
                        "POST", f"{path}/{decision}", token=self._reviewer, json=words
                    )
                except httpx.TransportError:
                    continue
                if answer.is_success:
                    load.decided.add(submission_id)
                    return
                shown = answer
            if shown.status_code in {403, 404, 409}:  # 403: its check took too long to approve it
                return
            assert shown.status_code in {429, 503}, shown.text
            await asyncio.sleep(_RETRY_SECONDS)

    async def _submit(self, skills: Sequence[Skill], load: Load) -> None:
        """Upload all contents of some skills, one after the other, and the last ones together."""
        for skill in skills:
            for manifest in skill.earlier:
                await self._upload({skill.name: manifest}, load)
        load.ids |= await self._upload({skill.name: skill.manifest for skill in skills}, load)

    async def _upload(self, manifests: dict[str, bytes], load: Load) -> dict[str, str]:
        """Insist until they are acknowledged; return the ids of their submissions by name."""
        files = {"files": ("skill.tar.gz", packed(manifests), "application/gzip")}
        while True:
            try:
                answer = await self.request("POST", "/api/v1/submissions/upload", files=files)
            except httpx.TransportError as error:
                load.answers[type(error).__name__] += 1
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            load.answers[str(answer.status_code)] += 1
            if answer.is_success:
                ids = {one["skillName"]: str(one["id"]) for one in answer.json()["submissions"]}
                assert set(ids) == set(manifests), answer.text
                return ids
            assert answer.status_code in {429, 503}, f"{answer.text}: {self._printed()}"
            assert int(answer.headers["retry-after"]) > 0
            await asyncio.sleep(_RETRY_SECONDS)

    def _printed(self) -> str:
        """Return what the web nodes have printed since their last start: why a request failed."""
        return "\n".join(node.process.rest() for node in self.web)

    async def request(
        self, method: str, path: str, *, node: Node | None = None, token: str = "", **options: Any
    ) -> httpx.Response:
        node = node or next(self._turns)
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{node.port}",
            headers={"Authorization": f"Bearer {token or self.token}"},
            timeout=_ANSWER_SECONDS,
        ) as client:
            return await client.request(method, path, **options)

    async def settled(self) -> None:
        """Wait until nothing is queued or in progress."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                stats = await self.get_json("/api/v1/queue/stats")
                if not any(stats[name] for name in ("ready", "inWork", "delayed", "active")):
                    return
                await asyncio.sleep(_RETRY_SECONDS)

    async def stop(self) -> list[str]:
        """Stop all nodes in order; return which failed, and the processes that are left over."""
        found = []
        for node in self.all:
            code = await asyncio.to_thread(node.process.end)
            if code:
                found.append(f"a {node.role} node exits with {code}: {node.process.rest()}")
        give_up_at = monotonic() + _ORPHAN_SECONDS
        while (left := list(_processes_in(self.platform.folder))) and monotonic() < give_up_at:
            await asyncio.sleep(_RETRY_SECONDS)
        return found + left


def _processes_in(folder: Path) -> Iterator[str]:
    """Name the processes that work in a folder, as those of nodes do, or have it in their env."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            is_inside = (process / "cwd").readlink().is_relative_to(folder)
            if is_inside or os.fsencode(folder) in (process / "environ").read_bytes():
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                yield f"process {process.name} is left over: {command.decode(errors='replace')}"
