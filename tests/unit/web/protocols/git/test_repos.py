"""The cache of repositories on disk."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.synced import watching_sync
from vskill_platform.settings import Settings
from vskill_platform.web.protocols.git.build_repo import INDEX, PACK, _rename
from vskill_platform.web.protocols.git.repos import _prune, _touch, cache_folder

LONG_AGO = 1_000_000_000


def a_repo(folder: Path, name: str, *, size: int, used: float) -> Path:
    repo = folder / name
    (repo / "objects/pack").mkdir(parents=True)
    (repo / "objects/pack/pack-1.pack").write_bytes(bytes(size))
    (repo / "objects/pack/pack-1.idx").touch()
    os.utime(repo, (used, used))
    return repo


def test_the_least_recently_used_repositories_are_removed(tmp_path: Path) -> None:
    newest = a_repo(tmp_path, "a-1", size=600, used=LONG_AGO + 3)
    recent = a_repo(tmp_path, "b-1", size=300, used=LONG_AGO + 2)
    oldest = a_repo(tmp_path, "c-1", size=300, used=LONG_AGO + 1)

    _prune(newest, 1000)

    assert newest.exists()
    assert recent.exists()
    assert not oldest.exists()


def test_older_states_of_the_same_repository_are_removed(tmp_path: Path) -> None:
    newest = a_repo(tmp_path, "a-2", size=1, used=LONG_AGO + 3)
    older = a_repo(tmp_path, "a-1", size=1, used=LONG_AGO)
    abandoned = a_repo(tmp_path, "new-x", size=1, used=LONG_AGO)

    _prune(newest, 1000)

    assert not older.exists()
    assert not abandoned.exists()


def test_a_repository_that_was_just_used_is_kept(tmp_path: Path) -> None:
    newest = a_repo(tmp_path, "a-2", size=600, used=LONG_AGO)
    in_use = a_repo(tmp_path, "a-1", size=600, used=LONG_AGO)
    os.utime(in_use)

    _prune(newest, 1000)

    assert in_use.exists()


def test_the_cache_is_next_to_the_database_or_private_to_the_process(tmp_path: Path) -> None:
    local = Settings(database_url=f"sqlite:///{tmp_path}/skills.db")
    remote = msgspec.structs.replace(local, database_url="postgresql://db.example/skills")

    assert cache_folder(local) == tmp_path / "skills.db.git-cache"
    assert cache_folder(remote).parent.stat().st_mode & 0o077 == 0


def test_a_repository_that_another_process_built_first_is_kept(tmp_path: Path) -> None:
    theirs = a_repo(tmp_path, "a-1", size=2, used=LONG_AGO)
    ours = a_repo(tmp_path, "new-x", size=1, used=LONG_AGO)

    is_first = _rename(ours, theirs)

    assert not is_first
    assert (theirs / PACK).stat().st_size == 2
    assert ours.exists()


@pytest.mark.parametrize("damage", [Path.unlink, lambda pack: os.truncate(pack, 0)])
def test_a_repository_without_its_pack_is_built_again(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    whole, damaged = (a_repo(tmp_path, name, size=1, used=LONG_AGO) for name in ("a-1", "b-1"))
    for repo in (whole, damaged):
        (repo / INDEX).write_bytes(b"index")
    damage(damaged / PACK)

    assert (_touch(whole), _touch(damaged), _touch(tmp_path / "c-1")) == (True, False, False)
    assert whole.stat().st_mtime > LONG_AGO
    assert not damaged.exists()


def test_a_repository_is_on_the_disk_before_it_gets_its_name(tmp_path: Path) -> None:
    made = a_repo(tmp_path, "new-x", size=1, used=LONG_AGO)

    with watching_sync() as synced:
        _rename(made, tmp_path / "a-1")

    assert synced.missing_in(tmp_path / "a-1") == []
