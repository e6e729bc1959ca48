"""Which namespace a skill belongs to."""

from tests.cases import all_cases
from tests.casts import a_published_skill
from vskill_platform.model.namespace import namespace_of, namespace_of_skill
from vskill_platform.model.source import Source, folder_source, git_source, upload_source


@all_cases(
    ("source", "namespace"),
    [
        (git_source("https://github.com/Ada/Notes"), "ada"),
        (git_source("https://git.example/ada/notes"), "git.example/ada"),
        (git_source("https://git.example:8443/ada/notes"), "git.example:8443/ada"),
        (git_source("https://gitlab.com/team/group/notes"), "gitlab.com/team"),
        (git_source("file:///srv/ada/notes"), "file/ada"),
        (git_source("https://github.com/@ada/notes"), "github.com/@ada"),
        (upload_source("notes", "0" * 64, namespace="@ada"), "@ada"),
        (upload_source("notes", "0" * 64), "@local"),
        (folder_source("/srv/notes"), "@local"),
    ],
    ids=lambda value: value.url if isinstance(value, Source) else value,
)
def test_a_namespace_is_the_publisher_of_the_source(source: Source, namespace: str) -> None:
    assert namespace_of(source) == namespace


@all_cases(
    ("slug", "publisher", "namespace"),
    [
        ("ada/notes/tidy", "github.com/ada", "ada"),
        ("git.example/ada/notes/tidy", "git.example/ada", "git.example/ada"),
        ("@ada/tidy", "@ada", "@ada"),
        ("ada/notes/tidy", "", "ada"),
        ("git.example/ada/notes/tidy", "", "git.example/ada"),
        ("@ada/tidy", "", "@ada"),
    ],
)
def test_a_skill_belongs_where_its_source_does(slug: str, publisher: str, namespace: str) -> None:
    assert namespace_of_skill(a_published_skill(slug, publisher=publisher)) == namespace
