"""What was published before there was an index is found by copies all the same."""

from pathlib import Path

import pytest

from tests.casts import a_published_skill, a_skill_folder
from vskill_platform.cron import index_similarity
from vskill_platform.cron.index_similarity import index_similar_skills
from vskill_platform.engines.ports import Delete, Put
from vskill_platform.intake.submit import submit
from vskill_platform.model.lookalike import name_marks
from vskill_platform.model.source import folder_source
from vskill_platform.queue.consumer import handle_submission_queue
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.similarity_store import find_by_marks, get_similarity_record
from vskill_platform.stores.skill_store import get_latest_version, write_skill

pytestmark = pytest.mark.usefixtures("one_loop")


async def published_by_another_release(env: WorkerEnv, parent: Path, *names: str) -> None:
    for name in names:
        await submit(folder_source(str(a_skill_folder(parent, name))), submitter="ada")
        batch = await env.engine.queue.receive(3, lease=env.settings.lease)
        await handle_submission_queue(batch, env)
    keys = (await env.engine.kv.list_keys("like", limit=10_000)).keys
    await env.engine.commit([Delete(key) for key in keys])


async def test_missing_skills_are_indexed_as_the_pipeline_would_have(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await published_by_another_release(bound, tmp_path, "tidy-notes")
    assert await get_similarity_record("@local/tidy-notes") is None

    assert await index_similar_skills() == "1 skill indexed, 0 left"

    found = await get_similarity_record("@local/tidy-notes")
    assert found
    assert (found.publisher, found.since) == ("@local", bound.clock.now())
    assert await find_by_marks(name_marks("tidy-note")) == [found]
    assert await index_similar_skills() == "0 skills indexed, 0 left"


async def test_one_run_does_a_part_and_the_next_goes_on(
    bound: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_similarity, "_A_RUN", 1)
    await published_by_another_release(bound, tmp_path, "tidy-notes", "weather")

    assert await index_similar_skills() == "1 skill indexed, 1 left"
    assert await index_similar_skills() == "1 skill indexed, 0 left"


async def test_a_skill_whose_parts_are_gone_is_said_and_left(
    bound: WorkerEnv, logs: list[dict[str, object]]
) -> None:
    await bound.engine.commit([write_skill(a_published_skill("ada/box/x"), expected=0)])

    assert await index_similar_skills() == "0 skills indexed, 1 left"
    assert logs[-1]["slug"] == "ada/box/x"


async def test_one_that_cannot_be_opened_keeps_no_other_out(
    bound: WorkerEnv, tmp_path: Path, logs: list[dict[str, object]]
) -> None:
    await published_by_another_release(bound, tmp_path, "tidy-notes", "weather")
    version = await get_latest_version("@local/tidy-notes")
    assert version
    await bound.engine.commit([Put(f"blob:{version.archive_sha256}", b"no archive")])

    assert await index_similar_skills() == "1 skill indexed, 1 left"

    assert await get_similarity_record("@local/weather")
    assert [entry["slug"] for entry in logs if entry["event"] == "skill not indexed"] == [
        "@local/tidy-notes"
    ]
