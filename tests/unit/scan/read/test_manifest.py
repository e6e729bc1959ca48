"""The manifest check, by the public agent-skills specification."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from vskill_platform.model.verdict import Finding, Severity
from vskill_platform.scan.read.frontmatter import FrontmatterError, read_frontmatter
from vskill_platform.scan.read.manifest import MAX_MANIFEST_BYTES, check_manifest


def findings_of(tmp_path: Path, text: str | bytes, folder_name: str | None = None) -> list[Finding]:
    content = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "SKILL.md").write_bytes(content)
    manifest, findings = check_manifest(tmp_path, folder_name)
    assert (manifest is None) == any(found.severity is Severity.HIGH for found in findings)
    return findings


def with_head(head: str) -> str:
    return f"---\n{head}\n---\nDo it.\n"


GOOD = "name: tidy-notes\ndescription: Tidies notes."


def test_a_good_manifest_is_read_whole(tmp_path: Path) -> None:
    head = f"""{GOOD}
license: MIT
compatibility: Needs git.
allowed-tools: Read Grep
metadata:
  version: "1.10"
  author: ada"""
    (tmp_path / "SKILL.md").write_text(with_head(head))

    manifest, findings = check_manifest(tmp_path, "tidy-notes")

    assert findings == []
    assert manifest is not None
    assert (manifest.name, manifest.description) == ("tidy-notes", "Tidies notes.")
    assert (manifest.license, manifest.compatibility) == ("MIT", "Needs git.")
    assert manifest.allowed_tools == "Read Grep"
    assert manifest.metadata == {"version": "1.10", "author": "ada"}


@all_cases(
    "name",
    [
        "",
        "Tidy",
        "tidy_notes",
        "-tidy",
        "tidy-",
        "tidy--notes",
        "tidy notes",
        "t" * 65,
        "notïzen",
        "con",
        "com1",
    ],
)
def test_a_bad_name_is_found_at_its_line(tmp_path: Path, name: str) -> None:
    (finding,) = findings_of(tmp_path, with_head(f"description: x\nname: {name}"))

    assert (finding.rule, finding.file, finding.line) == ("MAN-010", "SKILL.md", 3)


@pytest.mark.parametrize("name", ["a", "t" * 64, "a1-b2-c3", "007"])
def test_every_name_that_the_specification_allows_passes(tmp_path: Path, name: str) -> None:
    assert findings_of(tmp_path, with_head(f"name: {name}\ndescription: x"), name) == []


def test_the_name_must_be_that_of_the_folder(tmp_path: Path) -> None:
    (finding,) = findings_of(tmp_path, with_head(GOOD), "other-folder")

    assert finding.rule == "MAN-011"


@all_cases(
    ("head", "rule", "severity", "line"),
    [
        ("name: a", "MAN-020", Severity.HIGH, 1),
        ("name: a\ndescription:", "MAN-020", Severity.HIGH, 3),
        ("name: a\ndescription: ' '", "MAN-020", Severity.HIGH, 3),
        (f"name: a\ndescription: {'x' * 1025}", "MAN-020", Severity.HIGH, 3),
        ("name: a\ndescription: [x]", "MAN-020", Severity.HIGH, 3),
        ("name: {a: b}\ndescription: x", "MAN-010", Severity.HIGH, 2),
        (f"{GOOD}\ncompatibility: {'x' * 501}", "MAN-030", Severity.HIGH, 4),
        (f"{GOOD}\nlicense: [a]", "MAN-031", Severity.HIGH, 4),
        (f"{GOOD}\nmetadata: {{a: {{b: c}}}}", "MAN-032", Severity.LOW, 4),
        (f"{GOOD}\nallowed-tools: [Read, Grep]", "MAN-033", Severity.LOW, 4),
        (f"{GOOD}\ncolour: blue", "MAN-040", Severity.LOW, 4),
        ("- name: a", "MAN-002", Severity.HIGH, 2),
        ("name: a\nname: b\ndescription: x", "MAN-002", Severity.HIGH, 3),
        ("name: a\n  bad: [", "MAN-002", Severity.HIGH, 3),
        ("name: a\n\tdescription: x", "MAN-002", Severity.HIGH, 3),
        ("a: &a [x]\nb: *a", "MAN-002", Severity.HIGH, 3),
        ("a: " + "[" * 100, "MAN-002", Severity.HIGH, 2),
        ("? [a, b]\n: c", "MAN-002", Severity.HIGH, 2),
        ("a: !!python/object:os.system {}", "MAN-010", Severity.HIGH, 1),
        ("x: " + "y" * 70_000, "MAN-002", Severity.HIGH, 1),
    ],
)
def test_an_error_in_the_manifest_is_found_at_its_line(
    tmp_path: Path, head: str, rule: str, severity: Severity, line: int
) -> None:
    found = [
        (item.rule, item.severity, item.line) for item in findings_of(tmp_path, with_head(head))
    ]

    assert (rule, severity, line) in found


def test_a_description_of_1024_characters_passes(tmp_path: Path) -> None:
    assert findings_of(tmp_path, with_head(f"name: a\ndescription: {'ü' * 1024}")) == []


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("# No frontmatter", "MAN-002", 1),
        ("", "MAN-002", 1),
        ("---\nname: a\n", "MAN-002", 1),
        (b"---\nname: a\n\xff\xfe", "MAN-004", 3),
        (b"x" * (MAX_MANIFEST_BYTES + 1), "MAN-003", 1),
    ],
)
def test_a_file_that_is_no_manifest_is_found_out(
    tmp_path: Path, text: str | bytes, rule: str, line: int
) -> None:
    (finding,) = findings_of(tmp_path, text)

    assert (finding.rule, finding.line) == (rule, line)


def test_instructions_are_missed(tmp_path: Path) -> None:
    (finding,) = findings_of(tmp_path, f"---\n{GOOD}\n---\n")

    assert (finding.rule, finding.severity) == ("MAN-050", Severity.LOW)


def test_a_missing_manifest_says_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "skills" / "a").mkdir(parents=True)
    (tmp_path / "skills" / "a" / "SKILL.md").write_text(with_head(GOOD))

    manifest, (finding,) = check_manifest(tmp_path, None)

    assert manifest is None
    assert finding.rule == "MAN-001"
    assert "--path skills/a" in finding.fix


def test_line_ends_and_a_byte_order_mark_do_not_matter(tmp_path: Path) -> None:
    text = "\ufeff" + with_head(GOOD).replace("\n", "\r\n")

    assert findings_of(tmp_path, text) == []


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#%@\n\t ,?\\\u2028\x00é")))
def test_no_text_breaks_the_reader(head: str) -> None:
    with contextlib.suppress(FrontmatterError):
        read_frontmatter(f"---\n{head}\n---\n")


@all_cases(
    "value",
    [
        r'"Tidies \x07 notes."',
        r'"Tidies \u202e notes."',
        r'"\U000E0049\U000E0067\U000E006E"',
        '"Tidies \U000e0049\U000e0067 notes."',
    ],
)
@all_cases("key", ["description", "license", "metadata:\n  deep"])
def test_characters_that_nobody_sees_are_refused_in_every_value(
    tmp_path: Path, key: str, value: str
) -> None:
    head = f"name: tidy-notes\ndescription: Tidies notes.\n{key}: {value}"
    head = head.replace("description: Tidies notes.\n", "") if key == "description" else head

    (found,) = findings_of(tmp_path, with_head(head))

    assert (found.rule, found.severity) == ("MAN-002", Severity.HIGH)
    assert "invisible character U+" in found.message


def test_a_flag_may_be_written_in_a_description(tmp_path: Path) -> None:
    flag = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"

    assert findings_of(tmp_path, with_head(f"{GOOD}\nlicense: {flag}")) == []


def test_a_line_separator_does_not_end_the_frontmatter() -> None:
    with pytest.raises(FrontmatterError, match="another document"):
        read_frontmatter("---\nname: a\nlicense: x\u2028---\ndescription: b\n---\nDo it.\n")
