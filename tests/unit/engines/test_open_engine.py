"""From a URL to an engine, and what is said when there is none to open."""

import os
from pathlib import Path

import pytest

from tests.contracts.asking import value_of
from tests.unit.engines.sqlite.faulty_disk import faulty_disk
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Put
from vskill_platform.errors import ConfigError, EngineError


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("url", ["mysql://localhost/skills", "skills.db", "", "sqlite:skills.db"])
async def test_a_url_without_an_engine_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ConfigError, match=r"sqlite:///skills\.db"):
        await open_engine(url)


async def test_a_relative_path_is_relative_to_where_we_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    await (await open_engine("sqlite:///skills.db")).close()

    assert (tmp_path / "skills.db").exists()


async def test_a_path_may_hold_what_a_url_would_escape(tmp_path: Path) -> None:
    engine = await open_engine(f"sqlite:///{tmp_path}/my skills?mode=ro&é%20#1.db")

    await engine.close()

    assert (tmp_path / "my skills?mode=ro&é%20#1.db").exists()


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"folder .*/nowhere does not exist"):
        await open_engine(f"sqlite:///{tmp_path}/nowhere/skills.db")

    assert names_in(tmp_path) == []


async def test_without_create_a_missing_file_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no database yet"):
        await open_engine(f"sqlite:///{tmp_path}/skills.db", create=False)

    assert names_in(tmp_path) == []


async def test_without_create_a_file_that_is_there_is_opened(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/skills.db"
    engine = await open_engine(url)
    await engine.commit([Put("sub:1", b"one")])
    await engine.close()

    again = await open_engine(url, create=False)

    assert await value_of(again, "sub:1") == b"one"
    await again.close()


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be opened"):
        await open_engine(f"sqlite:///{tmp_path}")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write to")
async def test_a_folder_nobody_can_write_to_is_told() -> None:
    with pytest.raises(EngineError, match="cannot be opened; check that its folder"):
        await open_engine("sqlite:////proc/skills.db")


async def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/skills.db"
    with faulty_disk() as disk:
        await (await open_engine(url)).close()
        disk.is_read_only = True

        with pytest.raises(EngineError, match="cannot be written; check its owner"):
            await open_engine(url)


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not stop root")
async def test_a_file_of_somebody_else_is_told(tmp_path: Path) -> None:
    path = tmp_path / "skills.db"
    await (await open_engine(f"sqlite:///{path}")).close()
    path.chmod(0o444)

    with pytest.raises(EngineError, match="cannot be written; check its owner"):
        await open_engine(f"sqlite:///{path}")
