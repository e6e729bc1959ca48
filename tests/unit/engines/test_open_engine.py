"""Opening an engine by its URL, and the errors if that is not possible."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contracts.asking import value_of
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put
from vskill_platform.errors import ConfigError, EngineError, VskillError

NOBODY = 65534


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@contextmanager
def stopped_by_permissions(path: Path, folder_mode: int, file_mode: int) -> Iterator[None]:
    """Drop root's privileges temporarily, so that file permissions apply."""
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(path, NOBODY, NOBODY)
        os.chown(path.parent, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, 0)
    path.chmod(file_mode)
    path.parent.chmod(folder_mode)
    try:
        yield
    finally:
        path.parent.chmod(0o755)
        if is_root:
            os.setresuid(0, 0, 0)


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
async def test_a_folder_nobody_can_write_to_is_reported() -> None:
    with pytest.raises(EngineError, match="cannot be opened; check that its folder"):
        await open_engine("sqlite:////proc/skills.db")


@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "told"),
    [
        (0o755, 0o444, "the file cannot be written"),
        (0o755, 0o000, "the file cannot be written"),
        (0o555, 0o644, "the file or its folder cannot be written"),
    ],
    ids=["read-only file", "unreadable file", "read-only folder"],
)
async def test_missing_permissions_are_reported(
    folder_mode: int, file_mode: int, told: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "skills.db"
        await (await open_engine(f"sqlite:///{path}")).close()

        with (
            stopped_by_permissions(path, folder_mode, file_mode),
            pytest.raises(VskillError, match=told),
        ):
            await open_engine(f"sqlite:///{path}")
