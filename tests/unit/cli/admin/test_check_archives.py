"""Archives in the database are a part of backups and copies; others must be in their store."""

import asyncio
import hashlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from vskill_platform.cli.admin.backup import backup, restore
from vskill_platform.cli.admin.copy import copy
from vskill_platform.engines.blobs.sweep import sweep_blobs
from vskill_platform.errors import EngineError
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.open_env import open_worker_env
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings
from vskill_platform.stores.blob_store import INLINE_BYTES, get_archive_at, keep, put_kept
from vskill_platform.stores.db import commit, get_now

LARGE = bytes(INLINE_BYTES + 1)
SHA256 = hashlib.sha256(LARGE).hexdigest()
KEY = f"blob:{SHA256}"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "skills.db"
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{path}")
    return path


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "blobs").mkdir()
    monkeypatch.setenv("VSKILL_BLOBS_URL", f"file://{tmp_path}/blobs")
    return tmp_path / "blobs"


def test_archives_in_the_database_are_in_its_backup_and_copy(
    database: Path, tmp_path: Path
) -> None:
    _publish(Settings(database_url=f"sqlite:///{database}"))

    _run(backup, tmp_path / "backup.db")
    _run(copy, "--from", f"sqlite:///{database}", "--to", f"sqlite:///{tmp_path}/copy.db")
    database.unlink()
    _run(restore, tmp_path / "backup.db", "--yes")

    for name in ("copy.db", "skills.db"):
        assert _read_after_sweep(Settings(database_url=f"sqlite:///{tmp_path / name}")) == LARGE


def test_a_backup_says_how_many_archives_are_in_the_store(
    database: Path, store: Path, tmp_path: Path
) -> None:
    _publish(Settings(database_url=f"sqlite:///{database}", blobs_url=f"file://{store}"))

    output = _run(backup, tmp_path / "backup.db")

    assert "1 archive in the store of VSKILL_BLOBS_URL, none missing." in output


@pytest.mark.parametrize("damage", ["missing", "cut off"])
@pytest.mark.parametrize("command", ["backup", "restore", "copy"])
def test_a_missing_archive_fails_the_command_after_its_work(
    database: Path, store: Path, tmp_path: Path, command: str, damage: str
) -> None:
    _publish(Settings(database_url=f"sqlite:///{database}", blobs_url=f"file://{store}"))
    _run(backup, tmp_path / "backup.db")
    (file,) = store.glob("*/*")
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(b"cut off")

    run, left = {
        "backup": ((backup, tmp_path / "second.db"), "second.db"),
        "restore": ((restore, tmp_path / "backup.db", "--yes"), "skills.db"),
        "copy": ((copy, "--from", f"sqlite:///{database}", "--to", f"sqlite:///{tmp_path}/c"), "c"),
    }[command]

    with pytest.raises(EngineError, match=f"archives are missing.*1 of 1: {KEY}"):
        _run(*run)

    assert (tmp_path / left).exists()


def _run(command: object, *arguments: object) -> str:
    done = CliRunner().invoke(command, [str(each) for each in arguments])  # type: ignore[arg-type]  # a command
    if done.exception:
        raise done.exception
    return done.output


def _publish(settings: Settings) -> None:
    async def work() -> None:
        assert await commit(put_kept(KEY, await keep(SHA256, LARGE), SHA256))

    async def run() -> None:
        async with open_worker_env(settings) as env:
            await run_with_worker_env(env, work)

    asyncio.run(run())


def _read_after_sweep(settings: Settings) -> bytes | None:
    async def work(env: WorkerEnv) -> bytes | None:
        await sweep_blobs(env.engine, stored_before=get_now().replace(year=2100))
        return await get_archive_at(KEY, SHA256)

    async def run() -> bytes | None:
        async with open_worker_env(settings) as env:
            return await run_with_worker_env(env, lambda: work(env))

    return asyncio.run(run())
