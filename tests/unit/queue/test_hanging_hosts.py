"""Hosts that never respond, and long queues for scan slots: other submissions are processed."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Semaphore

import msgspec
import pytest
from anyio import CapacityLimiter, wait_all_tasks_blocked

from tests.casts import a_skill_folder, count_in_state
from tests.git_server import GitServer, a_git_server
from vskill_platform.intake.submit import submit
from vskill_platform.intake.submit_set import submit_paths
from vskill_platform.model.source import folder_source, git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.fetch_limits import FetchLimits
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.follow_submissions import follow_submission
from vskill_platform.stores.submission_store import get_history

HOUR = timedelta(hours=1)
A_MOMENT = timedelta(seconds=1)

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with a_git_server(tmp_path / "served") as running:
        yield running


@pytest.fixture
def called() -> Semaphore:
    """Released for every call that the hanging host takes."""
    return Semaphore(0)


@pytest.fixture
def hanging(tmp_path: Path, called: Semaphore) -> Iterator[GitServer]:
    """A host that takes every call and never says a word."""
    with a_git_server(tmp_path / "hanging") as running:

        def never_respond(_: BaseHTTPRequestHandler) -> None:
            called.release()
            running.ended.wait()

        running.answers["/"] = never_respond
        yield running


@pytest.fixture
def reaching(bound: WorkerEnv, server: GitServer, hanging: GitServer) -> Iterator[WorkerEnv]:
    """The env of a worker with four slots that may ask both hosts."""
    settings = msgspec.structs.replace(
        bound.settings,
        private_hosts=f"{server.origin},{hanging.origin}",
        host_timeout=HOUR,
        fetch_deadline=HOUR,
        message_deadline=HOUR,
        lease=2 * HOUR,
    )
    limits = FetchLimits(per_host=2, per_group=2, in_all=3)
    env = replace(bound, settings=settings, fetch_limits=limits, scan_slots=CapacityLimiter(2))
    token = worker_env_storage.set(env)
    yield env
    worker_env_storage.reset(token)


async def end_of(submission_id: str) -> SubmissionState:
    states = [one.state async for one in follow_submission(submission_id)]
    return states[-1]


async def test_honest_skills_are_published_while_a_hundred_hang(
    reaching: WorkerEnv,
    server: GitServer,
    hanging: GitServer,
    called: Semaphore,
    tmp_path: Path,
) -> None:
    for set_number in range(2):
        await submit_paths(
            git_source(f"{hanging.url}/eve/repo{set_number}"),
            [f"skills/number-{n}" for n in range(50)],
            submitter="eve",
        )
    stop = asyncio.Event()
    run = asyncio.create_task(Worker(reaching).run(stop))
    for _ in range(2):
        await asyncio.to_thread(called.acquire)

    folder = a_skill_folder(tmp_path / "skills", "uploaded")
    uploaded = (await submit(folder_source(str(folder)), submitter="ada")).submission
    repo = server.serve_repo(a_skill_folder(tmp_path / "repos", "fetched"), "ben/fetched")
    fetched = (await submit(git_source(repo), submitter="ben")).submission
    ends = [await end_of(one.id) for one in (uploaded, fetched)]
    still_hanging = len(hanging.asked)
    hanging.ended.set()
    stop.set()
    await run

    assert ends == [SubmissionState.PUBLISHED, SubmissionState.PUBLISHED]
    assert still_hanging == 2


@pytest.mark.torture
async def test_forty_submissions_make_forty_fetches_and_no_needless_history(
    reaching: WorkerEnv, server: GitServer, tmp_path: Path
) -> None:
    submissions = []
    for number in range(40):
        folder = a_skill_folder(tmp_path / "repos" / str(number), f"skill-{number}")
        url = server.serve_repo(folder, f"ada/skill-{number}")
        submissions.append((await submit(git_source(url), submitter="ada")).submission)

    await Worker(reaching).run(asyncio.Event(), drain=True)

    assert await count_in_state(SubmissionState.PUBLISHED) == 40
    # A fetch asks for the refs twice: for the trees first, then for the files.
    refs = [path for path in server.asked if "/info/refs" in path]
    assert len(refs) == 2 * 40
    for submission in submissions:
        triggers = [event.trigger for event in await get_history(submission.id)]
        assert triggers == ["submit", "claim", "check", "publish"]


async def test_a_worker_holds_no_more_than_twice_what_it_can_check(
    reaching: WorkerEnv, tmp_path: Path
) -> None:
    for number in range(12):
        folder = a_skill_folder(tmp_path / "skills", f"skill-{number}")
        await submit(folder_source(str(folder)), submitter="ada")
    taken = [object() for _ in range(2)]
    for holder in taken:
        reaching.scan_slots.acquire_on_behalf_of_nowait(holder)
    stop = asyncio.Event()
    run = asyncio.create_task(Worker(reaching).run(stop))

    while reaching.scan_slots.statistics().tasks_waiting < 4:
        await asyncio.sleep(0)
    await wait_all_tasks_blocked()
    stats = await reaching.engine.queue.stats()
    for holder in taken:
        reaching.scan_slots.release_on_behalf_of(holder)
    stop.set()
    await run

    assert (stats.leased, stats.ready) == (4, 8)


async def test_a_silent_host_times_out_soon_and_is_then_skipped(
    reaching: WorkerEnv, hanging: GitServer
) -> None:
    hasty = replace(
        reaching,
        settings=msgspec.structs.replace(reaching.settings, host_timeout=A_MOMENT),
        fetch_limits=FetchLimits(per_host=1),
    )
    ids = [
        (await submit(git_source(f"{hanging.url}/eve/r{n}"), submitter="eve")).submission.id
        for n in range(6)
    ]

    await Worker(hasty).run(asyncio.Event(), drain=True)

    # On a busy machine, the time may be over before the host has noticed the request.
    assert len(hanging.asked) <= 2
    reasons = [(await get_history(one))[-1].reason for one in ids]
    assert sum("sent nothing for" in reason for reason in reasons) == 2
    assert sum("has not answered several times in a row" in reason for reason in reasons) == 4
