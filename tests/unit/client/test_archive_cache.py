"""Archives by digest: kept, checked, and replaced when they are damaged."""

import hashlib
import os
from pathlib import Path

import pytest

from vskill_platform.client.archive_cache import ArchiveCache, user_cache

CONTENT = b"an archive"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def load_once() -> bytes:
    return CONTENT


def never() -> bytes:
    raise AssertionError("it is in the cache")


def test_an_archive_is_loaded_once(tmp_path: Path) -> None:
    cache = ArchiveCache(tmp_path / "cache")
    with cache.opened(DIGEST, load_once) as first:
        assert first.read_bytes() == CONTENT

    with cache.opened(DIGEST, never) as second:
        assert second == first

    assert first.stat().st_mode & 0o777 == 0o600
    assert first.parent.stat().st_mode & 0o777 == 0o700


def test_a_damaged_archive_is_not_found(tmp_path: Path) -> None:
    cache = ArchiveCache(tmp_path)
    with cache.opened(DIGEST, load_once) as path:
        path.write_bytes(b"damaged")

    assert cache.find(DIGEST) is None
    assert not path.exists()


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")

    with ArchiveCache(tmp_path / "cache").opened(DIGEST, load_once) as path:
        assert path.read_bytes() == CONTENT

    assert not path.exists()


def test_archives_that_were_not_used_for_longest_make_room(tmp_path: Path) -> None:
    cache = ArchiveCache(tmp_path, max_bytes=25)
    contents = [b"first ....", b"second ...", b"third ...."]
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    for time, (digest, content) in enumerate(zip(digests, contents, strict=True)):
        with cache.opened(digest, lambda content=content: content) as path:  # type: ignore[misc]  # mypy cannot infer the lambda
            os.utime(path, (time, time))

    assert [cache.find(digest) is not None for digest in digests] == [False, True, True]


@pytest.mark.parametrize(
    ("value", "base"), [("/cache", Path("/cache")), ("relative", Path.home() / ".cache")]
)
def test_the_cache_is_where_the_user_keeps_caches(value: str, base: Path) -> None:
    cache = user_cache({"XDG_CACHE_HOME": value})

    assert cache._folder == base / "vskill-platform" / "archives"
