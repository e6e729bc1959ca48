"""Parsing user input into a source: one canonical form, and a reason for each refusal."""

from pathlib import Path

import msgspec
import pytest

from tests.cases import all_cases
from tests.casts import a_skill_folder
from tests.repos import a_repo
from vskill_platform.errors import InvalidInput
from vskill_platform.intake.read_source import LocalFiles, read_remote_source, read_source
from vskill_platform.model.source import Source
from vskill_platform.settings import Settings

SETTINGS = Settings(default_host="git.example", private_hosts="http://127.0.0.1:8080")


def read(text: str | Path, *, path: str = "", ref: str = "", local: str = "") -> str | LocalFiles:
    settings = msgspec.structs.replace(SETTINGS, local_folders=local)
    found = read_source(str(text), settings=settings, path=path, ref=ref)
    return found.key if isinstance(found, Source) else found


def test_the_same_repo_in_every_spelling_is_one_source() -> None:
    spellings = (
        "ada/notes",
        "https://git.example/ada/notes",
        "https://GIT.example:443/ada//notes.git/",
    )

    assert {read(text, path="./skills/tidy/") for text in spellings} == {
        "https://git.example/ada/notes#skills/tidy"
    }


def test_hosts_that_ignore_case_have_one_source_for_both() -> None:
    assert read("https://github.com/Ada/Notes") == read("https://github.com/ada/notes.git")
    assert read("https://git.example/Ada/Notes") != read("https://git.example/ada/notes")


def test_a_ref_is_part_of_the_source() -> None:
    assert read("ada/notes", ref="v1.2", path="a") == "https://git.example/ada/notes?ref=v1.2#a"


def test_plain_http_is_for_hosts_that_the_operator_named() -> None:
    assert read("http://127.0.0.1:8080/ada/notes") == "http://127.0.0.1:8080/ada/notes#"
    for url in ("http://127.0.0.1:8081/ada/notes", "http://git.example/ada/notes"):
        with pytest.raises(InvalidInput, match=r"starts with https://.*VSKILL_PRIVATE_HOSTS"):
            read(url)


def test_a_folder_is_packed_unless_the_operator_allowed_its_path(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path / "skills")

    assert read(folder) == LocalFiles(folder)
    assert read(folder, local=str(tmp_path / "other")) == LocalFiles(folder)
    assert read(folder, local=f"{tmp_path}/other, {tmp_path}/skills") == f"{folder}#"
    assert read(tmp_path, path="skills/tidy-notes") == LocalFiles(tmp_path, "skills/tidy-notes")


def test_a_folder_is_packed_if_another_machine_may_process_it(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    settings = Settings(local_folders=str(tmp_path), database_url="postgresql://db.example/skills")

    assert read_source(str(folder), settings=settings) == LocalFiles(folder)


def test_a_repo_on_this_machine_must_lie_where_the_operator_allowed(tmp_path: Path) -> None:
    url = a_repo(a_skill_folder(tmp_path))

    assert read(url, local=str(tmp_path)) == f"{url}#"
    with pytest.raises(InvalidInput, match="VSKILL_LOCAL_FOLDERS"):
        read(url)


def test_a_folder_that_is_there_is_meant_and_not_a_repo_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_skill_folder(tmp_path / "ada", "notes")
    monkeypatch.chdir(tmp_path)

    assert read("ada/notes") == LocalFiles(folder)
    assert read("ada/other") == "https://git.example/ada/other#"


def test_an_archive_is_packed(tmp_path: Path) -> None:
    (tmp_path / "skill.ZIP").write_bytes(b"")

    assert read(tmp_path / "skill.ZIP", path="a") == LocalFiles(tmp_path / "skill.ZIP", "a")


@all_cases(
    ("text", "complaint"),
    [
        ("nowhere/at/all", "neither a folder or archive here"),
        ("-x/y", "neither a folder or archive here"),
        ("--upload-pack=x/y", "neither a folder or archive here"),
        ("a\nb/c", "contains characters that cannot be stored"),
        ("ext::sh -c id", "neither a folder or archive here"),
        ("git@git.example:ada/notes", "neither a folder or archive here"),
        ("ssh://git.example/ada/notes", "starts with https"),
        ("https://git.example/ada/notes/tree/main/x", "is a page of the repo"),
        ("https://git.example/g/ada/notes/-/tree/main/x", "is a page of the repo"),
        ("https://git.example/ada/%2e%2e/notes", "only letters, digits"),
        ("https://git.example:99999/ada/notes", "[Pp]ort"),
    ],
)
def test_anything_else_is_refused_with_advice(text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        read(text)


def test_invalid_paths_and_refs_of_a_folder_are_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)

    with pytest.raises(InvalidInput, match="submit the folder that contains"):
        read(folder / "SKILL.md")
    with pytest.raises(InvalidInput, match="there is no folder 'x'"):
        read(folder, path="x")
    with pytest.raises(InvalidInput, match="inside the repo"):
        read(folder, path="../x")
    with pytest.raises(InvalidInput, match="is a local path, so it has no branch or tag 'main'"):
        read(folder, ref="main")


@all_cases(
    ("text", "url", "ref", "path"),
    [
        ("https://git.example/ada/notes", "https://git.example/ada/notes", "", ""),
        ("ada/notes", "https://github.com/ada/notes", "", ""),
        (" ada/notes ", "https://github.com/ada/notes", "", ""),
        ("https://github.com/ada/notes/tree/main/skills/tidy", "https://github.com/ada/notes",
         "main", "skills/tidy"),
        ("https://github.com/ada/notes/blob/v1/skills/tidy/SKILL.md", "https://github.com/ada/notes",
         "v1", "skills/tidy"),
        ("https://git.example/group/sub/notes/-/tree/main/tidy", "https://git.example/group/sub/notes",
         "main", "tidy"),
        ("https://git.example/ada/notes/src/branch/main/tidy", "https://git.example/ada/notes",
         "main", "tidy"),
    ],
    ids=["url", "owner and repo", "spaces", "page of a folder", "page of a file", "group", "forge"],
)  # fmt: skip
def test_remote_sources_name_a_repo(text: str, url: str, ref: str, path: str) -> None:
    source = read_remote_source(text, settings=Settings())

    assert (source.url, source.ref, source.path) == (url, ref, path)


@pytest.mark.parametrize(
    "text",
    ["", "/etc", "~/skills", "./skill", "file:///etc", "http://127.0.0.1/a/b", "ssh://git@h/a/b",
     "skill.zip", "-o/x", "https://user:pw@git.example/a/b"],
    ids=["nothing", "path", "home", "here", "file", "loopback", "ssh", "archive", "option",
         "password"],
)  # fmt: skip
def test_remote_sources_cannot_name_local_files(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "skill.zip").touch()
    monkeypatch.chdir(tmp_path)

    with pytest.raises(InvalidInput):
        read_remote_source(text, settings=Settings(local_folders="/"))
