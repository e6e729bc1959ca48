"""Reading files from the archive of a published version."""

from pathlib import Path

import pytest

from tests.unit.web.pages_cast import FILES, put_skill
from vskill_platform.engines.operations import Delete
from vskill_platform.errors import NotFound
from vskill_platform.publish.versions.version_files import read_file, read_files, text_of
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.skill_store import get_latest_version


async def test_files_are_read_as_they_were_published(bound: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(bound, tmp_path)
    version = await get_latest_version("ada/notes/tidy")
    assert version

    files = await read_files(version, ["scripts/run.py", "missing.py", "../x", "scripts/run.py"])
    again = await read_file(version, "scripts/run.py")

    assert files == {"scripts/run.py": FILES["scripts/run.py"].encode()}
    assert again == files["scripts/run.py"]


async def test_a_file_missing_from_the_version_is_not_found(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path)
    version = await get_latest_version("ada/notes/tidy")
    assert version

    with pytest.raises(NotFound, match=r"has no file '\.\./SKILL\.md'"):
        await read_file(version, "../SKILL.md")


async def test_a_missing_archive_is_reported(bound: WorkerEnv, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {**FILES, "only-here.txt": str(tmp_path)}
    await put_skill(bound, tmp_path, files=files)
    version = await get_latest_version("ada/notes/tidy")
    assert version
    await bound.engine.commit([Delete(f"blob:{version.archive_sha256}")])

    with pytest.raises(NotFound, match="is no longer stored"):
        await read_file(version, "only-here.txt")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        ("\ufeffmarked".encode(), "marked"),
        ("wide".encode("utf-16"), "wide"),
        (b"a\0b", None),
        (b"\xff\xff", None),
        (b"\xff\xfea", "\ufffd\ufffda"),
    ],
    ids=["plain", "marked", "utf-16", "null", "broken", "a mark alone"],
)
def test_text_is_distinguished_from_binary_data(raw: bytes, text: str | None) -> None:
    assert text_of(raw) == text
