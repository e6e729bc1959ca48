"""Settings are shown to admins and in logs of support, but never their secrets."""

from tests.cases import all_cases
from vskill_platform.describe_settings import describe_settings
from vskill_platform.settings import load_settings


def shown(variable: str, value: str) -> str:
    environ = {variable: value}
    rows = describe_settings(load_settings(environ), environ)
    return next(row.value for row in rows if row.variable == variable)


@all_cases(
    ("variable", "value", "expected"),
    [
        (
            "VSKILL_GITHUB_API_URL",
            "https://me:pass%40w@gh.acme.dev",
            "https://(hidden)@gh.acme.dev",
        ),
        ("VSKILL_SCANNERS", "x=https://me:word@s.acme.dev/in", "x=https://(hidden)@s.acme.dev/in"),
        (
            "VSKILL_SCANNERS",
            "x=https://s.acme.dev/in?a=1&api_key=word",
            "x=https://s.acme.dev/in?a=1&api_key=(hidden)",
        ),
        (
            "VSKILL_JUDGE_OPTIONS",
            '{"api_key": "a\\"b", "seed": 1}',
            '{"api_key": "(hidden)", "seed": 1}',
        ),
        ("VSKILL_PRIVATE_HOSTS", "git.acme.dev", "git.acme.dev"),
        ("VSKILL_SCANNERS", "x=https://@s.acme.dev/in", "x=https://(hidden)@s.acme.dev/in"),
        ("VSKILL_NODE", "node-1", "node-1"),
        ("VSKILL_GITHUB_API_URL", "https://gh.acme.dev/api/@v3", "https://gh.acme.dev/api/@v3"),
    ],
)
def test_passwords_in_urls_and_keys_in_json_are_hidden(
    variable: str, value: str, expected: str
) -> None:
    assert shown(variable, value) == expected
