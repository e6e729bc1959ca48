"""Search indexes of several processes, and the files of one that was killed."""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen

import msgspec
import pytest

from tests.casts import a_published_skill
from tests.tables import ROOT
from tests.unit.catalogue.index_files import TAKEN_DOWN, changed, found, published
from vskill_platform.catalogue.catalogue import open_catalogue
from vskill_platform.catalogue.index_lock import lock_index_file
from vskill_platform.catalogue.query import SkillQuery
from vskill_platform.engines.operations import Put
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.settings import Settings
from vskill_platform.stores.records import encode

SCRIPT = Path(__file__).with_name("another_process.py")
SKILLS = 3_000
KILLS = 6


def test_the_index_is_beside_the_database_itself_if_that_is_named_by_a_link(
    tmp_path: Path,
) -> None:
    (tmp_path / "named.db").symlink_to(tmp_path / "real.db")

    place = lock_index_file(Settings(database_url=f"sqlite:///{tmp_path}/named.db"))
    place.leave()

    assert place.path == tmp_path / "real.db.catalogue-0"


def test_the_index_of_a_server_is_in_the_cache_folder_and_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    settings = Settings(database_url="postgresql://ada:secret@db/skills", cache_dir=str(folder))
    other = msgspec.structs.replace(settings, database_url="postgresql://db/skills?schema=other")

    first = lock_index_file(settings)
    second = lock_index_file(settings)
    first.leave()
    again = lock_index_file(settings)
    elsewhere = lock_index_file(other)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert again.path == first.path
    assert len({first.path, second.path, elsewhere.path}) == 3
    assert "secret" not in first.path.name
    for locked in (second, again, elsewhere):
        locked.leave()


def test_an_index_that_nobody_has_used_for_a_week_is_removed(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path}/skills.db")
    used, recent, unused = (lock_index_file(settings) for _ in range(3))
    week_ago = time.time() - 8 * 24 * 3600
    for locked in (used, recent, unused):
        locked.path.write_bytes(b"")
    for locked in (used, unused):
        for file in (locked.path, Path(f"{locked.path}.lock")):
            os.utime(file, (week_ago, week_ago))
    recent.leave()
    unused.leave()

    lock_index_file(settings).leave()

    left = {file.name for file in tmp_path.iterdir()}
    assert left == {
        f"skills.db.catalogue-{number}{ending}" for number in (0, 1) for ending in ("", ".lock")
    }
    used.leave()


class Other(msgspec.Struct, frozen=True):
    process: Popen[str]

    async def next_line(self) -> str:
        assert self.process.stdout
        return (await asyncio.to_thread(self.process.stdout.readline)).strip()

    async def ask(self, revision: int, text: str) -> list[object]:
        """Return whether it got as far as that revision, and the slugs that it finds."""
        assert self.process.stdin
        self.process.stdin.write(f"{revision} {text}\n")
        self.process.stdin.flush()
        answer: list[object] = json.loads(await self.next_line())
        return answer


@asynccontextmanager
async def another_process(env: WorkerEnv) -> AsyncIterator[Other]:
    command = [sys.executable, str(SCRIPT), env.settings.database_url]
    start: Callable[[], Popen[str]] = partial(
        Popen, command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, cwd=ROOT
    )
    with start() as process:
        try:
            yield Other(process)
        finally:
            process.kill()


async def test_one_process_finds_what_another_wrote_within_a_second(bound: WorkerEnv) -> None:
    await published("ada/r/one")
    async with another_process(bound) as other, open_catalogue(bound) as ours:
        assert [await other.next_line(), await other.next_line()] == ["started", "ready"]
        await ours.wait_until_ready()

        revision = await published("ada/r/two")
        assert await other.ask(revision, "two") == [True, "ada/r/two"]
        assert await found(ours, "two") == ["ada/r/two"]

        taken = []
        for number in range(5):  # on a machine that is busy with other tests, one may take longer
            slug = f"ada/r/three{number}"
            await published(slug)
            revision = await changed(slug, down=TAKEN_DOWN)
            started = time.monotonic()
            assert await other.ask(revision, f"three{number}") == [True]
            assert await found(ours, f"three{number}") == []
            taken.append(time.monotonic() - started)
        assert min(taken) < 1

    database = Path(bound.settings.database_url.removeprefix("sqlite:///"))
    files = {file.name for file in database.parent.glob("*.catalogue-?")}
    assert files == {f"{database.name}.catalogue-0", f"{database.name}.catalogue-1"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(1, KILLS))]
)
async def test_a_process_killed_while_it_fills_leaves_nothing_wrong(
    bound: WorkerEnv, seed: int
) -> None:
    for start in range(0, SKILLS, 1_000):
        skills = [a_published_skill(f"a/r/skill-{n:05}") for n in range(start, start + 1_000)]
        await bound.engine.commit([Put(f"skill:{skill.slug}", encode(skill)) for skill in skills])
    async with another_process(bound) as other:
        assert await other.next_line() == "started"
        # At a moment between the first write and the end.
        ready = asyncio.create_task(other.next_line())
        await asyncio.wait([ready], timeout=random.Random(seed).uniform(0.02, 0.7))
        other.process.kill()
        other.process.wait()
        await ready

    async with open_catalogue(bound) as catalogue:
        await catalogue.wait_until_ready()
        for text in ("", "skill"):
            answer = await catalogue.search_skills(SkillQuery(text=text, limit=1))
            assert answer.total == SKILLS
        assert await found(catalogue, "skill-00042") == ["a/r/skill-00042"]


@pytest.mark.slow
async def test_a_process_killed_while_it_follows_reads_on_in_its_next_life(
    bound: WorkerEnv,
) -> None:
    async with another_process(bound) as other:
        assert [await other.next_line(), await other.next_line()] == ["started", "ready"]
        revision = await published("ada/r/one")
        assert await other.ask(revision, "one") == [True, "ada/r/one"]
    await published("ada/r/two")

    async with another_process(bound) as other:
        assert [await other.next_line(), await other.next_line()] == ["started", "ready"]
        revision = await published("ada/r/three")
        assert (await other.ask(revision, ""))[0] is True
        assert len(await other.ask(revision, "")) == 4
        other.process.kill()
        assert other.process.stderr
        assert "search index built" not in other.process.stderr.read()
