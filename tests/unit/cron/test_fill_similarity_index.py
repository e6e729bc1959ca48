"""Skills that were published before the index existed are compared, too."""

import asyncio
from pathlib import Path

import pytest

from tests.casts import a_published_skill, a_skill_folder
from vskill_platform.cron import send_background
from vskill_platform.cron.fill_similarity_index import send_missing_skills
from vskill_platform.engines.operations import Delete, Put
from vskill_platform.intake.submit import submit
from vskill_platform.model.lookalike import name_marks
from vskill_platform.model.source import folder_source
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.similarity_store import find_by_marks, get_similarity_record
from vskill_platform.stores.skill_store import get_latest_version, write_skill

pytestmark = pytest.mark.usefixtures("one_loop")


async def published_by_another_release(env: WorkerEnv, parent: Path, *names: str) -> None:
    for name in names:
        await submit(folder_source(str(a_skill_folder(parent, name))), submitter="ada")
        batch = await env.engine.queue.receive(3, lease=env.settings.lease)
        await handle_messages(batch, env)
    keys = (await env.engine.kv.list_keys("like", limit=10_000)).keys
    await env.engine.commit([Delete(key) for key in keys])


async def work(env: WorkerEnv) -> None:
    await Worker(env).run(asyncio.Event(), drain=True)


async def test_missing_skills_are_indexed_as_the_pipeline_would_have(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await published_by_another_release(bound, tmp_path, "tidy-notes")
    assert await get_similarity_record("@local/tidy-notes") is None

    said = await send_missing_skills()
    await work(bound)

    assert said == "1 queued, 0 queued before, 0 left"
    found = await get_similarity_record("@local/tidy-notes")
    assert found
    assert (found.publisher, found.since) == ("@local", bound.clock.now())
    assert await find_by_marks(name_marks("tidy-note")) == [found]
    assert await send_missing_skills() == "all skills are indexed"


async def test_one_run_sends_a_part_and_the_next_goes_on(
    bound: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_background, "MAX_QUEUED", 1)
    await published_by_another_release(bound, tmp_path, "tidy-notes", "weather")

    said = []
    for _ in range(2):
        said.append(await send_missing_skills())
        await work(bound)

    assert said == ["1 queued, 0 queued before, 1 left", "1 queued, 0 queued before, 0 left"]
    assert await send_missing_skills() == "all skills are indexed"


async def test_a_skill_whose_parts_are_gone_fails_once_and_is_not_sent_again(
    bound: WorkerEnv,
) -> None:
    await bound.engine.commit([write_skill(a_published_skill("ada/box/x"), expected=0)])

    await send_missing_skills()
    await work(bound)
    said = await send_missing_skills()

    (letter,) = await bound.engine.queue.dead_letters()
    assert letter.key == "index_similarity:ada/box/x"
    assert letter.reason == "ada/box/x cannot be indexed: its archive or submission is missing"
    assert said == "1 skill could not be indexed, see the dead letters"


async def test_one_that_cannot_be_opened_keeps_no_other_out(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await published_by_another_release(bound, tmp_path, "tidy-notes", "weather")
    version = await get_latest_version("@local/tidy-notes")
    assert version
    await bound.engine.commit([Put(f"blob:{version.archive_sha256}", b"no archive")])

    await send_missing_skills()
    await work(bound)

    assert await get_similarity_record("@local/weather")
    assert await get_similarity_record("@local/tidy-notes") is None
    assert await bound.engine.queue.pending(["index_similarity:@local/tidy-notes"]) or (
        await bound.engine.queue.dead_letters()
    )
