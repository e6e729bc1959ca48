"""The digest of a backup of SQLite: no changed byte of the file is overlooked."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.contents import export_all, fill
from vskill_platform.engines.open_engine import (
    back_up_database,
    has_digest,
    inspect_backup,
    open_engine,
    open_engine_to_read,
    restore_database,
)
from vskill_platform.engines.operations import Put
from vskill_platform.engines.ports import Engine
from vskill_platform.engines.sqlite.seal import _SIZE, check_seal
from vskill_platform.errors import EngineError, VskillError

_VALUE = b"what a value of a record says"


class Backup(msgspec.Struct):
    path: Path
    content: bytes

    def is_accepted(self, content: bytes) -> bool:
        """Return whether the backup is accepted with other content."""
        self.path.write_bytes(content)
        try:
            inspect_backup(self.path)
        except VskillError:
            return False
        return True

    def flipped(self, place: int, bit: int) -> bytes:
        changed = bytearray(self.content)
        changed[place] ^= 1 << bit
        return bytes(changed)

    @property
    def without_digest(self) -> bytes:
        """What a release that wrote no digest would have written."""
        return self.content[:-_SIZE]


@pytest.fixture
async def backup(engine: Engine, engine_url: str, tmp_path: Path) -> Backup:
    path = tmp_path / "copy.db"
    await fill(engine)
    await engine.commit([Put("sub:value", _VALUE)])
    await asyncio.to_thread(back_up_database, engine_url, path, replace=False)
    return Backup(path, await asyncio.to_thread(path.read_bytes))


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/restored.db"


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def _restore(url: str, file: Path) -> None:
    restore_database(url, file, on_progress=lambda _done, _total: None)


async def test_no_flipped_bit_is_overlooked(backup: Backup) -> None:
    whole, dice = backup.content, Random(1)
    value = whole.index(_VALUE)
    places = {
        *range(100),  # the head of the file
        *range(value, value + len(_VALUE)),
        *dice.sample(range(len(whole)), 250),
        *range(len(whole) - _SIZE, len(whole)),  # the digest itself
    }

    accepted = [
        (place, bit)
        for place in sorted(places)
        for bit in (0, 5, 7)
        if backup.is_accepted(backup.flipped(place, bit))
    ]

    assert backup.is_accepted(whole)
    assert accepted == []


async def test_no_missing_or_added_byte_is_overlooked(backup: Backup) -> None:
    whole = backup.content
    without = len(backup.without_digest)
    lengths = {*range(without - 600, len(whole)), *range(0, len(whole), 512)} - {0, without}

    cut = [length for length in sorted(lengths) if backup.is_accepted(whole[:length])]

    assert cut == []
    assert not backup.is_accepted(whole + b"\0")
    assert not backup.is_accepted(whole + whole[-_SIZE:])


async def test_a_damaged_value_is_refused_before_anything_is_replaced(
    backup: Backup, database_url: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(_restore, database_url, backup.path)
    before = _listed(tmp_path)
    backup.path.write_bytes(backup.content.replace(_VALUE, _VALUE.upper()))

    with pytest.raises(EngineError, match="its digest differs"):
        await asyncio.to_thread(_restore, database_url, backup.path)

    assert _listed(tmp_path) == before


async def test_a_file_that_ends_inside_a_page_is_no_old_backup(backup: Backup) -> None:
    """SQLite reads what is missing of the last page as zeros, which may be bytes of a value."""
    for missing in range(512, 4096, 512):
        backup.path.write_bytes(backup.without_digest[:-missing])
        with pytest.raises(EngineError, match="its digest differs"):
            check_seal(backup.path)


async def test_a_backup_without_a_digest_is_still_restored(
    backup: Backup, engine: Engine, database_url: str, clock: ManualClock
) -> None:
    assert has_digest(backup.path)
    backup.path.write_bytes(backup.without_digest)

    await asyncio.to_thread(_restore, database_url, backup.path)

    assert not has_digest(backup.path)
    restored = await open_engine(database_url, clock=clock)
    assert await export_all(restored) == await export_all(engine)
    await restored.close()


async def test_the_database_made_of_a_backup_has_no_digest_and_can_be_backed_up(
    backup: Backup, database_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    copied, again = tmp_path / "copied.db", tmp_path / "again.db"
    copied.write_bytes(backup.content)  # as an operator may do it
    await asyncio.to_thread(_restore, database_url, backup.path)

    for url in (database_url, f"sqlite:///{copied}"):
        engine = await open_engine(url, clock=clock)
        await engine.commit([Put("sub:new", bytes(10_000))])
        await engine.close()
        await asyncio.to_thread(back_up_database, url, again, replace=True)

        assert not has_digest(Path(url.removeprefix("sqlite:///")))
        assert has_digest(again)
        assert (await asyncio.to_thread(inspect_backup, again)).messages == 7


async def test_other_programs_and_commands_that_read_leave_a_backup_as_it_is(
    backup: Backup, engine: Engine, clock: ManualClock
) -> None:
    with closing(sqlite3.connect(backup.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    reading = await open_engine_to_read(f"sqlite:///{backup.path}", clock=clock)

    assert await export_all(reading) == await export_all(engine)

    await reading.close()
    assert backup.path.read_bytes() == backup.content
