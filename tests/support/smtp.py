"""A real mail server for tests with configurable replies."""

import asyncio
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from wattgate.delivery.channels.mail import parse_mail

USERNAME, PASSWORD = "gateway", "p@ss/word:%"


@dataclass(slots=True)
class ReceivedMail:
    """A mail that the server received, even if the final reply was a refusal."""

    sender: str
    recipients: list[str]
    content: bytes
    session: Session
    tls: bool

    @property
    def message(self) -> EmailMessage:
        return parse_mail(self.content)


@dataclass
class MailServer:
    """The received mails, the number of connections, and replies that replace the default ones."""

    port: int = 0
    taken: list[ReceivedMail] = field(default_factory=list)
    connections: int = 0
    answers: dict[str, list[Any]] = field(default_factory=dict)
    open: set[asyncio.Transport] = field(default_factory=set)

    def say(self, command: str, *answers: Any) -> None:
        """Set the replies to the next commands with this name: texts, or async functions of the server."""
        self.answers.setdefault(command, []).extend(answers)

    def hang_up(self) -> None:
        """Close every connection."""
        for transport in list(self.open):
            transport.close()

    async def _answer(self, command: str, usual: str) -> str:
        waiting = self.answers.get(command)
        answer = waiting.pop(0) if waiting else usual
        return await answer(self) if callable(answer) else str(answer)

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = await self._answer("MAIL", "250 OK")
        if answer.startswith("250"):
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return answer

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = await self._answer("RCPT", "250 OK")
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        tls = server.transport is not None and server.transport.get_extra_info("sslcontext") is not None
        self.taken.append(ReceivedMail(envelope.mail_from or "", envelope.rcpt_tos, content, session, tls))
        return await self._answer("DATA", f"250 2.0.0 queued as {len(self.taken)}")


class _Session(SMTP):
    """A connection that is registered with the server."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if transport not in self.event_handler.open:
            self.event_handler.connections += 1
            self.event_handler.open.add(transport)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.event_handler.open.discard(self.transport)
        super().connection_lost(error)


def _authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
    known = isinstance(data, LoginPassword) and data == LoginPassword(USERNAME.encode(), PASSWORD.encode())
    return AuthResult(success=known, handled=False)


@asynccontextmanager
async def mail_server(
    *, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None, auth: bool = False, **more: Any
) -> AsyncIterator[MailServer]:
    """Yield a server on a free port, with implicit TLS (`tls`), STARTTLS (`starttls`), or without TLS."""
    started = MailServer()
    loop = asyncio.get_running_loop()

    def session() -> SMTP:
        with warnings.catch_warnings():  # aiosmtpd does not detect implicit TLS
            warnings.filterwarnings("ignore", "Requiring AUTH while not requiring TLS")
            return _Session(
                started,
                hostname="mail.test",
                tls_context=starttls,
                require_starttls=starttls is not None,
                auth_required=auth,
                auth_require_tls=tls is None,
                authenticator=_authenticate,
                enable_SMTPUTF8=more.get("smtputf8", True),
                loop=loop,
            )

    server = await loop.create_server(session, "127.0.0.1", 0, ssl=tls)
    started.port = server.sockets[0].getsockname()[1]
    try:
        yield started
    finally:
        server.close()
        started.hang_up()
        await server.wait_closed()
