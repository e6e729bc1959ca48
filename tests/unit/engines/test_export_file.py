"""A backup of PostgreSQL as a file: whatever is damaged in it, it is refused with an error."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.contents import fill
from vskill_platform.engines.export_file import inspect_export, write_export
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.errors import VskillError


class Backup(msgspec.Struct):
    path: Path
    content: bytes

    def is_accepted(self, content: bytes) -> bool:
        """Return whether the backup is accepted with other content."""
        self.path.write_bytes(content)
        try:
            inspect_export(self.path)
        except VskillError:
            return False
        return True


@pytest.fixture
async def backup(tmp_path: Path, clock: ManualClock) -> Backup:
    path = tmp_path / "skills.backup"
    engine = await open_engine(f"sqlite:///{tmp_path}/skills.db", clock=clock)
    await fill(engine)
    async with engine.export() as export:
        await write_export(export, path, replace=False)
    await engine.close()
    return Backup(path, await asyncio.to_thread(path.read_bytes))


async def test_no_changed_byte_is_overlooked(backup: Backup) -> None:
    whole = backup.content

    accepted = [
        (place, bit)
        for place in range(len(whole))
        for bit in (0, 5, 7)
        if backup.is_accepted(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
    ]

    assert backup.is_accepted(whole)
    assert accepted == []


async def test_no_missing_or_added_byte_is_overlooked(backup: Backup) -> None:
    whole = backup.content

    cut = [length for length in range(len(whole)) if backup.is_accepted(whole[:length])]

    assert cut == []
    assert not backup.is_accepted(whole + b"\0")


async def test_a_backup_without_a_digest_of_the_whole_file_is_still_read(backup: Backup) -> None:
    content, start, foot = backup.content.rpartition(b'{"items"')
    known = msgspec.json.decode(start + foot)
    del known["before"]
    old = msgspec.json.encode(known)

    assert backup.is_accepted(content[:-4] + len(old).to_bytes(4, "big") + old)
