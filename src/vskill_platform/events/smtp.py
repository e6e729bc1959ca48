"""Send messages over SMTP: several per connection, encrypted unless the operator turns that off."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage

import aiosmtplib

from vskill_platform.errors import MailFailed, MailRefused
from vskill_platform.mail_settings import MailServer

#: How long the server may take for one command, and for a whole message.
_COMMAND_SECONDS, _MESSAGE_SECONDS = 20.0, 60.0
#: From this code on, a response is a permanent failure.
_PERMANENT = 500
#: The server closes the connection.
_CLOSING = 421
_MAX_ANSWER = 300


class MailConnection:
    def __init__(self, client: aiosmtplib.SMTP, server: MailServer) -> None:
        self._client = client
        self._server = server

    async def send(self, message: EmailMessage, *, to: str) -> str:
        """Send a message and return the server's response.

        MailRefused is about this message only. After MailFailed the connection cannot be used.
        """
        try:
            async with asyncio.timeout(_MESSAGE_SECONDS):
                _, answer = await self._client.send_message(
                    message, sender=self._server.from_address, recipients=[to]
                )
        except aiosmtplib.SMTPRecipientsRefused as error:
            refused = error.recipients[0]
            raise _failure(refused.code, refused.message) from error
        except aiosmtplib.SMTPSenderRefused as error:  # all emails, until the settings change
            raise MailFailed(
                f"{self._server.shown} refused the sender in VSKILL_MAIL_FROM: "
                f"{error.code} {error.message[:_MAX_ANSWER]}"
            ) from error
        except aiosmtplib.SMTPResponseException as error:
            raise _failure(error.code, error.message) from error
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            raise MailFailed(_why(error, self._server)) from error
        return answer[:_MAX_ANSWER]


@asynccontextmanager
async def connect(server: MailServer) -> AsyncIterator[MailConnection]:
    """Connect, encrypt and sign in; MailFailed says which of these failed."""
    client = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        # The name in the greeting: without it, the library asks DNS for our own name.
        local_hostname=server.from_address.rpartition("@")[2],
        timeout=_COMMAND_SECONDS,
        use_tls=server.tls == "tls",
        start_tls=server.tls == "starttls",
        tls_context=None if server.tls == "none" else ssl.create_default_context(),
        username=server.user or None,
        password=server.password.reveal() or None,
    )
    try:
        async with asyncio.timeout(_MESSAGE_SECONDS):
            await client.connect()
    except aiosmtplib.SMTPAuthenticationError as error:
        client.close()
        raise MailFailed(
            f"{server.shown} refused VSKILL_SMTP_USER and VSKILL_SMTP_PASSWORD: "
            f"{error.code} {error.message[:_MAX_ANSWER]}"
        ) from error
    except (aiosmtplib.SMTPException, OSError, TimeoutError, ValueError) as error:
        client.close()
        raise MailFailed(_why(error, server)) from error
    try:
        yield MailConnection(client, server)
    finally:
        client.close()


def _failure(code: int, answer: str) -> MailFailed | MailRefused:
    words = f"the mail server answered {code} {answer[:_MAX_ANSWER]}"
    if code == _CLOSING:
        return MailFailed(words)
    return MailRefused(words, is_final=code >= _PERMANENT)


def _why(error: Exception, server: MailServer) -> str:
    if isinstance(error, TimeoutError):
        return f"{server.shown} did not answer in time"
    words = str(error) or type(error).__name__
    return f"no email can be sent through {server.shown}: {words[:_MAX_ANSWER]}"
