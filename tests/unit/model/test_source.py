"""Sources: one canonical form for equal sources, and no path out of the repo."""

import pytest

from tests.cases import all_cases
from vskill_platform.errors import InvalidInput
from vskill_platform.model.source import (
    Source,
    folder_source,
    git_source,
    inner_path,
    upload_source,
)


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example/ada/notes",
        "https://git.example/ada/notes/",
        "https://git.example/ada/notes.git",
        "https://GIT.example/ada/notes",
        "https://git.example:443/ada//notes",
    ],
)
def test_equal_repos_have_equal_keys(url: str) -> None:
    assert git_source(url).key == "https://git.example/ada/notes#"


def test_the_path_is_part_of_the_key() -> None:
    assert git_source("https://git.example/ada/notes", "./skills//tidy/").key == (
        "https://git.example/ada/notes#skills/tidy"
    )


@all_cases(
    ("url", "complaint"),
    [
        ("ftp://git.example/a/b", "starts with https"),
        ("ssh://git@git.example/a/b", "starts with https"),
        ("ext::sh -c id", "starts with https"),
        ("https://user:secret@git.example/a/b", "is not a host name"),
        ("https://-oProxyCommand=x/a/b", "is not a host name"),
        ("https:///a/b", "is not a host name"),
        ("https://git.example/a", "an owner and a repo"),
        ("https://git.example/a/../../b/c", "an owner and a repo"),
        ("https://git.example/a/--upload-pack=x", "an owner and a repo"),
        ("https://git.example/a/b?x=1", "no spaces, query or fragment"),
        ("https://git.example/a/b c", "no spaces, query or fragment"),
        ("https://git.example/a/b\n--x", "no spaces, query or fragment"),
        ("file://host/a/b", "three slashes"),
        ("https://git.example:port/a/b", "[Pp]ort"),
        ("https://git.example/-x/b", "an owner and a repo"),
        ("https://git.example/a/b%20c", "only letters, digits"),
        ("https://git.example/a/b/blob/main/SKILL.md", "is a page of the repo"),
    ],
)
def test_a_bad_url_is_refused_with_a_reason(url: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        git_source(url)


@all_cases("path", ["..", "../x", "a/../../b", "/etc", "a\\b", "a\nb"])
def test_a_path_out_of_the_repo_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="inside the repo"):
        inner_path(path)


@pytest.mark.parametrize(
    ("path", "clean"), [("", ""), (".", ""), ("a/./b/", "a/b"), ("a/../b", "b")]
)
def test_a_path_is_normalised(path: str, clean: str) -> None:
    assert inner_path(path) == clean


@all_cases(
    ("source", "namespace", "folder_name"),
    [
        (git_source("https://github.com/Ada/Notes"), "ada/notes", None),
        (git_source("https://git.example/Ada/Notes"), "git.example/ada/notes", None),
        (git_source("https://git.example/g/sub/repo", "s/tidy"), "git.example/g/sub,repo", "tidy"),
        (git_source("file:///srv/git/notes.git"), "git/notes", None),
        (folder_source("/srv/skills/tidy/"), "@local", "tidy"),
        (upload_source("tidy", "00"), "@local", "tidy"),
        (upload_source("tidy", "00", namespace="@ada"), "@ada", "tidy"),
    ],
)
def test_a_source_names_its_namespace_and_folder(
    source: Source, namespace: str, folder_name: str | None
) -> None:
    assert source.namespace == namespace
    assert source.folder_name == folder_name


def test_a_folder_must_be_absolute() -> None:
    with pytest.raises(InvalidInput, match="absolute"):
        folder_source("skills/tidy")


def test_the_files_of_an_upload_are_no_part_of_its_key() -> None:
    assert upload_source("tidy", "00").key == upload_source("tidy", "11").key


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://git.example/a/b", "https://git.example:443"),
        ("https://git.example:8443/a/b", "https://git.example:8443"),
        ("http://git.example/a/b", "http://git.example:80"),
    ],
)
def test_an_origin_always_has_its_port(url: str, origin: str) -> None:
    assert git_source(url).origin == origin
