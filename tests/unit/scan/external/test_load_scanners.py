"""Definitions of scanners: ours are usable, the operator's are read strictly."""

import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cases import all_cases
from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import Policy
from vskill_platform.model.read_policy import read_policy
from vskill_platform.model.scanner import (
    LocalScanner,
    OnFail,
    RemoteScanner,
    ScannerRule,
)
from vskill_platform.model.verdict import Severity
from vskill_platform.scan.external.load_scanners import load_scanners, scanners_in_use
from vskill_platform.settings import Settings

REMOTE = '[acme]\nurl = "https://scan.example/v1"\nkey_file = "{key}"\n'


@pytest.fixture
def own(tmp_path: Path) -> Any:
    """Return settings that name a file with these definitions."""
    (tmp_path / "key").write_text("a-common-key-of-both-sides\n")

    def settings(text: str, **changes: Any) -> Settings:
        path = tmp_path / "scanners.toml"
        path.write_text(text.replace("{key}", str(tmp_path / "key")))
        return msgspec.structs.replace(Settings(), scanners=str(path), **changes)

    return settings


def using(*rules: ScannerRule) -> Policy:
    return Policy(scanners=rules)


def test_ours_can_be_used_as_they_are() -> None:
    known = load_scanners(Settings())

    assert set(known) == {"gitleaks", "semgrep", "clamscan", "skill-scanner"}
    used = scanners_in_use(Settings(), using(*(ScannerRule(name=name) for name in known)))
    assert [one.name for one in used] == list(known)


@pytest.mark.parametrize("name", ["gitleaks", "semgrep", "clamscan", "skill-scanner"])
def test_no_argument_of_ours_is_made_for_a_shell(name: str) -> None:
    scanner = load_scanners(Settings())[name]

    assert isinstance(scanner, LocalScanner)
    for argument in scanner.arguments:
        plain = argument.replace("{folder}", "x").replace("{output}", "x")
        assert shlex.quote(plain) == plain


def test_an_operator_changes_single_keys_and_adds_scanners(own: Any) -> None:
    text = f'[gitleaks]\nfail_on = "critical"\ndeadline = "20s"\n{REMOTE}deadline = "1h"\n'

    known = load_scanners(own(text))

    gitleaks, acme = known["gitleaks"], known["acme"]
    assert isinstance(gitleaks, LocalScanner)
    assert (gitleaks.program, gitleaks.fail_on) == ("gitleaks", Severity.CRITICAL)
    assert gitleaks.deadline == timedelta(seconds=20)
    assert isinstance(acme, RemoteScanner)
    assert (acme.url, acme.deadline) == ("https://scan.example/v1", timedelta(hours=1))
    assert acme.key.reveal() == "a-common-key-of-both-sides"
    assert "common" not in repr(acme)


LOCAL = '[x]\nprogram = "x"\nformat = "sarif"\n'
LINES = '[x]\nprogram="x"\narguments=["{{folder}}"]\nformat="lines"\ncomplete="y"\npattern="{}"'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[x", "it is not TOML"),
        ("x = 1", "each scanner is a table"),
        ('["X Y"]', "each scanner is a table"),
        ("[x]", "needs a program or a url"),
        ('[x]\nprogram = "x"\nurl = "https://y"', "and not both"),
        (f'{LOCAL}arguments = "scan {{folder}}"', "Expected `array`"),
        (f'{LOCAL}arguments = ["scan"]', "must contain {folder}"),
        (f'{LOCAL}arguments = ["{{folder}}"]\noutput = "file"', "{output} must be used with"),
        (f'{LOCAL}arguments = ["{{folder}}", "{{output}}"]', "{output} must be used with"),
        (f'{LOCAL}arguments = ["{{folder}}"]\nshell = true', "'shell' is unknown"),
        (f'{LOCAL}arguments = ["{{folder}}"]\ndeadline = "soon"', "is not a duration"),
        (f'{LOCAL}arguments = ["{{folder}}"]\ndeadline = 5', "Expected `str`, got `int`"),
        ('[x]\nprogram = 5\nformat = "sarif"', "Expected `str`, got `int`"),
        ('[x]\nurl = 5\nkey_file = "{key}"', "Expected `str`, got `int`"),
        ('[x]\nprogram = "x"\narguments = ["{folder}"]', "format must be"),
        ('[x]\nprogram = "x"\narguments = ["{folder}"]\nformat = "json"', "rule must say"),
        ('[x]\nprogram = "x"\narguments = ["{folder}"]\nformat = "lines"', "complete must say"),
        (LINES.format("(?P<file>.*)"), "needs the groups file and rule"),
        (LINES.format("("), "the pattern is invalid"),
        ('[x]\nurl = "ftp://y"\nkey_file = "{key}"', "must be like https://"),
        ('[x]\nurl = "https://y"', "key_file must name"),
        ('[x]\nurl = "https://y"\nkey_file = "/nowhere"', "the file cannot be read"),
    ],
    ids=range(22),
)
def test_a_wrong_definition_is_named_with_what_to_do(own: Any, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_scanners(own(text))

    assert complaint in str(caught.value)


def test_a_file_that_is_not_there_and_a_short_key_stop_the_start(own: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="VSKILL_SCANNERS=nowhere: the file cannot be read"):
        load_scanners(msgspec.structs.replace(Settings(), scanners="nowhere"))
    settings = own(REMOTE)
    (tmp_path / "key").write_text("short")
    with pytest.raises(ConfigError, match="fewer than 16 characters"):
        load_scanners(settings)


def test_a_scanner_that_could_never_answer_stops_the_start(own: Any) -> None:
    acme, slow = ScannerRule(name="acme"), ScannerRule(name="gitleaks")

    with pytest.raises(
        ConfigError, match="'nobody', which is not defined; defined scanners: gitleaks"
    ):
        scanners_in_use(Settings(), using(ScannerRule(name="nobody")))
    with pytest.raises(ConfigError, match="set VSKILL_PUBLIC_URL"):
        scanners_in_use(own(REMOTE), using(acme))
    with pytest.raises(ConfigError, match="must be shorter than VSKILL_MESSAGE_DEADLINE"):
        scanners_in_use(own('[gitleaks]\ndeadline = "1m"'), using(slow))
    assert scanners_in_use(own(REMOTE, public_url="https://skills.example"), using(acme))


def test_without_a_word_of_the_policy_nobody_is_asked() -> None:
    assert scanners_in_use(Settings(), Policy()) == ()


def test_a_policy_says_which_scanners_must_pass_and_what_follows() -> None:
    text = """
[[scanners]]
name = "gitleaks"
required = true
on_fail = "reject"

[[scanners]]
name = "semgrep"
"""

    first, second = read_policy(text, rules={}).scanners

    assert (first.required, first.on_fail) == (True, OnFail.REJECT)
    assert (second.required, second.on_fail) == (False, OnFail.REVIEW)


@all_cases(
    ("text", "complaint"),
    [
        ('scanners = "gitleaks"', "each is a table starting with"),
        ("[[scanners]]\nrequired = true", "missing required field `name`"),
        ('[[scanners]]\nname = "a"\non_fail = "publish"', "Invalid enum value 'publish'"),
        ('[[scanners]]\nname = "a"\nmust = true', "unknown field `must`"),
        ('[[scanners]]\nname = "a"\n[[scanners]]\nname = "a"', "a is listed twice"),
        ('[[scanners]]\nname = "a"\non_fail = "reject"', "can only reject if it is required"),
    ],
    ids=range(6),
)
def test_a_contradictory_policy_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_policy(text, rules={})

    assert complaint in str(caught.value)
