"""The publisher of a skill: the owner at its host, not the repo and not the skill."""

from tests.cases import all_cases
from vskill_platform.model.source import Source, folder_source, git_source


@all_cases(
    ("source", "publisher"),
    [
        (git_source("https://git.example/Ada/notes"), "git.example/ada"),
        (git_source("https://git.example/ada/other", "skills/x"), "git.example/ada"),
        (git_source("https://git.example:8443/ada/notes"), "git.example:8443/ada"),
        (git_source("https://git.example/group/below/notes"), "git.example/group"),
        (git_source("file:///srv/repos/ada/notes"), "file/ada"),
        (folder_source("/skills/notes"), "@local"),
    ],
)
def test_the_publisher_is_the_owner_of_the_source(source: Source, publisher: str) -> None:
    assert source.publisher == publisher
