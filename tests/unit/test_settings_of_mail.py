"""Settings for the mail server."""

import pytest

from tests.cases import all_cases
from vskill_platform.errors import ConfigError
from vskill_platform.mail_settings import mail_server
from vskill_platform.settings import load_settings

FROM = {"VSKILL_MAIL_FROM": "skills@example.org"}


def test_no_mail_is_sent_by_default() -> None:
    assert mail_server(load_settings({})) is None


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("smtp://mail.example", ("mail.example", 587, "starttls")),
        ("smtp://mail.example:2525", ("mail.example", 2525, "starttls")),
        ("smtps://mail.example/", ("mail.example", 465, "tls")),
        ("smtp://127.0.0.1?tls=none", ("127.0.0.1", 25, "none")),
        ("smtp://[::1]:26?tls=none", ("::1", 26, "none")),
    ],
)
def test_the_url_says_where_and_how_encrypted(url: str, place: tuple[str, int, str]) -> None:
    server = mail_server(load_settings({"VSKILL_SMTP_URL": url, **FROM}))

    assert server
    assert (server.host, server.port, server.tls) == place


@pytest.mark.parametrize(
    ("text", "sender"),
    [
        ("skills@example.org", ("", "skills@example.org")),
        ("Our Skills <skills@example.org>", ("Our Skills", "skills@example.org")),
        ("<skills@example.org>", ("", "skills@example.org")),
    ],
)
def test_the_sender_may_have_a_name(text: str, sender: tuple[str, str]) -> None:
    environ = {"VSKILL_SMTP_URL": "smtp://mail.example", "VSKILL_MAIL_FROM": text}

    server = mail_server(load_settings(environ))

    assert server
    assert (server.from_name, server.from_address) == sender


@all_cases(
    ("environ", "message"),
    [
        ({"SMTP_URL": "http://mail.example"}, "not understood"),
        ({"SMTP_URL": "mail.example:25"}, "not understood"),
        ({"SMTP_URL": "smtp://"}, "not understood"),
        ({"SMTP_URL": "smtp://host:99999"}, "not understood"),
        ({"SMTP_URL": "smtp://host:0"}, "not understood"),
        ({"SMTP_URL": "smtp://host/path"}, "not understood"),
        ({"SMTP_URL": "smtp://host?tls=maybe"}, "not understood"),
        ({"SMTP_URL": "smtps://host?tls=none"}, "not understood"),
        ({"SMTP_URL": "smtp://ada:hush@host"}, "must not contain credentials"),
        ({"SMTP_URL": "smtp://host", "SMTP_USER": "ada"}, "belong together"),
        ({"SMTP_URL": "smtp://host", "SMTP_PASSWORD": "hush"}, "belong together"),
        (
            {"SMTP_URL": "smtp://host?tls=none", "SMTP_USER": "ada", "SMTP_PASSWORD": "hush"},
            "unencrypted",
        ),
        ({"SMTP_URL": "smtp://host", "MAIL_FROM": ""}, "VSKILL_MAIL_FROM must be an address"),
        ({"SMTP_URL": "smtp://host", "MAIL_FROM": "A <b"}, "VSKILL_MAIL_FROM must be an address"),
        ({"SMTP_URL": "smtp://host", "MAIL_FROM": "a@b\nBcc: c@d"}, "must be an address"),
        ({"SMTP_URL": ""}, "VSKILL_SMTP_URL is not"),
        ({"SMTP_URL": "", "MAIL_FROM": "", "SMTP_USER": "ada"}, "VSKILL_SMTP_URL is not"),
    ],
)
def test_a_server_that_could_never_work_stops_the_start(
    environ: dict[str, str], message: str
) -> None:
    given = {f"VSKILL_{name}": value for name, value in environ.items()}

    with pytest.raises(ConfigError, match=message) as refused:
        load_settings({**FROM, **given})

    assert "hush" not in str(refused.value)
