"""Compose an email: its subject, its text and its HTML, from the templates of its kind."""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateNotFound

from vskill_platform.base.show_text import show
from vskill_platform.errors import MailRefused
from vskill_platform.mail_settings import MailServer, is_mail_address
from vskill_platform.model.registry_url import base_url
from vskill_platform.settings import Settings
from vskill_platform.stores.mail_store import Mail

_TEMPLATES = Path(__file__).parent / "templates"
#: Mail programs show about this many characters of a subject.
_MAX_SUBJECT = 150
_MAX_FIELD = 50_000


def compose_mail(
    mail: Mail, server: MailServer, settings: Settings, *, links: dict[str, str]
) -> EmailMessage:
    """Return the message; *links* are the addresses that were made for this attempt."""
    if not is_mail_address(mail.to):
        raise MailRefused(f"{show(mail.to, limit=100)} is not an email address")
    base = base_url(settings)
    values = {name: _show_field(text) for name, text in mail.fields.items()} | links
    values |= {
        "registry": _registry_name(settings, server),
        "base_url": base,
        "user": mail.user,
        "kind": mail.kind,
    }
    try:
        text, html = (
            _environment(is_html).get_template(f"{mail.kind}.{ending}").render(values)
            for is_html, ending in ((False, "txt"), (True, "html"))
        )
    except TemplateNotFound as error:
        # A newer release wrote it and will send it.
        words = f"this release knows no email of the kind {mail.kind!r}"
        raise MailRefused(words, is_final=False) from error
    subject, _, body = text.partition("\n")
    message = EmailMessage(policy=SMTP)
    message["Subject"] = show(subject.removeprefix("Subject: "), limit=_MAX_SUBJECT)
    message["From"] = _address(server.from_name, server.from_address)
    message["To"] = _address("", mail.to)
    message["Date"] = format_datetime(mail.created_at)
    message["Message-ID"] = f"<{mail.id}@{server.from_address.rpartition('@')[2]}>"
    # Keeps vacation replies and mailing lists from answering (RFC 3834).
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(body.lstrip("\n"))
    message.add_alternative(html, subtype="html")
    return message


def _address(name: str, address: str) -> Address:
    local, _, domain = address.rpartition("@")
    return Address(name, local, domain)


def _show_field(text: str) -> str:
    """Return untrusted text with its control characters escaped, line by line."""
    lines = text[:_MAX_FIELD].replace("\r\n", "\n").split("\n")
    return "\n".join(show(line) for line in lines)


def _registry_name(settings: Settings, server: MailServer) -> str:
    host = urlsplit(settings.public_url).hostname if settings.public_url else ""
    return server.from_name or host or "vskill-platform"


@cache
def _environment(is_html: bool) -> Environment:  # noqa: FBT001 - the key of a cache
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=is_html,  # noqa: S701 - the other parts are plain text
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
