"""Other programs see the locks of this process for as long as it uses a file."""

import os
from pathlib import Path

from tests.unit.engines.sqlite.held_locks import held_locks
from vskill_platform.catalogue.index_connections import open_connections
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put


async def test_a_second_engine_on_the_file_takes_no_lock_from_the_first(
    path: Path, url: str
) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("a", b"")])
    alone = held_locks(path, os.getpid())

    second = await open_engine(url)
    both = held_locks(path, os.getpid())
    await second.close()
    afterwards = held_locks(path, os.getpid())
    await engine.close()

    assert alone
    assert both == afterwards == alone


async def test_opening_the_search_index_again_takes_no_lock_from_it(tmp_path: Path) -> None:
    path = tmp_path / "index"
    first = await open_connections(path)
    alone = held_locks(path, os.getpid())

    second = await open_connections(path)
    both = held_locks(path, os.getpid())
    first.close()
    second.close()

    assert alone
    assert both == alone


async def test_a_new_file_can_be_read_by_its_owner_alone(path: Path, url: str) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("a", b"")])

    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.glob("skills.db*")}
    await engine.close()

    assert modes == {"skills.db": 0o600, "skills.db-wal": 0o600, "skills.db-shm": 0o600}
