"""Finding similar skills by their marks: all candidates are read."""

from datetime import timedelta

import msgspec
import pytest

from tests.clocks import NOON
from tests.probes import ProbingEngine
from vskill_platform.engines.operations import Put
from vskill_platform.errors import EngineError, RecordMalformed
from vskill_platform.model.lookalike import name_marks
from vskill_platform.model.similarity import SkillSketch, sketch_words, text_marks
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores import similarity_store
from vskill_platform.stores.db import commit
from vskill_platform.stores.similarity_store import (
    SimilarityRecord,
    find_by_marks,
    get_similarity_record,
    move_similarity_record,
    write_similarity_record,
)


def a_text(subject: str, count: int = 60) -> list[str]:
    return [f"{subject}{number}" for number in range(count)]


def a_record(slug: str, *, subject: str = "notes", hours: int = 0) -> SimilarityRecord:
    return SimilarityRecord(
        slug=slug,
        name=slug.rsplit("/", 1)[-1],
        publisher=slug.split("/", 1)[0],
        since=NOON + timedelta(hours=hours),
        sketch=SkillSketch(instructions=sketch_words(a_text(subject))),
    )


async def written(*skills: SimilarityRecord) -> None:
    for skill in skills:
        assert await commit(await write_similarity_record(skill)) is not None


async def found(subject: str) -> list[str]:
    return [item.slug for item in await find_by_marks(text_marks(sketch_words(a_text(subject))))]


async def all_keys(env: WorkerEnv) -> list[str]:
    return (await env.engine.kv.list_keys("like", limit=10_000)).keys


async def test_a_skill_is_found_by_what_it_says_and_by_its_name(bound: WorkerEnv) -> None:
    skill = a_record("ada/box/tidy-notes")
    await written(skill, a_record("ben/box/weather", subject="rain"))

    assert await found("notes") == ["ada/box/tidy-notes"]
    assert [item.slug for item in await find_by_marks(name_marks("tidy-note"))] == [skill.slug]
    assert await find_by_marks([]) == []


async def test_the_longest_published_comes_first(bound: WorkerEnv) -> None:
    await written(
        a_record("cyd/box/c", hours=1), a_record("ada/box/a", hours=2), a_record("ben/box/b")
    )

    assert await found("notes") == ["ben/box/b", "cyd/box/c", "ada/box/a"]


async def test_a_new_version_is_found_as_it_is_now_only(bound: WorkerEnv) -> None:
    await written(a_record("ada/box/x"))
    before = len(await all_keys(bound))

    await written(a_record("ada/box/x", subject="rain"))

    assert await found("notes") == []
    assert await found("rain") == ["ada/box/x"]
    assert len(await all_keys(bound)) == before


async def test_an_unchanged_sketch_is_not_written_again(bound: WorkerEnv) -> None:
    await written(a_record("ada/box/x"))

    assert await write_similarity_record(a_record("ada/box/x")) == []


async def test_records_of_earlier_releases_can_be_read(bound: WorkerEnv) -> None:
    record = a_record("ada/box/x")
    await written(record)
    stored = await bound.engine.kv.get("likeness:ada/box/x")
    assert stored

    fields = msgspec.json.decode(stored.value)

    assert set(fields) == {
        "schema", "slug", "name", "publisher", "since", "likeness", "names_version",
    }  # fmt: skip
    assert set(fields["likeness"]) == {"version", "instructions", "scripts", "capabilities"}


async def test_marks_of_another_release_are_replaced(bound: WorkerEnv) -> None:
    await written(a_record("ada/box/x"))
    known = await get_similarity_record("ada/box/x")
    assert known
    older = msgspec.structs.replace(known, names_version=known.names_version - 1)
    await bound.engine.commit([Put("likeness:ada/box/x", msgspec.json.encode(older))])
    assert await found("notes") == []

    await written(a_record("ada/box/x"))

    assert await found("notes") == ["ada/box/x"]


async def test_a_skill_moves_with_its_slug(bound: WorkerEnv) -> None:
    await written(a_record("ada/box/x"))
    before = len(await all_keys(bound))

    await commit(await move_similarity_record("ada/box/x", "ada/chest/x"))

    assert await found("notes") == ["ada/chest/x"]
    assert await get_similarity_record("ada/box/x") is None
    assert len(await all_keys(bound)) == before
    assert await move_similarity_record("nobody", "else") == []


async def test_a_slug_may_hold_a_colon(bound: WorkerEnv) -> None:
    await written(a_record("ada:1/box/x"))

    assert await found("notes") == ["ada:1/box/x"]


async def test_a_heap_of_copies_hides_neither_the_first_nor_the_latest(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity_store, "_MOST_OF_A_MARK", 3)
    await written(*(a_record(f"a{9 - number}/box/x", hours=number) for number in range(9)))

    assert await found("notes") == ["a9/box/x", "a8/box/x", "a7/box/x",
                                    "a3/box/x", "a2/box/x", "a1/box/x"]  # fmt: skip


async def test_only_what_shares_a_mark_is_read(probed: ProbingEngine) -> None:
    await written(*(a_record(f"ada/box/s{n}", subject=f"s{n}x") for n in range(30)))
    await written(a_record("ada/box/notes"), a_record("ben/box/notes"))
    probed.kv.read.clear()

    await found("notes")

    assert sorted(probed.kv.read) == ["likeness:ada/box/notes", "likeness:ben/box/notes"]
    assert probed.kv.most_at_once == 2


async def test_a_record_that_cannot_be_read_is_no_empty_answer(probed: ProbingEngine) -> None:
    await written(a_record("ada/box/notes"), a_record("ben/box/notes"))
    probed.kv.fails = lambda key: EngineError("disk") if "ben" in key else None

    with pytest.raises(EngineError, match="disk"):
        await found("notes")


async def test_marks_that_cannot_be_listed_are_no_empty_answer(
    probed: ProbingEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_words: object, **_options: object) -> None:
        raise EngineError("disk")

    monkeypatch.setattr(probed.kv, "find_marked", fail)

    with pytest.raises(EngineError, match="disk"):
        await found("notes")


async def test_a_malformed_record_is_no_empty_answer(bound: WorkerEnv) -> None:
    await written(a_record("ada/box/notes"))
    marks = text_marks(sketch_words(a_text("notes")))
    await bound.engine.commit([Put("likeness:ada/box/notes", b"{}", marks=marks)])

    with pytest.raises(RecordMalformed):
        await found("notes")
