"""A mail server on loopback, from the package aiosmtpd, and the emails that it accepted."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


class Mailbox:
    """Accepts emails, unless the test says otherwise; aiosmtpd calls the `handle_` methods."""

    def __init__(self) -> None:
        self.port = 0
        self.mails: list[EmailMessage] = []
        self.envelopes: list[Envelope] = []
        #: What the server answers to a recipient or to a message, if it does not accept it.
        self.answers_to_recipient: dict[str, str] = {}
        self.answer_to_message = ""

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}?tls=none"

    async def handle_RCPT(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        del server, session, options
        if answer := self.answers_to_recipient.get(address):
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        del server, session
        if self.answer_to_message:
            return self.answer_to_message
        content = envelope.content
        assert isinstance(content, bytes)
        self.envelopes.append(envelope)
        self.mails.append(message_from_bytes(content, policy=policy.SMTP))
        return "250 accepted for delivery"

    def texts(self, number: int) -> tuple[str, str]:
        """Return the plain text and the HTML of a mail."""
        mail = self.mails[number]
        parts = [mail.get_body((kind,)) for kind in ("plain", "html")]
        text, html = (part.get_content() if part else "" for part in parts)
        return text, html


@asynccontextmanager
async def a_mail_server(
    *, tls: ssl.SSLContext | None = None, password: str = ""
) -> AsyncIterator[Mailbox]:
    mailbox = Mailbox()

    def check(_server: Any, _session: Any, _envelope: Any, _how: str, given: Any) -> AuthResult:
        is_right = isinstance(given, LoginPassword) and given.password == password.encode()
        return AuthResult(success=is_right, handled=is_right)

    def protocol() -> SMTP:
        return SMTP(
            mailbox,
            hostname="mail.example",
            tls_context=tls,
            require_starttls=tls is not None,
            authenticator=check if password else None,
            auth_required=bool(password),
            auth_require_tls=tls is not None,
            loop=asyncio.get_running_loop(),
        )

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    mailbox.port = server.sockets[0].getsockname()[1]
    try:
        yield mailbox
    finally:
        server.close()
