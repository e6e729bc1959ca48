"""Values of settings are found in their lines, also where very many are written with escapes."""

from vskill_platform.scan import settings_files
from vskill_platform.scan.settings_files import read_settings


def escaped(number: int) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in f"value number {number} of it")


def test_a_value_that_is_written_plainly_or_with_quotes_is_found_in_its_line() -> None:
    text = '{\n"a": "a plain value here",\n"b": "it \\"says\\" so there"\n}'

    found = read_settings(text, "json")

    assert found.texts == [(2, "a plain value here"), (3, 'it "says" so there')]


def test_very_many_values_that_are_not_found_are_not_searched_in_the_whole_file_each() -> None:
    count = settings_files._MAX_VALUES - 2
    lines = [f'"{escaped(number)}"' for number in range(count // 10)]
    text = "[\n" + ",\n".join([*lines, *lines]) + "\n]"
    walk = settings_files._Walk(text, settings_files.Settings())

    for number in range(count):
        walk._line_of(f"value number {number} of it")

    assert walk._searched < settings_files._MAX_SEARCHED + len(text)
