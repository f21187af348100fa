"""Mail channel: sends mails to a mail server by SMTP (RFC 5321)."""

import asyncio
import logging
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from aiosmtplib import (
    SMTP,
    SMTPDataError,
    SMTPException,
    SMTPRecipientRefused,
    SMTPResponseException,
    SMTPSenderRefused,
    SMTPServerDisconnected,
)

from wattgate.delivery.channels.channel import OutboundMessage, Outcome, PermanentFailure, Sent, TemporaryFailure
from wattgate.delivery.channels.mail import MailMessage, SenderProfile, build_and_encode_mail
from wattgate.tls import client_context

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 4
"""Maximum number of concurrent connections of a channel."""

MAX_MAILS_PER_CONNECTION = 100
"""Mails after which a connection is closed. Servers have such limits too."""

MAX_IDLE_SECONDS = 30.0
"""Seconds after which an idle connection is not reused."""

QUIT_TIMEOUT_SECONDS = 1.0
"""Seconds to wait for the response to QUIT."""

MAX_REASON_LENGTH = 300
"""Characters of a server's response that are stored as a reason."""

SUPPRESS_ADDRESS = "suppress"
"""The key in the details of a failure that marks the address as invalid: no more mail must be sent to it."""

SERVICE_CLOSING_CODE = 421
"""The reply code with which a server announces that it closes the connection."""


class Security(Enum):
    """How a connection is encrypted. With STARTTLS, no mail is sent to a server that does not offer it."""

    NONE = "smtp"
    STARTTLS = "smtp+starttls"
    TLS = "smtps"


DEFAULT_PORTS: Mapping[Security, int] = MappingProxyType({Security.NONE: 25, Security.STARTTLS: 587, Security.TLS: 465})
"""The default port for each kind of encryption."""


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """The address of a mail server, and the credentials for it."""

    host: str
    port: int
    security: Security = Security.NONE
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def from_url(cls, url: str) -> "SmtpServer":
        """Parse a URL such as smtps://user:password@host:465. Raise ValueError if it is invalid."""
        parts = urlsplit(url)
        schemes = {security.value: security for security in Security}
        if parts.scheme not in schemes or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError(
                "is not an address of a mail server. Write one such as smtp+starttls://user:password@host:587"
            )
        security = schemes[parts.scheme]
        try:
            port = parts.port
        except ValueError:
            raise ValueError("has an invalid port. Write a number from 1 to 65535") from None
        name, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
        if name is not None and security is Security.NONE and not is_this_machine(parts.hostname):
            raise ValueError("would send the password unencrypted. Write smtps:// or smtp+starttls://")
        return cls(parts.hostname, port or DEFAULT_PORTS[security], security, name, password)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def is_this_machine(host: str) -> bool:
    """Return whether a host is the machine itself, to which a connection needs no encryption."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(slots=True)
class _PooledConnection:
    client: SMTP
    mail_count: int = 0
    last_used_at: float = 0.0


class SmtpChannel:
    """Sends mails to a server over pooled connections. `timeout_seconds` limits the total time of a mail."""

    def __init__(
        self,
        server: SmtpServer,
        profile: SenderProfile,
        *,
        tls_context: ssl.SSLContext | None = None,
        max_connections: int = MAX_CONNECTIONS,
        timeout_seconds: float = 30.0,
    ) -> None:
        self._server = server
        self._profile = profile
        self._tls_context = tls_context or client_context()
        self._timeout_seconds = timeout_seconds
        self._connection_slots = asyncio.Semaphore(max_connections)
        self._idle_connections: list[_PooledConnection] = []

    async def send(self, outbound: OutboundMessage) -> Outcome:
        """Send the message as a mail to its one address."""
        encoded = await asyncio.to_thread(build_and_encode_mail, outbound, self._profile)
        if isinstance(encoded, PermanentFailure):
            return encoded
        mail, content = encoded
        try:
            async with asyncio.timeout(self._timeout_seconds), self._connection_slots:
                return await self._deliver(mail, content)
        except TimeoutError:
            reason = f"the mail server did not accept the mail within {self._timeout_seconds:g} seconds"
        except SMTPResponseException as error:
            reason = _format_error(error)
        except (SMTPException, OSError) as error:
            reason = str(error)[:MAX_REASON_LENGTH]
        log.warning("mail server %s failed to accept a mail: %s", self._server, reason)
        return TemporaryFailure(reason)

    async def check(self) -> None:
        """Check the connection and the login. Raise SMTPException or OSError if either fails."""
        async with asyncio.timeout(self._timeout_seconds):
            self._idle_connections.append(await self._connect())
        await self.close()

    async def close(self) -> None:
        """Send QUIT on all idle connections and close them."""
        while self._idle_connections:
            client = self._idle_connections.pop().client
            with suppress(SMTPException, OSError):
                await client.quit(timeout=QUIT_TIMEOUT_SECONDS)
            client.close()

    async def _deliver(self, mail: MailMessage, encoded: bytes) -> Outcome:
        connection = await self._start_mail(mail)
        with _close_on_error(connection):
            outcome, reusable = await _send_recipient_and_data(connection.client, mail, encoded)
        if reusable:
            connection.mail_count += 1
            connection.last_used_at = asyncio.get_running_loop().time()
            self._idle_connections.append(connection)
        else:
            connection.client.close()
        return outcome

    async def _start_mail(self, mail: MailMessage) -> _PooledConnection:
        """Return a connection on which MAIL FROM was accepted. Open a new one if the server has closed the idle one."""
        idle = self._take_idle_connection()
        if idle is not None:
            with suppress(SMTPServerDisconnected, _ServerClosing), _close_on_error(idle):
                await _send_mail_from(idle.client, mail)
                return idle
        connection = await self._connect()
        with _close_on_error(connection):
            await _send_mail_from(connection.client, mail)
        return connection

    def _take_idle_connection(self) -> _PooledConnection | None:
        """Remove and return the connection that was used last, if it is usable. Close those that are not."""
        oldest = asyncio.get_running_loop().time() - MAX_IDLE_SECONDS
        while self._idle_connections:
            connection = self._idle_connections.pop()
            if (
                connection.client.is_connected
                and connection.last_used_at > oldest
                and connection.mail_count < MAX_MAILS_PER_CONNECTION
            ):
                return connection
            connection.client.close()
        return None

    async def _connect(self) -> _PooledConnection:
        """Open a connection with the encryption and credentials of the server."""
        client = SMTP(
            hostname=self._server.host,
            port=self._server.port,
            username=self._server.username,
            password=self._server.password,
            use_tls=self._server.security is Security.TLS,
            start_tls=self._server.security is Security.STARTTLS,
            tls_context=self._tls_context,
            local_hostname=self._profile.sender.domain,
            timeout=self._timeout_seconds,
        )
        await client.connect()
        connection = _PooledConnection(client, last_used_at=asyncio.get_running_loop().time())
        with _close_on_error(connection):
            if client.is_ehlo_or_helo_needed:
                await client.ehlo()
        return connection


class _ServerClosing(SMTPSenderRefused):
    """The server rejects MAIL FROM because it is closing the connection."""


@contextmanager
def _close_on_error(connection: _PooledConnection) -> Iterator[None]:
    """Close the connection on any error, because its protocol state is then unknown."""
    try:
        yield
    except BaseException:
        connection.client.close()
        raise


async def _send_mail_from(client: SMTP, mail: MailMessage) -> None:
    """Send MAIL FROM. An error here concerns the server and the gateway, not the recipient."""
    try:
        await client.mail(mail.sender.address, **_mail_options(client, mail))
    except SMTPSenderRefused as error:
        if error.code == SERVICE_CLOSING_CODE:
            raise _ServerClosing(error.code, error.message, error.sender) from None
        raise


async def _send_recipient_and_data(client: SMTP, mail: MailMessage, encoded: bytes) -> tuple[Outcome, bool]:
    """Send RCPT TO and DATA. Return the outcome, and whether the connection can be reused."""
    if mail.is_international and not client.supports_extension("smtputf8"):
        failure = PermanentFailure(
            "address.not_supported", "the mail server does not accept addresses that are not ASCII"
        )
        return failure, await _reset(client)
    try:
        await client.rcpt(mail.recipient.address, encoding="utf-8")
        response = await client.data(encoded)
    except (SMTPRecipientRefused, SMTPDataError) as error:
        if error.code == SERVICE_CLOSING_CODE:
            return TemporaryFailure(_format_error(error)), False
        is_address_rejection = isinstance(error, SMTPRecipientRefused)
        outcome = rejection_outcome(error.code, error.message, is_address_rejection=is_address_rejection)
        return outcome, await _reset(client)
    return Sent(response.message[:MAX_REASON_LENGTH]), True


async def _reset(client: SMTP) -> bool:
    """Reset a connection for the next mail. Return whether that succeeded."""
    try:
        await client.rset()
    except (SMTPException, OSError):
        return False
    return True


def rejection_outcome(code: int, message: str, *, is_address_rejection: bool) -> Outcome:
    """Return the outcome for a reply that rejects an address or a mail (RFC 5321, 4.2; RFC 3463).

    A rejected mail marks the address as invalid only if the enhanced status code says so.
    """
    reason = f"{code} {' '.join(message.split())}"[:MAX_REASON_LENGTH]
    if not 500 <= code < 600:
        return TemporaryFailure(reason)
    enhanced = _ENHANCED_STATUS.match(message)
    is_unknown_address = (
        enhanced["detail"] in _UNKNOWN_ADDRESS_DETAILS
        if enhanced
        else is_address_rejection and code in _UNKNOWN_ADDRESS_CODES
    )
    return PermanentFailure(
        "address.refused" if is_unknown_address else "message.refused",
        reason,
        {SUPPRESS_ADDRESS: True} if is_unknown_address else {},
    )


_ENHANCED_STATUS = re.compile(r"5\.(?P<detail>\d{1,3}\.\d{1,3})\b")
_UNKNOWN_ADDRESS_DETAILS = frozenset({"1.0", "1.1", "1.2", "1.3", "1.6", "1.10", "2.0", "2.1"})
_UNKNOWN_ADDRESS_CODES = frozenset({550, 551, 553, 556})
"""Reply codes for an address that does not exist: of RFC 3463, or of RFC 5321 if the reply has no enhanced code."""


def _mail_options(client: SMTP, mail: MailMessage) -> dict[str, Any]:
    if mail.is_international and client.supports_extension("smtputf8"):
        return {"options": ["SMTPUTF8"], "encoding": "utf-8"}
    return {}


def _format_error(error: SMTPResponseException) -> str:
    return f"{error.code} {' '.join(error.message.split())}"[:MAX_REASON_LENGTH]
