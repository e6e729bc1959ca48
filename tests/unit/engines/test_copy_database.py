"""A registry is copied between engines: complete, verified, and continued after a kill."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.clocks import ManualClock
from tests.contents import export_all, fill, tally_of
from tests.contracts.machine import a_database
from tests.postgres import an_empty_schema, drop_schema
from tests.probes import ProbingEngine
from vskill_platform.engines.copy_database import UNFINISHED, Copied, copy_export
from vskill_platform.engines.export_file import ExportFile
from vskill_platform.engines.exported import StoredItem, StoredRecord
from vskill_platform.engines.open_engine import (
    back_up_database,
    copy_database,
    inspect_backup,
    open_engine,
    restore_database,
)
from vskill_platform.engines.operations import Put, Send
from vskill_platform.engines.ports import Engine
from vskill_platform.engines.postgres.replace_schema import begin_schema, set_aside
from vskill_platform.errors import ConfigError, EngineError
from vskill_platform.runtime.open_env import open_reading_env, open_worker_env
from vskill_platform.settings import Settings


class _Stopped(Exception):
    pass


class StoppingEngine(ProbingEngine):
    """Fails after a number of loads, as if the process was killed."""

    loads_left = 2

    async def load(self, items: Sequence[StoredItem]) -> None:
        if not self.loads_left:
            raise _Stopped
        self.loads_left -= 1
        await super().load(items)


@pytest.fixture
async def target_url() -> AsyncIterator[str]:
    async with a_database("postgres") as url:
        yield url


@asynccontextmanager
async def an_engine(url: str, clock: ManualClock) -> AsyncIterator[Engine]:
    engine = await open_engine(url, clock=clock)
    try:
        yield engine
    finally:
        await engine.close()


async def copy(source: Engine, target: Engine) -> Copied:
    async with source.export() as export:
        return await copy_export(export, target, on_progress=lambda _done, _total: None)


async def test_a_registry_moves_to_postgres_and_back(
    engine: Engine, engine_url: str, target_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    await fill(engine)
    back = f"sqlite:///{tmp_path}/back.db"
    seen: list[tuple[int, int]] = []

    there = await copy_database(engine_url, target_url, on_progress=lambda *at: seen.append(at))
    again = await copy_database(target_url, back, on_progress=lambda *_: None)

    assert there == again
    assert (there.records, there.messages, there.dead_letters) == (5, 7, 1)
    assert seen[-1] == (13, 13)
    async with an_engine(back, clock) as last:
        assert await export_all(last) == await export_all(engine)
        assert await last.history_id() != await engine.history_id()


async def test_an_interrupted_copy_goes_on_where_it_stopped(
    engine: Engine, target_url: str, clock: ManualClock
) -> None:
    await engine.commit([Put(f"k{n:04}", b"") for n in range(1200)])
    await engine.commit([Send(b"message")])
    async with an_engine(target_url, clock) as target:
        with pytest.raises(_Stopped):
            await copy(engine, StoppingEngine(target))
        first = await target.kv.get("k0000")

        await copy(engine, target)

        assert (await tally_of(target)).digest == (await tally_of(engine)).digest
        assert first is not None
        assert await target.kv.get("k0000") == first  # not written a second time
        assert await target.kv.get(UNFINISHED) is None


async def test_a_copy_interrupted_among_the_messages_has_none_twice(
    engine: Engine, target_url: str, clock: ManualClock
) -> None:
    await fill(engine)
    async with an_engine(target_url, clock) as target:
        stopping = StoppingEngine(target)
        stopping.loads_left = 3  # the mark, the records and the messages
        with pytest.raises(_Stopped):
            await copy(engine, stopping)

        await copy(engine, target)

        assert await export_all(target) == await export_all(engine)


async def test_a_copy_of_a_source_that_was_written_meanwhile_begins_again(
    engine: Engine, target_url: str, clock: ManualClock
) -> None:
    await engine.commit([Put(f"k{n:04}", b"") for n in range(1200)])
    async with an_engine(target_url, clock) as target:
        with pytest.raises(_Stopped):
            await copy(engine, StoppingEngine(target))
        await engine.commit([Put("k0000", b"other"), Put("z", b"new")])

        await copy(engine, target)

        assert await export_all(target) == await export_all(engine)


async def test_a_database_with_records_is_never_overwritten(
    engine: Engine, target_url: str, clock: ManualClock
) -> None:
    await fill(engine)
    async with an_engine(target_url, clock) as target:
        await target.commit([Put("mine", b"")])

        with pytest.raises(ConfigError, match="already has 1 records"):
            await copy(engine, target)

        assert await export_all(target) == [StoredRecord("mine", b"")]


async def test_a_copy_onto_itself_or_of_another_source_is_refused(
    engine: Engine, target_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="the same database"):
        await copy(engine, engine)
    await engine.commit([Put(f"k{n:04}", b"") for n in range(1200)])
    async with (
        an_engine(target_url, clock) as target,
        an_engine(f"sqlite:///{tmp_path}/another.db", clock) as another,
    ):
        with pytest.raises(_Stopped):
            await copy(engine, StoppingEngine(target))

        with pytest.raises(ConfigError, match="unfinished copy of another database"):
            await copy(another, target)


async def test_a_copy_that_differs_is_refused_and_can_be_repeated(
    engine: Engine, target_url: str, clock: ManualClock
) -> None:
    await fill(engine)

    class Meddling(ProbingEngine):
        async def load(self, items: Sequence[StoredItem]) -> None:
            await super().load(items)
            await self.commit([Put("intruder", b"")])

    async with an_engine(target_url, clock) as target:
        with pytest.raises(EngineError, match="something else has written"):
            await copy(engine, Meddling(target))

        await copy(engine, target)

        assert await export_all(target) == await export_all(engine)


async def test_nothing_runs_on_an_unfinished_copy(
    engine: Engine, target_url: str, clock: ManualClock
) -> None:
    await fill(engine)
    async with an_engine(target_url, clock) as target:
        with pytest.raises(_Stopped):
            await copy(engine, StoppingEngine(target))
    settings = Settings(database_url=target_url)

    for opened in (open_worker_env(settings), open_reading_env(settings)):
        with pytest.raises(ConfigError, match="unfinished copy"):
            await opened.__aenter__()


@pytest.fixture
async def filled_url(clock: ManualClock) -> AsyncIterator[str]:
    """A registry on PostgreSQL with one of everything, in a schema that may be renamed."""
    async with an_empty_schema() as url:
        async with an_engine(url, clock) as engine:
            await fill(engine)
        yield url


async def _restore(url: str, file: Path) -> Path | str | None:
    return await asyncio.to_thread(
        lambda: restore_database(url, file, on_progress=lambda _done, _total: None)
    )


async def test_a_backup_of_postgres_is_restored_and_the_old_registry_kept(
    filled_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    file = tmp_path / "skills.backup"
    contents = await asyncio.to_thread(back_up_database, filled_url, file, replace=False)
    async with an_engine(filled_url, clock) as engine:
        before, history = await export_all(engine), await engine.history_id()
        await engine.commit([Put("later", b"")])

    kept = await _restore(filled_url, file)

    assert file.stat().st_mode & 0o777 == 0o600
    assert contents == inspect_backup(file)
    assert (contents.records, contents.messages) == ({"(other)": 1, "sub": 4}, 7)
    async with an_engine(filled_url, clock) as engine:
        assert await export_all(engine) == before
        assert await engine.history_id() != history
    async with an_engine(_with_schema(filled_url, str(kept)), clock) as old:
        assert await old.kv.get("later") is not None
    await drop_schema(str(kept))


async def test_after_the_old_registry_is_set_aside_nothing_creates_an_empty_one(
    filled_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    file = tmp_path / "skills.backup"
    await asyncio.to_thread(back_up_database, filled_url, file, replace=False)
    async with an_engine(filled_url, clock) as engine:
        before = await export_all(engine)

    kept = await set_aside(
        filled_url, await asyncio.to_thread(ExportFile, file)
    )  # then it is killed
    with pytest.raises(ConfigError, match="unfinished copy"):
        await open_worker_env(Settings(database_url=filled_url)).__aenter__()
    again = await _restore(filled_url, file)

    assert kept
    assert again is None
    async with an_engine(filled_url, clock) as engine:
        assert await export_all(engine) == before
    await drop_schema(kept)


@pytest.mark.parametrize("is_restore", [True, False])
async def test_a_copy_that_is_killed_at_its_start_is_no_empty_registry(
    filled_url: str, clock: ManualClock, tmp_path: Path, is_restore: bool
) -> None:
    file = tmp_path / "skills.backup"
    await asyncio.to_thread(back_up_database, filled_url, file, replace=False)
    async with an_engine(filled_url, clock) as engine:
        before = await export_all(engine)

    begin = set_aside if is_restore else begin_schema
    async with an_empty_schema() as target_url:
        await begin(target_url, await asyncio.to_thread(ExportFile, file))  # then it is killed
        with pytest.raises(ConfigError, match="unfinished copy"):
            await open_worker_env(Settings(database_url=target_url)).__aenter__()
        if is_restore:
            await _restore(target_url, file)
        else:
            await copy_database(f"file://{file}", target_url, on_progress=lambda *_: None)

        async with an_engine(target_url, clock) as engine:
            assert await export_all(engine) == before


async def test_a_registry_that_runs_is_not_replaced(
    filled_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    file = tmp_path / "skills.backup"
    await asyncio.to_thread(back_up_database, filled_url, file, replace=False)

    async with an_engine(filled_url, clock) as engine:
        await engine.kv.get("sub:1")  # an engine that was only opened may have no connection yet
        with pytest.raises(EngineError, match="connections of the platform are open"):
            await _restore(filled_url, file)

        assert await engine.kv.get("sub:1") is not None


@pytest.mark.parametrize("damage", ["cut", "changed"])
async def test_a_damaged_backup_is_refused_before_anything_is_changed(
    filled_url: str, clock: ManualClock, tmp_path: Path, damage: str
) -> None:
    file = tmp_path / "skills.backup"
    await asyncio.to_thread(back_up_database, filled_url, file, replace=False)
    content = file.read_bytes()
    changed = content.replace(b"undated", b"Undated")
    file.write_bytes(content[:-20] if damage == "cut" else changed)

    with pytest.raises(EngineError, match="damaged"):
        await _restore(filled_url, file)

    async with an_engine(filled_url, clock) as engine:
        assert await engine.kv.get("sub:1") is not None


async def test_a_backup_of_postgres_moves_to_a_file(
    filled_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    file = tmp_path / "skills.backup"
    await asyncio.to_thread(back_up_database, filled_url, file, replace=False)

    await copy_database(
        f"file://{file}", f"sqlite:///{tmp_path}/new.db", on_progress=lambda *_: None
    )

    async with (
        an_engine(f"sqlite:///{tmp_path}/new.db", clock) as new,
        an_engine(filled_url, clock) as old,
    ):
        assert await export_all(new) == await export_all(old)
    with pytest.raises(ConfigError, match="admin copy --from file:///"):
        await _restore(f"sqlite:///{tmp_path}/new.db", file)


async def test_a_damaged_backup_is_not_copied(
    engine: Engine, engine_url: str, tmp_path: Path
) -> None:
    await fill(engine)
    file = tmp_path / "skills.backup"
    await asyncio.to_thread(back_up_database, engine_url, file, replace=False)
    content = file.read_bytes()
    at = content.rindex(b"sub:1")  # a changed value leaves the structure as it was
    file.write_bytes(content[:at] + b"S" + content[at + 1 :])

    with pytest.raises(EngineError, match="its digest differs"):
        await copy_database(
            f"sqlite:///{file}", f"sqlite:///{tmp_path}/new.db", on_progress=lambda *_: None
        )

    assert not (tmp_path / "new.db").exists()


async def test_a_backup_that_is_used_as_the_database_is_copied(
    engine: Engine, engine_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    await fill(engine)
    used = f"sqlite:///{tmp_path}/used.db"
    await asyncio.to_thread(back_up_database, engine_url, tmp_path / "used.db", replace=False)
    async with an_engine(used, clock) as database:
        await database.commit([Put("sub:1", b"changed")])

        await copy_database(used, f"sqlite:///{tmp_path}/new.db", on_progress=lambda *_: None)

    async with an_engine(f"sqlite:///{tmp_path}/new.db", clock) as new:
        found = await new.kv.get("sub:1")
    assert found is not None
    assert found.value == b"changed"


def _with_schema(url: str, schema: str) -> str:
    return f"{url.partition('schema=')[0]}schema={schema}"
