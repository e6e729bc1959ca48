"""Records and their feed, driven at random, match a plain Python model."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from tests.contracts.asking import GUARD_SECONDS, list_all
from tests.contracts.kv_model import RecordsModel
from tests.contracts.machine import EngineMachine, steps_for
from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Put
from vskill_platform.engines.ports import Engine, Entry, RecordChange
from vskill_platform.errors import FeedTrimmed

KEYS = ["a", "a%", "a:1", "a:2", "a_", "b", "é", "a\ud7ff", "a\U0010ffff", "\U0010ffffz"]
WORDS = ["w", "x", "é"]
PREFIXES = ["", "a", "a:", "a%", "a_", "a\ud7ff", "a\U0010ffff", "\U0010ffff", "z"]

keys = st.sampled_from(KEYS)
prefixes = st.sampled_from(PREFIXES)
limits = st.integers(1, 5)
#: Seconds from now: in the past, at this moment, soon.
offsets = st.integers(-5, 10).map(lambda seconds: timedelta(seconds=seconds))
dues = st.none() | st.just(NEVER) | offsets
expiries = st.none() | offsets
#: What the commit expects: nothing, no record, what is there, or what never was.
expectations = st.sampled_from(["any", "absent", "current", "wrong"])
words = st.sampled_from(WORDS)
marks = st.lists(words, max_size=3).map(tuple)
writes = st.tuples(
    keys, st.binary(max_size=3), expectations, dues, expiries, marks, st.integers(-2, 2)
)
deletes = st.tuples(keys, expectations)

Write = tuple[str, bytes, str, timedelta | None, timedelta | None, tuple[str, ...], int]


class RecordsMachine(EngineMachine):
    def __init__(self) -> None:
        super().__init__()
        self.model = RecordsModel()

    @rule(steps=st.lists(writes | deletes, min_size=1, max_size=4))
    def commit(self, steps: list[Write | tuple[str, str]]) -> None:
        operations = [self._operation(step) for step in steps]
        applies = self.model.would_apply(operations, self.now)

        revision = self.run(self.engine.commit(operations))

        assert (revision is not None) == applies
        if revision is not None:
            self.model.commit(operations, revision, self.now)

    @rule(seconds=st.integers(1, 6))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @rule(age=st.integers(0, 10))
    def prune(self, age: int) -> None:
        expired = self.model.expired(self.now)
        deleted_before = self.now - timedelta(seconds=age)

        pruned = self.run(self.engine.prune(deleted_before=deleted_before))

        revision = self.run(self.engine.revision())
        self.model.commit([Delete(key) for key in expired], revision, self.now)
        assert pruned == len(expired) + self.model.trim(deleted_before)

    @rule(prefix=prefixes, limit=limits)
    def list_forwards_and_backwards(self, prefix: str, limit: int) -> None:
        forwards = self.run(list_all(self.engine, prefix, limit=limit))
        backwards = self.run(list_all(self.engine, prefix, limit=limit, newest_first=True))

        assert forwards == self.model.list_keys(prefix, self.now)
        assert backwards == forwards[::-1]

    @rule(prefix=prefixes, limit=limits, offset=offsets)
    def list_what_is_due(self, prefix: str, limit: int, offset: timedelta) -> None:
        due_before = self.now + offset

        listed = self.run(list_all(self.engine, prefix, limit=limit, due_before=due_before))

        assert listed == self.model.list_due(prefix, self.now, due_before)

    @rule(word=words, limit=limits, last_first=st.booleans())
    def find_by_a_mark(self, word: str, limit: int, *, last_first: bool) -> None:
        ranks = {key: rank for rank, key in self.model.find_marked(word, self.now)}

        all_found = self.run(found_under(self.engine, word, 1000, last_first=last_first))
        some = self.run(found_under(self.engine, word, limit, last_first=last_first))

        assert sorted(all_found) == sorted(ranks)
        assert [ranks[key] for key in all_found] == sorted(ranks.values(), reverse=last_first)
        assert some == all_found[:limit]

    @rule(back=st.integers(0, 10))
    def follow_the_changes(self, back: int) -> None:
        after = max(0, self.run(self.engine.revision()) - back)
        if after < self.model.trimmed_through:
            with pytest.raises(FeedTrimmed):
                self.run(first_changes(self.engine, after, 1))
        else:
            expected = self.model.changes(after)
            assert self.run(first_changes(self.engine, after, len(expected))) == expected

    @invariant()
    def every_record_is_as_the_model_says(self) -> None:
        entries = self.run(get_all(self.engine, KEYS))

        records = [self.model.get(key, self.now) for key in KEYS]
        assert entries == [record and Entry(record.value, record.revision) for record in records]

    def _operation(self, step: Write | tuple[str, str]) -> Put | Delete:
        match step:
            case (key, value, expectation, due, expiry, marks, rank):
                return Put(
                    key,
                    value,
                    self._expected(key, expectation),
                    self.now + due if isinstance(due, timedelta) else due,
                    self.now + expiry if expiry is not None else None,
                    marks,
                    rank,
                )
            case (key, expectation):
                return Delete(key, self._expected(key, expectation))

    def _expected(self, key: str, expectation: str) -> int | None:
        current = self.model.revision_of(key, self.now)
        return {"any": None, "absent": ABSENT, "current": current, "wrong": current + 10**6}[
            expectation
        ]


async def get_all(engine: Engine, wanted: list[str]) -> list[Entry | None]:
    return list(await asyncio.gather(*(engine.kv.get(key) for key in wanted)))


async def found_under(engine: Engine, word: str, limit: int, *, last_first: bool) -> list[str]:
    (keys,) = await engine.kv.find_marked([word], limit=limit, last_first=last_first)
    return keys


async def first_changes(engine: Engine, after: int, count: int) -> list[RecordChange]:
    feed = engine.changes(after=after)
    async with asyncio.timeout(GUARD_SECONDS):
        return [await anext(feed) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.hypothesis
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_records_and_their_feed_do_what_the_model_says(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RecordsMachine, "kind", kind)

    run_state_machine_as_test(RecordsMachine, settings=steps_for(kind))
