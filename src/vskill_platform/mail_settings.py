"""Settings for email and for the targets of webhooks, with their checks."""

import re
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, urlsplit

import msgspec

from vskill_platform.errors import ConfigError
from vskill_platform.secret_settings import Secret
from vskill_platform.setting_values import is_loopback

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\]")
_HOW = (
    "use smtp://host:587 for STARTTLS, smtps://host:465 for TLS from the start, or "
    "smtp://host:25?tls=none for a relay without encryption"
)
#: The syntax that every mail server accepts: no quotes, no comments, no spaces.
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"{_LOCAL}@{_LABEL}(?:\.{_LABEL})*")
_FROM = re.compile(r"(?:(?P<name>[^<>\r\n\"]*?)\s*<(?P<inside>[^<>]+)>|(?P<bare>[^<>]+))")
#: RFC 5321: a command cannot contain a longer address.
_MAX_ADDRESS, _MAX_LOCAL = 254, 64


class MailFields(msgspec.Struct, frozen=True, kw_only=True):
    """The settings for email and webhooks, which `Settings` inherits."""

    #: The mail server: smtp://host:587 or smtps://host:465. Without it, no emails are sent.
    smtp_url: str = ""
    smtp_user: str = ""
    smtp_password: Secret = msgspec.field(default_factory=Secret)
    #: The sender of all emails, such as `Skills <skills@example.org>`.
    mail_from: str = ""
    #: Hosts of webhooks that are allowed although their addresses are private.
    webhook_private_hosts: str = ""


class MailServer(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    port: int
    tls: Literal["starttls", "tls", "none"]
    user: str
    password: Secret
    #: The sender: a name, which may be empty, and an address.
    from_name: str
    from_address: str

    @property
    def shown(self) -> str:
        """The name of this server for messages."""
        return f"{self.host}:{self.port}"


def is_mail_address(text: str) -> bool:
    local, _, domain = text.rpartition("@")
    is_short = len(text) <= _MAX_ADDRESS and len(local) <= _MAX_LOCAL
    return is_short and bool(domain) and _ADDRESS.fullmatch(text) is not None


def mail_server(settings: MailFields) -> MailServer | None:
    """Return the mail server, or None if email is off. Errors never quote the URL."""
    if not settings.smtp_url:
        for name in ("smtp_user", "smtp_password", "mail_from"):
            if str(getattr(settings, name)):
                raise ConfigError(f"VSKILL_{name.upper()} is set, but VSKILL_SMTP_URL is not")
        return None
    parts = urlsplit(settings.smtp_url)
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "VSKILL_SMTP_URL must not contain credentials; use VSKILL_SMTP_USER and "
            "VSKILL_SMTP_PASSWORD_FILE"
        )
    host, port, tls = _read_place(parts)
    if bool(settings.smtp_user) != bool(settings.smtp_password.reveal()):
        raise ConfigError("VSKILL_SMTP_USER and VSKILL_SMTP_PASSWORD belong together; set both")
    if tls == "none" and settings.smtp_user and not is_loopback(host):
        raise ConfigError(
            "VSKILL_SMTP_URL has tls=none, which would send VSKILL_SMTP_PASSWORD unencrypted; "
            "remove tls=none or the credentials"
        )
    name, address = _read_from(settings.mail_from)
    return MailServer(
        host=host,
        port=port,
        tls=tls,
        user=settings.smtp_user,
        password=settings.smtp_password,
        from_name=name,
        from_address=address,
    )


def _read_place(parts: SplitResult) -> tuple[str, int, Literal["starttls", "tls", "none"]]:
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    tls = given.pop("tls", "starttls")
    try:
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"VSKILL_SMTP_URL is not understood: {_HOW}") from error
    is_known = (
        parts.scheme in {"smtp", "smtps"}
        and parts.path in {"", "/"}
        and not given
        and not parts.fragment
        and tls in {"starttls", "none"}
        and not (parts.scheme == "smtps" and parts.query)
        and port != 0
    )
    host = parts.hostname or ""
    if not is_known or not _HOST.fullmatch(f"[{host}]" if ":" in host else host):
        raise ConfigError(f"VSKILL_SMTP_URL is not understood: {_HOW}")
    if parts.scheme == "smtps":
        return host, port or 465, "tls"
    return (host, port or 25, "none") if tls == "none" else (host, port or 587, "starttls")


def _read_from(text: str) -> tuple[str, str]:
    found = _FROM.fullmatch(text.strip())
    name = (found["name"] or "").strip() if found else ""
    address = (found["inside"] or found["bare"] or "").strip() if found else ""
    if not is_mail_address(address) or not name.isprintable():
        raise ConfigError(
            "VSKILL_MAIL_FROM must be an address such as skills@example.org or "
            "Skills <skills@example.org>"
        )
    return name, address
