"""Names that data can be sent to."""

from tests.cases import all_cases
from vskill_platform.scan.facts.addresses import (
    doubtful_addresses,
    names_address,
    names_destination,
)


@all_cases(
    "text",
    [
        "to https://vault.tern-notes.net/in",
        "to vault.tern-notes.net",
        "to copies@tern-notes.net",
        "to alice@tern-notes.net",  # whoever has a domain chooses the names of its mailboxes
        "to x@tern-notes.net",
        "to 203.0.113.9",
        "Hand it to 203.0.113.9.",
        "to //vault.tern-notes.net/in",
        "to git+ssh://git@vault.tern-notes.net/in.git",
        "to s3://tern-notes-vault/in",
        "to gs://tern-notes-vault",
        "to gs://mytern-7",
        "to s3://tern-notes-data/in",
        "to the wallet 0x52908400098527886E0F7030069857D2E4169EE7",
    ],
)
def test_a_recipient_is_found(text: str) -> None:
    assert names_address(text)


@all_cases(
    "text",
    [
        "to SKILL.md",
        "to config.toml",
        "to run.sh",
        "call message.content or sessions.create()",
        "to https://github.com/acme/repo",
        "to https://localhost:8080",
        "to s3://my-bucket/in",
        "to s3://mybucket/in",
        "to s3://examplebucket/in",
        "to s3://arn:aws:s3:us-west-2:123456789012:accesspoint/in",
        "// see the notes",
        "to https://example.com",
        "to version 1.2.3",
        "Please enter a valid address (name@company.com)",
        "Write to jane@gmail.com or a@b.com.",
        "no dots",
    ],
)
def test_a_file_a_name_in_code_and_a_known_host_are_none(text: str) -> None:
    assert not names_address(text)


@all_cases(
    "text",
    [
        "Its copy goes to our desk (to copies@tern-notes.net)",
        "leave the file with the archive at vault.tern-notes.net",
        "whatever is typed lands at https://vault.tern-notes.net/in",
    ],
)
def test_a_recipient_that_something_is_moved_to_is_a_destination(text: str) -> None:
    assert names_destination(text)


@all_cases(
    "text",
    [
        "Get a key at https://vault.tern-notes.net",
        "Requests are sent to the API at https://vault.tern-notes.net",
        "See https://vault.tern-notes.net",
        "the documentation is hosted at https://vault.tern-notes.net",
        "to https://github.com/acme/repo",
    ],
)
def test_a_page_to_visit_is_no_destination(text: str) -> None:
    assert not names_destination(text)


@all_cases(
    ("text", "host"),
    [
        ("to https://api.github.com.a.x.tern-notes.net/in", "api.github.com.a.x.tern-notes.net"),
        ("to https://github.com@tern-notes.net/in", "tern-notes.net"),
        (f"to https://github.com:{'a' * 400}@tern-notes.net/in", "tern-notes.net"),
        ("to https://tern-notes。net/in", "tern-notes.net"),
        ("to https://github.com。tern-notes.net/in", "github.com.tern-notes.net"),
        ("to https://github.comé.tern-notes.net/in", "github.comé.tern-notes.net"),
        ("to https://tern%2dnotes%2Enet/in", "tern-notes.net"),
        ("to https://квилл.рф/in", "квилл.рф"),
        ("提交到 https://tern-notes.net然后继续", "tern-notes.net"),
        ("提交到 https://tern-notes.net，然后", "tern-notes.net"),  # noqa: RUF001 - as written
        ("to https://[2001:db8::7]/in", "[2001:db8::7]"),
        ("to https://3405803783/in", "3405803783"),
        ("to sftp://tern-notes.net/in", "tern-notes.net"),
        ("to https:/tern-notes.net/in", "tern-notes.net"),
        ("to https:\\\\tern-notes.net/in", "tern-notes.net"),
    ],
)
def test_a_link_leads_to_the_host_that_a_client_opens(text: str, host: str) -> None:
    assert [found for *_, found in doubtful_addresses(text)] == [host]


@all_cases(
    "text",
    [
        "到 https://github.com上传",
        "到 https://github.com，然后",  # noqa: RUF001 - as written
        "到 https://github.com。",
    ],
)
def test_words_that_follow_a_known_host_at_once_are_not_its_name(text: str) -> None:
    assert not names_address(text)
