"""Searches in a process of their own: the same results, whatever happens to the process."""

import asyncio
import os
import select
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from subprocess import PIPE

import msgspec
import pytest

from tests.casts import add_installs
from tests.clocks import NOON
from tests.tables import ROOT
from tests.unit.catalogue.index_files import TAKEN_DOWN, changed, current, found, published
from vskill_platform.catalogue import search_process
from vskill_platform.catalogue.answer_searches import search
from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.catalogue.index_connections import Damaged
from vskill_platform.catalogue.query import (
    EVERYTHING,
    MAX_SEEN,
    PUBLIC,
    SkillPosition,
    SkillQuery,
    SkillSort,
    Visible,
)
from vskill_platform.catalogue.search_process import NotSearched, SearchProcess
from vskill_platform.catalogue.search_skills import Question
from vskill_platform.errors import InvalidInput
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http.api_types import key_cursor
from vskill_platform.web.http.list_cursors import jump_to, start_at

SCRIPT = Path(__file__).with_name("searching_process.py")


@pytest.fixture
async def catalogue(bound: WorkerEnv) -> AsyncIterator[Catalogue]:
    async with open_catalogue(bound, has_search_process=True) as catalogue:
        await catalogue.wait_until_ready()
        yield catalogue


async def started(catalogue: Catalogue) -> tuple[SearchProcess, int]:
    """Start the process of the current index; return it with its id."""
    process = catalogue.search_process
    assert process
    assert await process.wait_until_started()
    assert process.pid
    return process, process.pid


async def ended(pid: int) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    is_readable, _, _ = await asyncio.to_thread(select.select, [descriptor], [], [], 10)
    os.close(descriptor)
    assert is_readable


async def fill_registry() -> None:
    for number in range(12):
        await published(
            f"ada/desk/pdf-forms-{number}",
            description="Fills spreadsheets and forms." if number % 2 else "Reads PDF files.",
            tags=("office",) if number % 3 else (),
            is_private=number == 5,
            published_at=NOON - timedelta(days=number),
        )
        await add_installs({f"ada/desk/pdf-forms-{number}": number * 3 % 7})
    await published("ben/shed/kubernetes", description="Deploys.", deprecated=())


def queries() -> list[SkillQuery]:
    texts = ("", "pdf", "forms pdf", "spre", "kubernets", "spreadshets forms", "xyzzy", "漢字", '"')
    filters: list[dict[str, object]] = [{}, {"tag": "office"}, {"namespace": "ada"}]
    seen = (PUBLIC, EVERYTHING, Visible(namespaces=frozenset({"ada"})))
    return [
        SkillQuery(text=text, limit=5, is_forgiving=True, **some, **more)  # type: ignore[arg-type]
        for text in texts
        for some in filters
        for more in (
            *({"visible": visible} for visible in seen),
            *({"sort": sort} for sort in SkillSort),
            {"with_facets": True},
            {"offset": 3},
            {"any_word": True},
        )
    ]


async def test_the_process_finds_the_same_as_a_thread(catalogue: Catalogue) -> None:
    await fill_registry()
    await current(catalogue)
    process, _ = await started(catalogue)
    index = catalogue._follower.ready_index()
    positions = []

    for query in queries():
        asked = [Question(query)]
        by_thread = await index.connections.read(partial(search, questions=asked))
        assert await process.search(asked) == by_thread, query
        positions += [(query, result.next) for result, _ in by_thread if result.next]

    assert len(positions) > 50
    for query, position in positions:
        asked = [Question(msgspec.structs.replace(query, offset=position.seen, after=position))]
        by_thread = await index.connections.read(partial(search, questions=asked))
        assert await process.search(asked) == by_thread, query


async def test_several_questions_in_one_request_are_answered_in_order(
    catalogue: Catalogue,
) -> None:
    await fill_registry()
    await current(catalogue)
    process, _ = await started(catalogue)
    texts = ["pdf", "kubernets", "nothing of the kind", "", "forms"]

    answers = await process.search([Question(SkillQuery(text=text)) for text in texts])

    assert [result.total for result, _ in answers] == [11, 0, 0, 12, 11]


async def test_a_change_is_seen_by_the_process_once_the_index_has_it(catalogue: Catalogue) -> None:
    process, _ = await started(catalogue)

    for number in range(5):
        slug = f"ada/r/one-{number}"
        await published(slug)
        await current(catalogue)
        ((shown, _),) = await process.search([Question(SkillQuery(text=slug))])
        await changed(slug, down=TAKEN_DOWN)
        await current(catalogue)
        ((hidden, _),) = await process.search([Question(SkillQuery(text=slug))])

        assert ([hit.slug for hit in shown.hits], hidden.hits) == ([slug], [])


async def test_text_that_cannot_be_sent_is_searched_for_in_this_process(
    catalogue: Catalogue,
) -> None:
    await published("ada/r/one")
    await current(catalogue)
    process, _ = await started(catalogue)

    with pytest.raises(NotSearched):
        await process.search([Question(SkillQuery(text="one \ud800"))])

    assert await found(catalogue, "one \ud800") == ["ada/r/one"]
    assert process.pid


async def test_an_invalid_query_gets_the_same_error(catalogue: Catalogue) -> None:
    await published("ada/r/one")
    await current(catalogue)
    process, _ = await started(catalogue)
    position = SkillPosition(SkillSort.NAME, 0, seen=1, value="one", id=1)

    with pytest.raises(InvalidInput, match="this cursor continues a list sorted by name"):
        await catalogue.search_skills(SkillQuery(sort=SkillSort.NEWEST, after=position))

    assert process.pid


async def test_no_cursor_of_a_visitor_ends_the_process(catalogue: Catalogue) -> None:
    await fill_registry()
    await current(catalogue)
    process, pid = await started(catalogue)
    revision, most = catalogue.revision, 2**62
    extremes = [
        msgspec.json.encode([sort, revision, seen, value, row_id])
        for sort in SkillSort
        for seen in (0, MAX_SEEN - 1, MAX_SEEN)
        for value in (0, -most, most, "", "z" * 1_000)
        for row_id in (-most, most)
    ]

    for extreme in extremes:
        cursor = key_cursor(extreme.decode())
        for start in (start_at(cursor), jump_to(cursor, 10**7)):
            sort = start["after"].sort
            query = SkillQuery(text="pdf", sort=sort, limit=5, **start)
            with suppress(InvalidInput):
                await catalogue.search_skills(query)

    assert process.pid == pid


async def test_no_search_fails_when_the_process_is_killed_and_a_new_one_is_started(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_process, "_MAX_RESTART_SECONDS", 0.0)
    await fill_registry()
    await current(catalogue)

    for is_idle in (True, False, False):
        process, killed = await started(catalogue)
        process._next_start = 0.0
        life = process._running
        assert life
        searches = [found(catalogue, "pdf", limit=limit) for limit in range(1, 40)]
        running = [] if is_idle else [asyncio.ensure_future(one) for one in searches]
        await asyncio.sleep(0)
        os.kill(killed, signal.SIGKILL)
        answers = await asyncio.gather(*(running or searches))

        assert [len(answer) for answer in answers] == [min(n, 11) for n in range(1, 40)]
        await asyncio.wait([life])
        assert (await started(catalogue))[1] != killed


async def test_a_process_that_hangs_is_ended_and_its_searches_are_run_here(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_process, "_TIMEOUT_SECONDS", 0.2)
    await published("ada/r/one")
    await current(catalogue)
    _, stopped = await started(catalogue)
    os.kill(stopped, signal.SIGSTOP)
    await asyncio.to_thread(os.waitid, os.P_PID, stopped, os.WSTOPPED)

    assert await found(catalogue, "one") == ["ada/r/one"]

    await ended(stopped)


async def test_a_process_that_cannot_be_started_is_not_tried_all_the_time(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    await published("ada/r/one")
    await current(catalogue)
    tried = []

    def fail(*_: object, **__: object) -> None:
        tried.append(1)
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(search_process, "start_python", fail)
    for number in range(20):
        assert await found(catalogue, "one", limit=number + 1) == ["ada/r/one"]
        await asyncio.sleep(0)

    assert len(tried) == 1


async def test_a_rebuilt_index_has_a_new_process(catalogue: Catalogue) -> None:
    await published("ada/r/one")
    await current(catalogue)
    _, old = await started(catalogue)

    catalogue._follower.report_damage(Damaged("as a test says"))
    await published("ada/r/two")
    await ended(old)
    await current(catalogue)
    _, new = await started(catalogue)

    assert new != old
    assert await found(catalogue, "two") == ["ada/r/two"]


async def test_a_deleted_index_file_is_still_searched(catalogue: Catalogue) -> None:
    await published("ada/r/one")
    await current(catalogue)
    path = catalogue._follower.ready_index().connections.path
    await asyncio.to_thread(path.unlink)
    process = catalogue.search_process
    assert process

    assert await found(catalogue, "one") == ["ada/r/one"]
    assert not await process.wait_until_started()

    assert await found(catalogue, "one", limit=1) == ["ada/r/one"]
    assert not await asyncio.to_thread(path.exists)


async def test_the_process_ends_with_the_index(bound: WorkerEnv) -> None:
    async with open_catalogue(bound, has_search_process=True) as catalogue:
        await catalogue.wait_until_ready()
        _, pid = await started(catalogue)
        path = catalogue._follower.ready_index().connections.path

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not await asyncio.to_thread(Path(f"{path}-wal").exists)


async def test_the_process_ends_when_the_server_is_killed(bound: WorkerEnv) -> None:
    command = [sys.executable, str(SCRIPT), bound.settings.database_url]
    server = await asyncio.create_subprocess_exec(*command, stdout=PIPE, cwd=ROOT)
    assert server.stdout
    pid = int(await server.stdout.readline())
    os.kill(pid, 0)

    server.kill()

    await server.wait()
    await ended(pid)
