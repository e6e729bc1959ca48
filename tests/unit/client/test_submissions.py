import io
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.casts import a_skill_folder
from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.client.registry import Registry
from vskill_platform.client.submissions import follow, pack_folder, read_archive, upload
from vskill_platform.errors import InvalidInput, SourceRefused
from vskill_platform.fetch.snapshot import take_snapshot


def states(*names: str) -> list[Reply]:
    return [
        Reply(body=msgspec.json.encode({"id": "sub_1", "state": name, "reason": ""}))
        for name in names
    ]


def test_a_folder_is_packed_with_its_name_and_modes(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, "tidy", run_dot_sh="echo\n")
    (folder / "run.sh").chmod(0o755)

    packed = pack_folder(folder, tmp_path / "copy")

    with tarfile.open(fileobj=io.BytesIO(packed.content)) as archive:
        found = {member.name: member.mode for member in archive.getmembers()}
    assert found == {"tidy/SKILL.md": 0o644, "tidy/run.sh": 0o755}
    assert packed.filename == "tidy.tar.gz"
    assert [file.path for file in packed.files] == ["SKILL.md", "run.sh"]


def test_the_digest_is_the_one_that_a_registry_computes(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, "tidy")

    packed = pack_folder(folder, tmp_path / "copy")

    assert packed.digest == take_snapshot(folder, tmp_path / "other", folder_name="tidy").digest


def test_files_of_tools_are_left_out_and_named(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, "tidy")
    for name in (".git", "node_modules", "scripts/__pycache__"):
        (folder / name).mkdir(parents=True)
    (folder / ".git/config").write_text("x")
    (folder / "node_modules/link").symlink_to("/etc")
    (folder / "scripts/a.pyc").write_text("x")
    (folder / "scripts/a.py").write_text("x")

    packed = pack_folder(folder, tmp_path / "copy")

    assert [file.path for file in packed.files] == ["SKILL.md", "scripts/a.py"]
    assert packed.left_out == (".git/", "node_modules/", "scripts/__pycache__/", "scripts/a.pyc")


def test_a_link_is_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, "tidy")
    (folder / "secrets").symlink_to("/etc/passwd")

    with pytest.raises(SourceRefused, match="secrets is a symbolic link"):
        pack_folder(folder, tmp_path / "copy")


def test_another_file_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")

    with pytest.raises(InvalidInput, match="neither a folder nor an archive"):
        read_archive(tmp_path / "a.txt")


def test_only_what_was_chosen_is_sent(server: ScriptedServer, tmp_path: Path) -> None:
    packed = pack_folder(a_skill_folder(tmp_path, "tidy"), tmp_path / "copy")

    with Registry(server.url, "vsk_1") as registry:
        upload(registry, packed, is_private=True)
        upload(registry, packed, namespace="@team")

    private, shared = (seen.body for seen in server.seen)
    assert b'name="privacy"\r\n\r\nprivate' in private
    assert b'name="namespace"' not in private
    assert b'name="namespace"\r\n\r\n@team' in shared
    assert b'name="privacy"' not in shared


def test_an_upload_that_broke_off_is_sent_again(server: ScriptedServer, tmp_path: Path) -> None:
    packed = pack_folder(a_skill_folder(tmp_path, "tidy"), tmp_path / "copy")
    server.replies = [Reply(502, b""), Reply(body=b'{"count": 1}')]

    with Registry(server.url, "vsk_1", sleep=lambda _: None) as registry:
        answer = upload(registry, packed)

    assert answer == {"count": 1}
    assert server.seen[0].body == server.seen[1].body


@pytest.mark.parametrize(
    ("last", "through_review", "seen"),
    [
        ("PUBLISHED", False, ["RECEIVED", "TIER1_SCANNING", "PUBLISHED"]),
        ("REJECTED", False, ["RECEIVED", "TIER1_SCANNING", "REJECTED"]),
        ("NEEDS_REVIEW", False, ["RECEIVED", "TIER1_SCANNING", "NEEDS_REVIEW"]),
        ("PUBLISHED", True, ["RECEIVED", "TIER1_SCANNING", "NEEDS_REVIEW", "PUBLISHED"]),
    ],
)
def test_a_submission_is_followed_to_its_end(
    server: ScriptedServer, last: str, through_review: bool, seen: list[str]
) -> None:
    review = ["NEEDS_REVIEW"] if through_review else []
    server.replies = states("RECEIVED", "RECEIVED", "TIER1_SCANNING", *review, last, "NEVER")
    waits: list[float] = []

    with Registry(server.url) as registry:
        found: list[Any] = list(
            follow(registry, "sub_1", through_review=through_review, sleep=waits.append)
        )

    assert [one["state"] for one in found] == seen
    assert all(0 < wait <= 2 for wait in waits)
